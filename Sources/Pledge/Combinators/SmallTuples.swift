// The overloads for a tuple of any size don't suffice, because Swift 6.3 fails to type-check a
// closure such as `{ user, news in print(user.name) }`, whose only expression converts a member of
// a parameter to `Any`, if the types of its parameters come from a parameter pack. Its only message
// is "Failed to produce diagnostic for expression". These overloads have no pack.

extension Promise {
  /// Returns a promise for a tuple of two values, as for any number of promises.
  @inlinable
  public static func all<A: Sendable, B: Sendable>(
    _ a: Promise<A>, _ b: Promise<B>, cancellingRest: Bool = false
  ) -> Promise<(A, B)> where Value == (A, B) {
    tuple(a, b, cancellingRest: cancellingRest)
  }

  /// Returns a promise for a tuple of three values, as for any number of promises.
  @inlinable
  public static func all<A: Sendable, B: Sendable, C: Sendable>(
    _ a: Promise<A>, _ b: Promise<B>, _ c: Promise<C>, cancellingRest: Bool = false
  ) -> Promise<(A, B, C)> where Value == (A, B, C) {
    tuple(a, b, c, cancellingRest: cancellingRest)
  }

  /// Returns a promise for a tuple of four values, as for any number of promises.
  @inlinable
  public static func all<A: Sendable, B: Sendable, C: Sendable, D: Sendable>(
    _ a: Promise<A>, _ b: Promise<B>, _ c: Promise<C>, _ d: Promise<D>, cancellingRest: Bool = false
  ) -> Promise<(A, B, C, D)> where Value == (A, B, C, D) {
    tuple(a, b, c, d, cancellingRest: cancellingRest)
  }

  /// Returns a promise for a tuple of five values, as for any number of promises.
  @inlinable
  public static func all<A: Sendable, B: Sendable, C: Sendable, D: Sendable, E: Sendable>(
    _ a: Promise<A>, _ b: Promise<B>, _ c: Promise<C>, _ d: Promise<D>, _ e: Promise<E>,
    cancellingRest: Bool = false
  ) -> Promise<(A, B, C, D, E)> where Value == (A, B, C, D, E) {
    tuple(a, b, c, d, e, cancellingRest: cancellingRest)
  }

  /// Returns a promise for a tuple of two values, as for any number of thenables.
  @_disfavoredOverload
  public static func all<A: Thenable, B: Thenable>(
    _ a: A, _ b: B, cancellingRest: Bool = false
  ) -> Promise<(A.Value, B.Value)> where Value == (A.Value, B.Value) {
    tuple(a.source, b.source, cancellingRest: cancellingRest)
  }

  /// Returns a promise for a tuple of three values, as for any number of thenables.
  @_disfavoredOverload
  public static func all<A: Thenable, B: Thenable, C: Thenable>(
    _ a: A, _ b: B, _ c: C, cancellingRest: Bool = false
  ) -> Promise<(A.Value, B.Value, C.Value)> where Value == (A.Value, B.Value, C.Value) {
    tuple(a.source, b.source, c.source, cancellingRest: cancellingRest)
  }
}
