/// An error on its way down the chains, shared by all the promises that it rejected.
///
/// When the last of them is gone and nobody handled it, it is reported.
@usableFromInline
final class Rejection: Sendable {
  @usableFromInline let error: any Error
  let origin: SourceLocation?
  /// Whether this stands for the result of an abandoned promise.
  @usableFromInline let isAbandonment: Bool
  private let isHandled: AtomicFlag

  @usableFromInline
  init(_ error: any Error, origin: SourceLocation?, handled: Bool = false) {
    let unreported = UnreportedError.unwrapped(error)
    self.error = unreported ?? error
    self.origin = origin
    isAbandonment = false
    self.isHandled = AtomicFlag(handled || unreported != nil)
  }

  /// The rejection with `CancellationError`, which need not be handled: one for all.
  @usableFromInline
  static let cancellation = Rejection(CancellationError(), origin: nil, handled: true)

  /// What stands for the result of an abandoned promise: see `Cell.abandon()`.
  @usableFromInline
  static let abandonment = Rejection(abandoning: ())

  private init(abandoning: Void) {
    error = BrokenPromiseError(origin: nil, reason: .abandoned)
    origin = nil
    isAbandonment = true
    isHandled = AtomicFlag(true)
  }

  @usableFromInline
  func markHandled() {
    if !isHandled.load(ordering: .relaxed) { isHandled.store(true, ordering: .relaxed) }
  }

  /// What a report of an unhandled rejection says.
  static func unhandledText(_ error: any Error, _ origin: SourceLocation?) -> String {
    let place = origin.map { " (promise made at \($0))" } ?? ""
    return "unhandled rejection: \(error)\(place). End the chain with `catch` or `cauterize`."
  }

  deinit {
    if !isHandled.load(ordering: .relaxed), !(error is CancellationError) {
      Instrumentation.reportUnhandled(error, origin)
    }
  }
}
