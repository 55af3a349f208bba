import Foundation
import GRPCCore
import Instrumentation
import ServiceContextModule

/// A part of a request's context that a ``ContextInterceptor`` sends with calls.
public struct CarriedValue: Sendable {
  let carrier: any ContextCarrier

  /// Returns the value of a task-local variable, sent as the metadata `name`.
  ///
  /// If the variable is nil where the call starts, nothing is sent. Characters that metadata can't contain
  /// are percent-encoded. The server ignores text that it can't convert to the type of the value. gRPC
  /// reserves names that end in `-bin` or start with `grpc-`.
  public static func taskLocal<Value: LosslessStringConvertible & Sendable>(
    _ key: TaskLocal<Value?>, as name: String
  ) -> CarriedValue {
    CarriedValue(carrier: TaskLocalCarrier(key: key, name: name.lowercased()))
  }

  /// `ServiceContext.current`, encoded by the instrument of swift-distributed-tracing.
  ///
  /// The spans of a server then belong to the traces of its clients.
  public static var serviceContext: CarriedValue { CarriedValue(carrier: ServiceContextCarrier()) }
}

/// Writes a value to metadata, and binds the value that metadata contains.
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
  private static let unchanged = CharacterSet(charactersIn: "!"..."~").subtracting(["%"])

  /// The text, percent-encoded as printable ASCII.
  var percentEncoded: String {
    addingPercentEncoding(withAllowedCharacters: Self.unchanged) ?? self
  }

  /// The decoded text; the text itself if it isn't the encoding of a text.
  var percentDecoded: String { removingPercentEncoding ?? self }
}
