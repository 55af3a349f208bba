/// Carries what need not be `Sendable` into the engine, which asks for that.
///
/// `@unchecked Sendable`: nothing guards the content while it is here, as nothing touches it. A value
/// is written once, before its promise is resolved, and read only after that. Whether the values
/// themselves may be shared between the queues of a program is up to the program, as it always was
/// with these promises.
@usableFromInline
struct UncheckedBox<Content>: @unchecked Sendable {
  @usableFromInline
  enum State {
    case content(Content)
    case mismatch(Any.Type)
  }

  @usableFromInline let state: State

  @inlinable
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
  @inlinable
  var value: Content {
    switch state {
    case .content(let content): return content
    case .mismatch(let type): preconditionFailure("Cannot cast \(type) to \(Content.self)")
    }
  }
}
