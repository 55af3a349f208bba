/// An error that propagates down chains, shared by all promises that it rejected.
///
/// If it is unhandled when the last of these promises is deallocated, it is reported.
@usableFromInline
final class Rejection: Sendable {
  @usableFromInline let error: any Error
  let origin: SourceLocation?
  /// Whether this stands for the result of an abandoned promise.
  @usableFromInline let isAbandonment: Bool
  /// Whether a drop-in module has marked the error as a cancellation.
  let isCancellation: Bool
  /// Whether this is never reported, even if it is unhandled.
  private let isSilent: Bool
  private let isHandled: AtomicFlag
  /// The rejection that a combinator passed on as this one.
  private let original: Rejection?
  /// The work that may continue after the cancellation with this error, which is then silent, so that
  /// no other rejection passes it on; only `deinit` changes it.
  nonisolated(unsafe) private(set) var remainingWork: [RemainingWork] = []
  /// Whether the error was reported, by this rejection or by one that passes it on.
  private let isReported = AtomicFlag(false)

  @usableFromInline
  init(
    _ error: any Error, origin: SourceLocation?, isSilent: Bool = false,
    remaining work: [RemainingWork] = []
  ) {
    remainingWork = work
    let unreported = UnreportedError(unwrapping: error)
    self.error = unreported?.error ?? error
    isCancellation = unreported?.isCancellation ?? (isSilent && error is CancellationError)
    // A file of the library says nothing about the code that lost the error.
    self.origin = origin?.isInLibrary == true ? nil : origin
    isAbandonment = false
    self.isSilent = isSilent || unreported != nil
    isHandled = AtomicFlag(false)
    original = nil
  }

  /// The shared rejection with `CancellationError`, which doesn't need to be handled.
  @usableFromInline
  static let cancellation = Rejection(CancellationError(), origin: nil, isSilent: true)

  /// A rejection with `CancellationError` that says which work may continue.
  static func cancellation(of work: [RemainingWork]) -> Rejection {
    if work.isEmpty { return cancellation }
    return Rejection(CancellationError(), origin: nil, isSilent: true, remaining: work)
  }

  /// The rejection that stands for the result of an abandoned promise: see `Cell.abandon()`.
  @usableFromInline
  static let abandonment = Rejection(abandoning: ())

  private init(abandoning: Void) {
    error = BrokenPromiseError(origin: nil, reason: .abandoned)
    origin = nil
    isAbandonment = true
    isCancellation = false
    isSilent = true
    isHandled = AtomicFlag(false)
    original = nil
  }

  private init(passingOn original: Rejection, isSilent: Bool = false) {
    error = original.error
    origin = original.origin
    isAbandonment = original.isAbandonment
    isCancellation = original.isCancellation
    self.isSilent = isSilent
    isHandled = AtomicFlag(false)
    self.original = original.root
  }

  /// The same error as a separate rejection, for the result of a combinator.
  ///
  /// Inputs of a combinator can share a rejection: although the losers' errors count as handled, an
  /// unhandled error of the result must still be reported.
  @usableFromInline
  func passedOn() -> Rejection { isSilent ? self : Rejection(passingOn: self) }

  /// The same error as a rejection that is never reported, for a promise that was cancelled.
  func silenced() -> Rejection {
    markHandled()
    return isSilent ? self : Rejection(passingOn: self, isSilent: true)
  }

  /// This rejection or, if it is a cancelled handler's own, one with the same error that also names
  /// `work`.
  func naming(_ work: RemainingWork) -> Rejection {
    guard isSilent, !isAbandonment else { return self }
    return Rejection(error, origin: origin, isSilent: true, remaining: remainingWork + [work])
  }

  /// The rejection that was created with the error.
  var root: Rejection { original ?? self }

  /// The identity of the rejection for tracers, if it is a root.
  var address: UInt { UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()) }

  @usableFromInline
  func markHandled() {
    if !isHandled.load(ordering: .relaxed) { isHandled.store(true, ordering: .relaxed) }
  }

  /// The text that reports an unhandled rejection.
  static func unhandledText(_ error: any Error, _ origin: SourceLocation?) -> String {
    // The description of a broken promise's error is a sentence that names the location.
    let isSentence = (error as? BrokenPromiseError)?.origin != nil
    let text = "\(error)"
    let end = isSentence || text.hasSuffix(".") ? "" : "."
    let place = isSentence ? "" : origin.map { " (promise made at \($0))." } ?? end
    return "unhandled rejection: \(text)\(place) End the chain with `catch` or `ignoreErrors`."
  }

  deinit {
    if !remainingWork.isEmpty {
      // The promises in it have rejections that name work, and so on, as deeply as they were nested.
      let release = ClosureJob { [work = exchange(&remainingWork, with: [])] in _ = work }
      Trampoline.perform(release, ThreadState.current)
    }
    guard !isSilent, !isHandled.load(ordering: .relaxed), !(error is CancellationError),
      !(original ?? self).isReported.exchange(true, ordering: .relaxed)
    else { return }
    let id = original?.address ?? address
    UnhandledRejections.report(error, origin, id: id)
  }
}
