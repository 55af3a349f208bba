/// A box for values that aren't `Sendable`, because the engine requires `Sendable` values.
///
/// `@unchecked Sendable`: a value is written once, before its promise is resolved, and only read
/// after that. As with the original library, user code must make sure that the value can be used on
/// its queues.
@frozen @usableFromInline
struct UncheckedBox<Content>: @unchecked Sendable {
  @usableFromInline
  enum State {
    case content(Content)
    case mismatch(Any.Type)
  }

  @usableFromInline let state: State

  @inlinable
  init(_ content: Content) { state = .content(content) }

  /// Boxes a value whose type isn't statically related to `Content`.
  init<Other>(converting other: Other) {
    if let content = other as? Content ?? (other as AnyObject) as? Content {
      state = .content(content)
    } else {
      state = .mismatch(Other.self)
    }
  }

  /// The content; reading it is a programmer error if the conversion failed.
  @inlinable
  var value: Content {
    switch state {
    case .content(let content): return content
    case .mismatch(let type): preconditionFailure("Cannot cast \(type) to \(Content.self)")
    }
  }
}
