/// What runs programs: Pledge, or the reference that it is compared with.
///
/// Handlers get what they need from outside of the system, so that both run the same ones.
protocol System: Sendable {
  associatedtype Promise: Sendable
  associatedtype Resolver: Sendable

  typealias Number = @Sendable (Int) throws -> Int

  func pending(_ id: Int) -> (Promise, Resolver)
  func value(_ value: Int) -> Promise
  func rejected(_ error: StressError) -> Promise

  func map(_ source: Promise, _ place: Place, _ body: @escaping Number) -> Promise
  func then(
    _ source: Promise, _ place: Place, _ body: @escaping @Sendable (Int) throws -> Promise
  ) -> Promise
  func recover(
    _ source: Promise, _ place: Place, _ body: @escaping @Sendable (Failure) throws -> Promise
  ) -> Promise
  func `catch`(
    _ source: Promise, _ place: Place, _ body: @escaping @Sendable (Failure) -> Void
  ) -> Promise
  func finally(
    _ source: Promise, _ place: Place, _ body: @escaping @Sendable () throws -> Void
  ) -> Promise
  func reduce(
    _ source: Promise, _ place: Place, _ elements: [Int],
    _ body: @escaping @Sendable (Int, Int) throws -> Promise
  ) -> Promise
  func gather(_ gathering: Gathering, _ inputs: [Promise]) -> Promise
  func timeout(_ source: Promise, ticks: Int) -> Promise
  func limited(_ limiter: Int, _ body: @escaping @Sendable () throws -> Promise) -> Promise
  /// `body` runs in the call, unless the work of another call for `key` goes on.
  func coalesced(_ key: Int, _ body: () throws -> Promise) -> Promise
  func uncancellable(_ source: Promise) -> Promise

  func fulfill(_ resolver: Resolver, _ value: Int) -> Bool
  func reject(_ resolver: Resolver, _ error: StressError) -> Bool
  func abandon(_ resolver: Resolver)
  func resolve(_ resolver: Resolver, with promise: Promise)
  func onCancel(_ resolver: Resolver, _ body: @escaping @Sendable () -> Void)
  func cancel(_ promise: Promise)
  func outcome(_ promise: Promise) -> Outcome

  /// Runs a handler that waits for a manual executor; false if none does.
  func runJob(_ place: Place) -> Bool
  /// Whether what runs on this thread may be a handler for `place`.
  func isAt(_ place: Place) -> Bool
  /// Lets time pass up to the next timer, if that is due by then; false if none is.
  func passTime(to ticks: Int) -> Bool
  /// Runs `body` alone in the system, if the system doesn't support others.
  func exclusively<Result>(_ body: () -> Result) -> Result
}

/// The error of a step or a handler.
struct StressError: Error, Hashable {
  /// Tells programs apart that run side by side.
  let run: Int
  let id: Int
}

/// Why a promise was rejected, in terms that both systems share.
enum Failure: Error, Hashable, Sendable {
  case thrown(Int)
  case cancelled
  case resolverDropped(Int)
  case timedOut(Int)
  case returnedItself
  case aggregate([Failure])
  case other(String)

  /// A number for it, the same in each run.
  var number: Int {
    switch self {
    case .thrown(let id): 1000 + id
    case .cancelled: 1
    case .resolverDropped(let id): 2000 + id
    case .timedOut(let ticks): 3000 + ticks
    case .returnedItself: 2
    case .aggregate(let failures): mixed(failures.map(\.number))
    case .other(let text): text.utf8.reduce(7) { mixed([$0, Int($1)]) }
    }
  }
}

/// The result of a promise.
enum Outcome: Hashable, Sendable {
  case pending
  case value(Int)
  case failed(Failure)
}

/// A number that depends on all numbers and their order.
func mixed(_ numbers: [Int]) -> Int { numbers.reduce(17) { ($0 &* 31 &+ $1) % 1_000_003 } }
