import Foundation
import InMemoryTracing
import ServiceLifecycle
import Tracing

/// Exports the spans that have ended to standard error, each as a line of JSON, once a second.
///
/// A part of the example, and not of Pledge: a program uses a tracer that sends its spans to a
/// collector in its place.
struct SpanExport: Service {
  let tracer: InMemoryTracer

  func run() async throws {
    while !Task.isShuttingDownGracefully {
      try? await cancelWhenGracefulShutdown { try await Task.sleep(for: .seconds(1)) }
      if Task.isCancelled { return }
      for span in tracer.popFinishedSpans() {
        FileHandle.standardError.write(try JSONEncoder().encode(Line(span)) + Data("\n".utf8))
      }
    }
  }

  struct Line: Codable {
    let name: String
    let trace: String
    let span: String
    let parent: String?
    let milliseconds: Double
    let errors: [String]
    let events: [String]

    init(_ span: FinishedInMemorySpan) {
      name = span.operationName
      trace = span.traceID
      self.span = span.spanID
      parent = span.parentSpanID
      let end = span.endInstant.nanosecondsSinceEpoch
      milliseconds = Double(end - min(span.startInstant.nanosecondsSinceEpoch, end)) / 1e6
      errors = span.errors.map { "\($0.error)" }
      events = span.events.map(\.name)
    }
  }
}
