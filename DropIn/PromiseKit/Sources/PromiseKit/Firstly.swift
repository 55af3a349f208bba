/// Returns a promise that settles like the thenable that `body` returns.
///
/// `body` runs inside this call. If `body` throws, the promise is rejected with that error.
@inlinable
public func firstly<U: Thenable>(execute body: () throws -> U) -> Promise<U.T> {
  do { return Promise(try body()) } catch { return Promise(error: error) }
}

/// Returns the guarantee that `body` returns; `body` runs inside this call.
@inlinable
public func firstly<T>(execute body: () -> Guarantee<T>) -> Guarantee<T> { body() }
