/// Carries what need not be `Sendable` into the engine, which asks for that.
///
/// `@unchecked Sendable`: nothing guards the content while it is here, for nobody touches it. A value
/// is written once, before its promise is resolved, and read only after that; a closure is called
/// once, on the queue it was given. Whether the values themselves may be shared between the queues
/// of a program is for the program to see to, as it always was with these promises.
struct UncheckedBox<Content>: @unchecked Sendable {
  private enum State {
    case content(Content)
    case mismatch(Any.Type)
  }

  private let state: State

  init(_ content: Content) { state = .content(content) }

  /// Boxes the result of a closure whose type nothing relates to `Content` at compile time.
  init<Other>(converting other: Other) {
    if let content = other as? Content ?? (other as AnyObject) as? Content {
      state = .content(content)
    } else {
      state = .mismatch(Other.self)
    }
  }

  /// The content; there is none where the conversion failed.
  var value: Content {
    switch state {
    case .content(let content): return content
    case .mismatch(let type): preconditionFailure("Cannot cast \(type) to \(Content.self)")
    }
  }
}
