import Pledge

/// What resolves a promise.
@usableFromInline
enum Ending<Value>: Sendable {
  /// Settles the promise itself.
  case direct(Resolver<UncheckedBox<Value>>)

  /// Settles it with another promise, whose fate it then shares.
  ///
  /// The engine links the two if nobody else observes the other one. That is what keeps the memory
  /// of a recursive chain constant.
  case adopting(Resolver<Pledge.Promise<UncheckedBox<Value>>>)

  @inlinable
  func fulfill(_ box: UncheckedBox<Value>) -> Bool {
    switch self {
    case .direct(let resolver): resolver.fulfill(box)
    case .adopting(let resolver): resolver.fulfill(.value(box))
    }
  }

  @inlinable
  func reject(_ error: any Error) -> Bool {
    switch self {
    case .direct(let resolver): resolver.reject(error)
    case .adopting(let resolver): resolver.reject(error)
    }
  }

  @inlinable
  var isPending: Bool {
    switch self {
    case .direct(let resolver): resolver.isPending
    case .adopting(let resolver): resolver.isPending
    }
  }
}

/// What can be left unresolved forever.
protocol Abandonable: Sendable {
  func abandon()
}

extension Ending: Abandonable {
  func abandon() {
    switch self {
    case .direct(let resolver): resolver.abandon()
    case .adopting(let resolver): resolver.abandon()
    }
  }
}

extension Pledge.Promise {
  /// Makes a rejected promise whose error counts as handled.
  @inlinable
  static func silentlyRejected(_ error: any Error) -> Self {
    let promise = rejected(error)
    promise.observe(on: .immediate) { _ in }
    return promise
  }
}
