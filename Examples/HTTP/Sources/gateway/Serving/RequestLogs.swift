import Hummingbird
import Logging
import Metrics

/// Assigns an ID to each request, adds it to all log lines about the request, and logs the
/// response.
///
/// A client can choose the ID with the header field `x-request-id`. The gateway sends the ID to the
/// backends, so that their log lines also contain it.
struct RequestLogs<Context: RequestContext>: RouterMiddleware {
  var level = Logger.Level.info
  var metrics: PrometheusRegistry?

  func handle(
    _ request: Request, context: Context,
    next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    let id = request.headers[RequestID.header] ?? RequestID.random()
    var logger = context.logger
    logger[metadataKey: "hb.request.id"] = nil
    logger[metadataKey: RequestID.key] = "\(id)"
    var context = context
    context.logger = logger
    let start = ContinuousClock.now
    return await withLogger(logger) { logger in
      var response: Response
      do { response = try await next(request, context) } catch {
        response = errorResponse(to: error)
        logger.log(level: level, "\(request.uri.path) failed: \(error)")
      }
      response.headers[RequestID.header] = id
      logger.log(level: level, "\(request.uri.path) \(response.status.code) after \(start.elapsed)")
      if let metrics, let endpoint = context.endpointPath {
        metrics.note(endpoint, response.status.code, start.duration(to: .now))
      }
      return response
    }
  }
}

extension PrometheusRegistry {
  fileprivate func note(_ endpoint: String, _ status: Int, _ duration: Duration) {
    Counter(
      label: "gateway_requests_total",
      dimensions: [("endpoint", endpoint), ("status", "\(status)")], factory: self
    ).increment()
    Metrics.Timer(
      label: "gateway_request_seconds", dimensions: [("endpoint", endpoint)], factory: self
    ).record(duration: duration)
  }
}
