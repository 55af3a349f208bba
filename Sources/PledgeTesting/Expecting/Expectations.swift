import Pledge

/// Waits for `promise` and returns its value.
///
/// Throws an ``ExpectationError`` if it is rejected or still pending after `limit`, and
/// `CancellationError` as soon as the calling task is cancelled.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
@discardableResult
public func expectFulfillment<T: Sendable>(
  of promise: Promise<T>, within limit: Duration = .seconds(60),
  fileID: StaticString = #fileID, line: UInt = #line
) async throws -> T {
  try await waitForPromises(promise, within: limit, fileID: fileID, line: line)
  switch await promise.result {
  case .success(let value):
    return value
  case .failure(let error):
    throw ExpectationError(
      "Expected a value, but the promise was rejected: \(quoted(error))", fileID, line)
  }
}

/// Waits for `promise` and checks that it is fulfilled with `value`, in the same way as
/// ``expectFulfillment(of:within:fileID:line:)``.
///
/// A type whose conformance to `Equatable` is isolated to an actor, as by default in a module whose
/// default isolation is the main actor, can't be compared here. Compare the value in the test:
///
/// ```swift
/// #expect(try await expectFulfillment(of: user) == User(name: "Ada"))
/// ```
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public func expectFulfillment<T: Sendable & Equatable>(
  of promise: Promise<T>, with value: T, within limit: Duration = .seconds(60),
  fileID: StaticString = #fileID, line: UInt = #line
) async throws {
  let found = try await expectFulfillment(of: promise, within: limit, fileID: fileID, line: line)
  if found == value { return }
  throw ExpectationError.mismatch(
    "the value", value, found: found, fileID, line)
}

/// Waits for `promise` and returns the error with which it is rejected.
///
/// The error counts as handled.
///
/// Throws an ``ExpectationError`` if it is fulfilled or still pending after `limit`, and
/// `CancellationError` as soon as the calling task is cancelled.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
@discardableResult
public func expectRejection<T: Sendable>(
  of promise: Promise<T>, within limit: Duration = .seconds(60),
  fileID: StaticString = #fileID, line: UInt = #line
) async throws -> any Error {
  try await waitForPromises(promise, within: limit, fileID: fileID, line: line)
  switch await promise.result {
  case .success(let value):
    throw ExpectationError(
      "Expected a rejection, but the promise was fulfilled: \(quoted(value))", fileID, line)
  case .failure(let error):
    return error
  }
}

/// Waits for `promise` and returns the error of the type `type` with which it is rejected, in the
/// same way as ``expectRejection(of:within:fileID:line:)``.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
@discardableResult
public func expectRejection<T: Sendable, E: Error>(
  of promise: Promise<T>, with type: E.Type, within limit: Duration = .seconds(60),
  fileID: StaticString = #fileID, line: UInt = #line
) async throws -> E {
  let error = try await expectRejection(of: promise, within: limit, fileID: fileID, line: line)
  if let error = error as? E { return error }
  throw ExpectationError(
    "Expected a rejection with an error of type \(type), found \(quoted(error))", fileID, line)
}

/// Waits for `promise` and checks that it is rejected with `expected`, in the same way as
/// ``expectRejection(of:within:fileID:line:)``.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public func expectRejection<T: Sendable, E: Error & Equatable>(
  of promise: Promise<T>, with expected: E, within limit: Duration = .seconds(60),
  fileID: StaticString = #fileID, line: UInt = #line
) async throws {
  let error = try await expectRejection(of: promise, within: limit, fileID: fileID, line: line)
  if error as? E == expected { return }
  throw ExpectationError.mismatch(
    "a rejection with", expected, found: error, fileID, line)
}

/// Waits for `promise` and checks that it is rejected with `CancellationError`, in the same way as
/// ``expectRejection(of:within:fileID:line:)``.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public func expectCancellation<T: Sendable>(
  of promise: Promise<T>, within limit: Duration = .seconds(60),
  fileID: StaticString = #fileID, line: UInt = #line
) async throws {
  try await expectRejection(
    of: promise, with: CancellationError.self, within: limit, fileID: fileID, line: line)
}

/// Throws an ``ExpectationError`` if `promise` has settled.
public func expectPending<T: Sendable>(
  _ promise: Promise<T>, fileID: StaticString = #fileID, line: UInt = #line
) throws {
  if promise.isPending { return }
  throw ExpectationError(
    "Expected a pending promise, found \(promise)", fileID, line)
}
