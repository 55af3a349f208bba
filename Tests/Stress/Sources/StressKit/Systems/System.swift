/// An implementation that runs programs: Pledge, or the reference.
///
/// Handlers get everything they need from outside the system, so both systems run the same
/// handlers.
protocol System: Sendable {
  associatedtype Promise: Sendable
  associatedtype Resolver: Sendable
  typealias Number = @Sendable (Int) throws -> Int
  typealias Work = @Sendable () throws -> Promise
  typealias Next = @Sendable (Int) throws -> Promise
  typealias Recovery = @Sendable (Failure) throws -> Promise
  typealias Combine = @Sendable (_ value: Int, _ element: Int) throws -> Promise
  func pending(_ id: Int) -> (Promise, Resolver)
  func value(_ value: Int) -> Promise
  func rejected(_ error: StressError) -> Promise
  func map(_ source: Promise, _ place: Place, _ body: @escaping Number) -> Promise
  func then(_ source: Promise, _ place: Place, _ body: @escaping Next) -> Promise
  func recover(_ source: Promise, _ place: Place, _ body: @escaping Recovery) -> Promise
  func `catch`(
    _ source: Promise, _ place: Place, _ body: @escaping @Sendable (Failure) -> Void
  ) -> Promise
  func finally(
    _ source: Promise, _ place: Place, _ body: @escaping @Sendable () throws -> Void
  ) -> Promise
  func reduce(
    _ source: Promise, _ place: Place, _ elements: [Int], _ body: @escaping Combine
  ) -> Promise
  func gather(_ gathering: Gathering, _ inputs: [Promise]) -> Promise
  func timeout(_ source: Promise, ticks: Int) -> Promise
  func limited(_ limiter: Int, _ body: @escaping Work) -> Promise
  /// Runs `body` in the call, unless work for `key` is in progress.
  func coalesced(_ key: Int, _ body: () throws -> Promise) -> Promise
  func uncancellable(_ source: Promise) -> Promise
  func fulfill(_ resolver: Resolver, _ value: Int) -> Bool
  func reject(_ resolver: Resolver, _ error: StressError) -> Bool
  func abandon(_ resolver: Resolver)
  func resolve(_ resolver: Resolver, with promise: Promise)
  func onCancel(_ resolver: Resolver, _ body: @escaping @Sendable () -> Void)
  func cancel(_ promise: Promise)
  func outcome(_ promise: Promise) -> Outcome

  /// Runs one job of a manual executor; returns false if none is queued.
  func runJob(_ place: Place) -> Bool
  /// Whether the current thread can run handlers of `place`.
  func isAt(_ place: Place) -> Bool
  /// Advances the time to the next timer, if it is due by `ticks`; returns false if none is.
  func passTime(to ticks: Int) -> Bool
}

struct StressError: Error, Hashable {
  /// Distinguishes programs that run concurrently.
  let run: Int
  let id: Int
}

/// The reason for a rejection, in terms that both systems share.
enum Failure: Error, Hashable, Sendable {
  case thrown(Int)
  case cancelled
  case resolverDropped(Int)
  case timedOut(Int)
  case returnedItself
  case aggregate([Failure])
  case other(String)

  /// A number for the failure that is the same in every run.
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

enum Outcome: Hashable, Sendable {
  case pending
  case value(Int)
  case failed(Failure)
}

/// Returns a number that depends on all numbers and their order.
func mixed(_ numbers: [Int]) -> Int { numbers.reduce(17) { ($0 &* 31 &+ $1) % 1_000_003 } }
