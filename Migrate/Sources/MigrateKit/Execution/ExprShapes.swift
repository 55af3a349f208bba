/// What an expression consists of.
extension Expr {
  /// Whether a part of `first?.second.third` is followed by a question mark.
  var hasOptionalReceiver: Bool {
    switch kind {
    case .call(let callee, _): callee.hasOptionalReceiver
    case .member(let base?, _): base.isOptional || base.hasOptionalReceiver
    default: false
    }
  }

  var isSelf: Bool { if case .name("self") = kind { true } else { false } }

  /// Whether this is a name, or a member of `self`.
  var isOwn: Bool {
    switch kind {
    case .name: true
    case .member(let base?, _): base.isSelf
    default: false
    }
  }

  /// The name, or that of the last member.
  var lastName: String? {
    switch kind {
    case .name(let name), .member(_, let name): name
    default: nil
    }
  }

  /// The name that an expression such as `name.member.member` starts with.
  var root: String? {
    switch kind {
    case .name(let name): name
    case .member(let base?, _): base.root
    case .compound: subscripted?.base.root
    default: nil
    }
  }

  /// Whether this starts with `call().value`.
  var containsValueOfCall: Bool {
    switch kind {
    case .member(let base?, "value") where base.containsCall: true
    case .member(let base?, _): base.containsValueOfCall
    case .call(let callee, _): callee.containsValueOfCall
    default: false
    }
  }

  /// Whether this is `task.value`, which is awaited before its members are read.
  var isValueOfTask: Bool {
    if case .member(_?, "value") = kind { true } else { false }
  }

  /// Whether a part of the expression is awaited, outside closures.
  var containsAwait: Bool {
    switch kind {
    case .await: true
    case .call(let callee, let arguments):
      callee.containsAwait || arguments.contains(where: \.value.containsAwait)
    case .member(let base?, _): base.containsAwait
    case .attempt(_, let inner): inner.containsAwait
    case .compound(let pieces):
      pieces.contains { if case .expression(let part) = $0 { part.containsAwait } else { false } }
    default: false
    }
  }

  /// Whether a call is part of the expression, outside closures.
  var containsCall: Bool {
    switch kind {
    case .call, .chain: true
    case .member(let base?, _): base.containsCall
    case .attempt(_, let inner), .await(let inner): inner.containsCall
    case .compound(let pieces):
      pieces.contains { if case .expression(let part) = $0 { part.containsCall } else { false } }
    default: false
    }
  }
}
