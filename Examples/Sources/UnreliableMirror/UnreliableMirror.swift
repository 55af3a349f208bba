import Foundation
import LoopbackServer
import Synchronization

/// Files, and the list of their checksums.
public struct MirroredFiles: Sendable {
  /// The contents, by name.
  public let contents: [String: Data]
  /// The checksums: a line for each file, with its name.
  public let checksums: Data

  /// Creates a set of files.
  public init(contents: [String: Data], checksums: Data) {
    self.contents = contents
    self.checksums = checksums
  }

  /// Generates files of up to 200 kB, and computes their checksums.
  public static func make(count: Int) -> MirroredFiles {
    let block = Data((0..<8192).map { _ in UInt8.random(in: 0...255) })
    var contents: [String: Data] = [:]
    var list = ""
    for number in 1...count {
      let name = "file-\(number < 10 ? "0" : "")\(number).bin"
      let content = (0..<number).reduce(Data(name.utf8)) { data, _ in data + block }
      contents[name] = content
      list += "\(checksum(of: content))  \(name)\n"
    }
    return MirroredFiles(contents: contents, checksums: Data(list.utf8))
  }
}

/// Returns a checksum (64-bit FNV-1a), which detects damage, but no manipulation.
public func checksum(of data: Data) -> String {
  var hash: UInt64 = 0xCBF2_9CE4_8422_2325
  for byte in data { hash = (hash ^ UInt64(byte)) &* 0x0100_0000_01B3 }
  return String(hash, radix: 16)
}

/// A mirror whose responses can be faulty.
public final class UnreliableMirror: Sendable {
  /// What can go wrong with a response.
  public enum Fault: Sendable {
    /// The mirror is busy: status 503, with a `Retry-After` header field.
    case busy
    /// The mirror announces the whole file, and closes the connection in the middle.
    case cutOff
    /// One byte is wrong.
    case wrongByte
    /// The mirror pauses before each piece of the file.
    case slow
  }

  /// Returns the fault of a response; nil for none.
  public typealias Script = @Sendable (_ file: String, _ request: Int) -> Fault?

  private let files: MirroredFiles
  private let fault: Script
  private let requests = Mutex<[String: Int]>([:])

  private init(_ files: MirroredFiles, _ fault: @escaping Script) {
    self.files = files
    self.fault = fault
  }

  /// Starts a mirror.
  ///
  /// - Parameters:
  ///   - files: The files that it serves, next to the list of their checksums.
  ///   - fault: Called for each response with the name of the file and the number of the request
  ///     for it, from 1.
  public static func start(
    _ files: MirroredFiles, fault: @escaping Script
  ) throws -> LoopbackServer {
    let mirror = UnreliableMirror(files, fault)
    return try LoopbackServer { path in mirror.answer(String(path.dropFirst())) }
  }

  /// Starts two mirrors that send each file correctly when it is requested for the third time.
  public static func demonstration(of files: MirroredFiles) throws -> [LoopbackServer] {
    let first: [Fault?] = [nil, .busy, .slow, nil, .wrongByte, .slow, .cutOff]
    let second: [Fault?] = [nil, .wrongByte, nil, .cutOff, .busy]
    var mirrors: [LoopbackServer] = []
    for script in [first, second] {
      let mirror = try start(files) { name, request in
        guard let index = Int(name.filter(\.isNumber)), name.hasSuffix(".bin") else { return nil }
        return request < 3 ? script[(index + request) % script.count] : nil
      }
      mirrors.append(mirror)
    }
    return mirrors
  }

  private func answer(_ name: String) -> LoopbackServer.Answer {
    guard let file = name == "CHECKSUMS" ? files.checksums : files.contents[name] else {
      return .init(status: 404)
    }
    let request = requests.withLock { requests in
      requests[name, default: 0] += 1
      return requests[name, default: 0]
    }
    switch fault(name, request) {
    case .busy: return .init(status: 503, headers: ["Retry-After": "1"])
    case .cutOff: return .init(file, breaksAfter: file.count / 2)
    case .wrongByte:
      var file = file
      file[file.count / 2] ^= 1
      return .init(file)
    case .slow: return .init(file, pause: 0.25)
    case nil: return .init(file)
    }
  }
}
