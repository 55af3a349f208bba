import GRPCCore
import Instrumentation
import ServiceContextModule

/// A part of a request's context that a ``ContextInterceptor`` sends with calls.
public struct CarriedValue: Sendable {
  let carrier: any ContextCarrier

  /// The value of a task-local key, in the metadata `name`.
  ///
  /// A call that is made without a value brings none. Characters that metadata can't have are
  /// percent-encoded. A value that its type can't read counts as none. gRPC reserves names that end in
  /// `-bin`, or begin with `grpc-`.
  public static func taskLocal<Value: LosslessStringConvertible & Sendable>(
    _ key: TaskLocal<Value?>, as name: String
  ) -> CarriedValue {
    CarriedValue(carrier: TaskLocalCarrier(key: key, name: name.lowercased()))
  }

  /// `ServiceContext.current`, as the instrument of swift-distributed-tracing writes and reads it.
  ///
  /// The spans of a server then belong to the traces of its clients.
  public static var serviceContext: CarriedValue { CarriedValue(carrier: ServiceContextCarrier()) }
}

/// Writes a value as metadata, and sets the value that metadata has.
protocol ContextCarrier: Sendable {
  func inject(into metadata: inout Metadata)

  func restoring<Result>(
    from metadata: Metadata, _ body: () async throws -> Result
  ) async throws -> Result
}

private struct TaskLocalCarrier<Value: LosslessStringConvertible & Sendable>: ContextCarrier {
  let key: TaskLocal<Value?>
  let name: String

  func inject(into metadata: inout Metadata) {
    guard let value = key.get() else { return }
    metadata.replaceOrAddString(value.description.percentEncoded, forKey: name)
  }

  func restoring<Result>(
    from metadata: Metadata, _ body: () async throws -> Result
  ) async throws -> Result {
    let text = metadata[stringValues: name].first { _ in true }
    return try await key.withValue(text.flatMap { Value($0.percentDecoded) }) { try await body() }
  }
}

private struct ServiceContextCarrier: ContextCarrier {
  func inject(into metadata: inout Metadata) {
    guard let context = ServiceContext.current else { return }
    InstrumentationSystem.instrument.inject(context, into: &metadata, using: MetadataWriter())
  }

  func restoring<Result>(
    from metadata: Metadata, _ body: () async throws -> Result
  ) async throws -> Result {
    var context = ServiceContext.topLevel
    InstrumentationSystem.instrument.extract(metadata, into: &context, using: MetadataReader())
    return try await ServiceContext.withValue(context) { try await body() }
  }

  private struct MetadataWriter: Injector {
    func inject(_ value: String, forKey key: String, into metadata: inout Metadata) {
      metadata.replaceOrAddString(value, forKey: key)
    }
  }

  private struct MetadataReader: Extractor {
    func extract(key: String, from metadata: Metadata) -> String? {
      metadata[stringValues: key].first { _ in true }
    }
  }
}

extension String {
  /// The text in printable ASCII.
  var percentEncoded: String {
    var result = ""
    for byte in utf8 {
      if (33...126).contains(byte), byte != UInt8(ascii: "%") {
        result.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        let digits = String(byte, radix: 16, uppercase: true)
        result += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
      }
    }
    return result
  }

  /// The text that `percentEncoded` is of; what isn't an encoded byte stays as it is.
  var percentDecoded: String {
    var bytes: [UInt8] = []
    var rest = utf8[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let digits = String(rest.prefix(2)), digits.utf8.count == 2,
        let decoded = UInt8(digits, radix: 16)
      {
        bytes.append(decoded)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
