// What all files of this target import.
@_exported import Foundation
@_exported import Pledge
@_exported import PledgeFoundation
@_exported import PledgeTesting
@_exported import Testing

#if canImport(FoundationNetworking)
  @_exported import FoundationNetworking
#endif

/// Tests that count the resources of the process, and therefore run one at a time.
@Suite(.serialized, .timeLimit(.minutes(10))) enum FoundationTests {}

/// Returns the number of this process's descriptors whose target starts with `prefix`, such as
/// `socket:[4711]` or a path.
func openDescriptors(_ prefix: String) throws -> Int {
  try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
    let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
    return target?.hasPrefix(prefix) ?? false
  }
}

/// A folder that is removed when this object is deallocated.
final class TemporaryFolder: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("Pledge-\(UUID())")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() }
  }

  func file(_ name: String) -> URL { url.appendingPathComponent(name) }

  /// Returns a file that contains `data`.
  func file(_ name: String, _ data: Data) throws -> URL {
    try data.write(to: file(name))
    return file(name)
  }

  func data(_ name: String) throws -> Data { try Data(contentsOf: file(name)) }
}

extension URLResponse {
  var status: Int? { (self as? HTTPURLResponse)?.statusCode }
  func header(_ name: String) -> String? {
    (self as? HTTPURLResponse)?.value(forHTTPHeaderField: name)
  }
}

/// Returns a new progress if `isNeeded`.
func progress(_ isNeeded: Bool) -> Progress? { isNeeded ? Progress(totalUnitCount: -1) : nil }

/// A delegate that continues with what `answer` returns for the request of a redirect.
final class Redirecting: NSObject, URLSessionTaskDelegate, Sendable {
  private let answer: @Sendable (URLRequest) -> URLRequest?
  init(_ answer: @escaping @Sendable (URLRequest) -> URLRequest?) { self.answer = answer }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) { completionHandler(answer(request)) }
}

struct Boom: Error, Equatable {}
