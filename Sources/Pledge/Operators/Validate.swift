extension Thenable {
  /// Passes the value on if `isValid` accepts it.
  ///
  /// Otherwise, the result is rejected with ``PromiseError/validationFailed``. If `isValid` throws,
  /// the result is rejected with that error.
  ///
  /// **Execution.** `isValid` runs in the isolation in which it was written.
  @inlinable
  public func validate(
    @_inheritActorContext _ isValid: @escaping @Sendable @isolated(any) (Value) throws -> Bool
  ) -> Promise<Value> {
    mapped(
      Placed(isValid).map { isValid in
        { value in
          guard try isValid(value) else { throw PromiseError.validationFailed }
          return value
        }
      })
  }
}
