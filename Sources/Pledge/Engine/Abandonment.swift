// Abandonment: a way to settle a promise without calling a closure. It propagates like a rejection:
// the handlers' closures are released without being called, and their promises are abandoned in
// turn. To user code, an abandoned promise looks pending forever.

extension Cell {
  /// Settles this cell, which belongs to a resolver, without calling a closure.
  @usableFromInline
  final func abandon() {
    if claim() { publish(.abandonment) }
  }

  /// Whether the promise is pending or abandoned.
  @usableFromInline
  final var looksPending: Bool { !isSettled || rejection?.isAbandonment == true }
}
