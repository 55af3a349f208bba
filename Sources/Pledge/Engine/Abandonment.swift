// Abandonment: one more way to settle a promise, that calls no closure. It flows down like a
// rejection: the handlers' closures are released uncalled, and their promises are abandoned in turn.
// To the program an abandoned promise looks pending, for ever.

extension Cell {
  /// Settles this cell, which belongs to a resolver, so that no closure hears of it.
  @usableFromInline
  final func abandon() {
    if claim() { publish(.abandonment) }
  }

  /// Whether the promise is pending, or abandoned, which looks the same.
  @usableFromInline
  final var looksPending: Bool { !isSettled || rejection?.isAbandonment == true }
}
