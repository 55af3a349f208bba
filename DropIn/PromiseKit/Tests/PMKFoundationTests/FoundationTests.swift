import Foundation
import PMKFoundation
import PromiseKit
import XCTest

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Responds to requests without a network; the path determines the response.
private final class Stub: URLProtocol {
  override class func canInit(with request: URLRequest) -> Bool { true }
  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
  override func stopLoading() {}

  override func startLoading() {
    guard let url = request.url, let client, let code = Int(url.lastPathComponent) else { return }
    guard code > 0 else {
      client.urlProtocol(self, didFailWithError: URLError(.cannotFindHost))
      return
    }
    let response = HTTPURLResponse(
      url: url, statusCode: code, httpVersion: "HTTP/1.1",
      headerFields: ["Content-Type": "application/json"])
    guard let response else { return }
    client.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
    client.urlProtocol(self, didLoad: Data("{\"answer\":42}".utf8))
    client.urlProtocolDidFinishLoading(self)
  }
}

final class FoundationTests: XCTestCase {
  private let session: URLSession = {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [Stub.self]
    return URLSession(configuration: configuration)
  }()

  private func url(_ code: Int) throws -> URL {
    try XCTUnwrap(URL(string: "http://example.invalid/\(code)"))
  }

  private func outcome<T>(of promise: Promise<T>) -> PromiseKit.Result<T>? {
    let done = expectation(description: "")
    promise.pipe { _ in done.fulfill() }
    wait(for: [done], timeout: 60)
    return promise.result
  }

  func testTextOfABody() throws {
    func text(_ bytes: [UInt8], _ encoding: String?) throws -> String? {
      let response = URLResponse(
        url: try url(200), mimeType: "text/plain", expectedContentLength: bytes.count,
        textEncodingName: encoding)
      return String(data: Data(bytes), urlResponse: response)
    }
    XCTAssertEqual(try text([0xC3, 0xA4], nil), "\u{E4}")
    XCTAssertEqual(try text([0xC3, 0xA4], "utf-8"), "\u{E4}")
    XCTAssertEqual(try text([0xE4], "iso-8859-1"), "\u{E4}")
    XCTAssertEqual(try text([0xC3, 0xA4], "no-such-encoding"), "\u{E4}")
    XCTAssertNil(try text([0xE4], nil))
  }

  func testDataTask() throws {
    let promise = session.dataTask(.promise, with: try url(200)).validate().map {
      try JSONDecoder().decode([String: Int].self, from: $0.data)
    }
    guard case .fulfilled(let value)? = outcome(of: promise) else { return XCTFail() }
    XCTAssertEqual(value, ["answer": 42])
  }

  func testRequestAndTupleLabels() throws {
    let promise = session.dataTask(.promise, with: URLRequest(url: try url(200)))
    guard case .fulfilled(let (data, response))? = outcome(of: promise) else { return XCTFail() }
    XCTAssertFalse(data.isEmpty)
    XCTAssertEqual((response as? HTTPURLResponse)?.statusCode, 200)
  }

  func testFailure() throws {
    let promise = session.dataTask(.promise, with: try url(0))
    guard case .rejected(let error)? = outcome(of: promise) else { return XCTFail() }
    XCTAssertEqual((error as NSError).code, URLError.cannotFindHost.rawValue)
  }

  func testValidate() throws {
    let promise = session.dataTask(.promise, with: try url(404)).validate()
    guard case .rejected(let error as PMKHTTPError)? = outcome(of: promise) else {
      return XCTFail()
    }
    XCTAssertEqual(
      error.localizedDescription, "Invalid HTTP response (404) for http://example.invalid/404.")
    XCTAssertEqual(error.decodeResponse([String: Int].self), ["answer": 42])
    XCTAssertNil(error.decodeResponse([String].self))
    XCTAssertEqual((error.jsonDictionary as? [String: Int]), ["answer": 42])
    XCTAssertEqual(error.failureReason, "{\"answer\":42}")
    XCTAssertTrue(error.description.hasPrefix("<NSHTTPResponse> "))
    XCTAssertTrue(error.description.contains("Status Code"))
    let unauthorized = session.dataTask(.promise, with: try url(401)).validate()
    guard case .rejected(let other)? = outcome(of: unauthorized) else { return XCTFail() }
    XCTAssertEqual(other.localizedDescription, "Unauthorized (http://example.invalid/401")
  }

  func testUploads() throws {
    let data = session.uploadTask(.promise, with: try url(201), from: Data("x".utf8))
    guard case .fulfilled(let answer)? = outcome(of: data) else { return XCTFail() }
    XCTAssertEqual((answer.response as? HTTPURLResponse)?.statusCode, 201)

    let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try Data("x".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let upload = session.uploadTask(.promise, with: try url(202), fromFile: file)
    guard case .fulfilled(let other)? = outcome(of: upload) else { return XCTFail() }
    XCTAssertEqual((other.response as? HTTPURLResponse)?.statusCode, 202)
  }

  func testDownload() throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: file) }
    let server = try XCTUnwrap(OneAnswerServer(body: "{\"answer\":42}"))
    let session = URLSession(configuration: .ephemeral)
    let promise = session.downloadTask(.promise, with: server.url, to: file)
    guard case .fulfilled(let answer)? = outcome(of: promise) else {
      return XCTFail("\(promise)")
    }
    XCTAssertEqual(answer.saveLocation, file)
    XCTAssertEqual(try Data(contentsOf: file).count, 13)
    let again = session.downloadTask(.promise, with: server.url, to: file)
    guard case .rejected? = outcome(of: again) else { return XCTFail() }
  }

  func testNotification() {
    let name = Notification.Name("PMKFoundationTests")
    let center = NotificationCenter()
    let guarantee = center.observe(once: name)
    XCTAssertTrue(guarantee.isPending)
    center.post(name: name, object: nil, userInfo: ["key": 1])
    XCTAssertEqual(guarantee.value?.userInfo?["key"] as? Int, 1)
  }

  #if os(macOS) || os(Linux)
    func testProcess() throws {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/bin/echo")
      process.arguments = ["hello"]
      guard case .fulfilled(let (out, _))? = outcome(of: process.launch(.promise)) else {
        return XCTFail()
      }
      let text = String(data: out.fileHandleForReading.readDataToEndOfFile(), encoding: .utf8)
      XCTAssertEqual(text, "hello\n")
    }

    func testFailingProcess() throws {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = ["-c", "echo out; echo err >&2; exit 3", ""]
      guard case .rejected(let error)? = outcome(of: process.launch(.promise).print()),
        case Process.PMKError.execution(_, let out, let err) = error
      else { return XCTFail() }
      XCTAssertEqual(out, "out\n")
      XCTAssertEqual(err, "err\n")
      XCTAssertEqual(
        error.localizedDescription,
        "Failed executing: `/bin/sh -c \"echo out; echo err >&2; exit 3\" \"\"` (3).")
      XCTAssertEqual(
        Process.PMKError.notExecutable("/x").errorDescription, "File not executable: /x")
      XCTAssertEqual(
        Process.PMKError.notExecutable(nil).errorDescription, "No launch path specified")
    }

    func testMissingProcess() {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/does/not/exist")
      guard case .rejected? = outcome(of: process.launch(.promise)) else { return XCTFail() }
    }
  #endif
}
