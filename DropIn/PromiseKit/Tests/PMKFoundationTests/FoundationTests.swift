import Foundation
import PMKFoundation
import PromiseKit
import XCTest

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension LoopbackServer {
  /// Starts a server that responds to every request with the same body, and with the status that is
  /// its path, or 200.
  convenience init(body: String) throws {
    try self.init { path in Answer(status: Int(path.dropFirst()) ?? 200, Data(body.utf8)) }
  }
}

final class FoundationTests: XCTestCase {
  private let session = URLSession(configuration: .ephemeral)
  private let server = try? LoopbackServer(body: "{\"answer\":42}")

  private func url(_ code: Int) throws -> URL {
    try XCTUnwrap(server).url.appendingPathComponent("\(code)")
  }

  private func value<T>(of promise: Promise<T>) throws -> T {
    let done = expectation(description: "resolved")
    promise.pipe { _ in done.fulfill() }
    wait(for: [done], timeout: 60)
    switch try XCTUnwrap(promise.result) {
    case .fulfilled(let value): return value
    case .rejected(let error): throw error
    }
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
    XCTAssertEqual(try value(of: promise), ["answer": 42])
    let request = session.dataTask(.promise, with: URLRequest(url: try url(200)))
    let (data, response) = try value(of: request)
    XCTAssertFalse(data.isEmpty)
    XCTAssertEqual((response as? HTTPURLResponse)?.statusCode, 200)
    // No server listens on port 1.
    let closed = try XCTUnwrap(URL(string: "http://127.0.0.1:1/"))
    XCTAssertThrowsError(try value(of: session.dataTask(.promise, with: closed))) {
      XCTAssertEqual(($0 as NSError).code, URLError.cannotConnectToHost.rawValue)
    }
  }

  func testValidate() throws {
    let (missing, closed) = (try url(404), try url(401))
    XCTAssertThrowsError(try value(of: session.dataTask(.promise, with: missing).validate())) {
      guard let error = $0 as? PMKHTTPError else { return XCTFail("\($0)") }
      XCTAssertEqual(error.localizedDescription, "Invalid HTTP response (404) for \(missing).")
      XCTAssertEqual(error.decodeResponse([String: Int].self), ["answer": 42])
      XCTAssertNil(error.decodeResponse([String].self))
      XCTAssertEqual((error.jsonDictionary as? [String: Int]), ["answer": 42])
      XCTAssertEqual(error.failureReason, "{\"answer\":42}")
      XCTAssertTrue(error.description.hasPrefix("<NSHTTPResponse> "))
      XCTAssertTrue(error.description.contains("Status Code"))
    }
    XCTAssertThrowsError(try value(of: session.dataTask(.promise, with: closed).validate())) {
      XCTAssertEqual($0.localizedDescription, "Unauthorized (\(closed)")
    }
  }

  func testUploads() throws {
    func post(_ code: Int) throws -> URLRequest {
      var request = URLRequest(url: try url(code))
      request.httpMethod = "POST"
      return request
    }
    let data = session.uploadTask(.promise, with: try post(201), from: Data("x".utf8))
    XCTAssertEqual((try value(of: data).response as? HTTPURLResponse)?.statusCode, 201)
    let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try Data("x".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let upload = session.uploadTask(.promise, with: try post(202), fromFile: file)
    XCTAssertEqual((try value(of: upload).response as? HTTPURLResponse)?.statusCode, 202)
  }

  func testDownload() throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: file) }
    let url = try url(200)
    XCTAssertEqual(
      try value(of: session.downloadTask(.promise, with: url, to: file)).saveLocation, file)
    XCTAssertEqual(try Data(contentsOf: file).count, 13)
    XCTAssertThrowsError(try value(of: session.downloadTask(.promise, with: url, to: file)))
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
      let (out, _) = try value(of: process.launch(.promise))
      let text = String(data: out.fileHandleForReading.readDataToEndOfFile(), encoding: .utf8)
      XCTAssertEqual(text, "hello\n")
    }

    func testFailingProcess() throws {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = ["-c", "echo out; echo err >&2; exit 3", ""]
      XCTAssertThrowsError(try value(of: process.launch(.promise).print())) { error in
        guard case Process.PMKError.execution(_, "out\n", "err\n") = error else {
          return XCTFail("\(error)")
        }
        XCTAssertEqual(
          error.localizedDescription,
          "Failed executing: `/bin/sh -c \"echo out; echo err >&2; exit 3\" \"\"` (3).")
      }
      XCTAssertEqual(
        Process.PMKError.notExecutable("/x").errorDescription, "File not executable: /x")
      XCTAssertEqual(
        Process.PMKError.notExecutable(nil).errorDescription, "No launch path specified")
    }

    func testMissingProcess() {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/does/not/exist")
      XCTAssertThrowsError(try value(of: process.launch(.promise)))
    }
  #endif
}
