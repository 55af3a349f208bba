import FetchSupport
import Foundation
import Pledge
import PledgeFoundation
import Synchronization

@testable import FetchEngine

/// A simulated environment for a downloader: its time, servers, and disk.
///
/// All handlers run in place, and all events on the thread that calls `run`, so the seed determines
/// everything that happens, and in which order.
///
/// `@unchecked Sendable`: used by only one thread.
final class World: @unchecked Sendable {
  private struct Happening {
    let time: Duration
    let number: Int
    let action: () -> Void
  }

  private(set) var now = Duration.zero
  private var happenings: [Happening] = []
  private var dead: [Happening] = []
  private var count = 0
  var random: SplitMix

  init(seed: UInt64) { random = SplitMix(state: seed) }

  var time: Time {
    Time(
      now: { self.now },
      after: { duration in
        guard duration > .zero else { return .value(()) }
        let (promise, resolver) = Promise<Void>.withResolvers()
        self.schedule(after: duration) { resolver.fulfill() }
        return promise
      })
  }

  func schedule(after delay: Duration, _ action: @escaping () -> Void) {
    count += 1
    let entry = Happening(time: now + delay, number: count, action: action)
    let index = happenings.firstIndex { $0.time > entry.time } ?? happenings.endIndex
    happenings.insert(entry, at: index)
  }

  /// Runs scheduled events until `isDone` returns true or no events are left.
  func run(until isDone: () -> Bool) {
    while !isDone(), !happenings.isEmpty {
      let next = happenings.removeFirst()
      now = max(now, next.time)
      next.action()
    }
  }

  /// Simulates the death of the process: no scheduled event happens, and no promise is rejected as
  /// broken.
  func kill() {
    dead += happenings
    happenings = []
  }
}

/// SplitMix64.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }

  mutating func happens(_ probability: Double) -> Bool {
    Double.random(in: 0..<1, using: &self) < probability
  }
}

/// The response of a simulated server.
struct Reply {
  var status = 200
  var headers: [String: String] = [:]
  var body = Data()
  /// The position at which the body stops; nil if it is complete.
  var stop: Int?
  /// Whether the body stalls at that position; otherwise, the connection breaks.
  var isSilent = false
  var latency = Duration.milliseconds(5)
  /// The time that each piece takes.
  var pause = Duration.milliseconds(1)
}

/// A network in which a closure implements all servers.
///
/// `@unchecked Sendable`: used only by the thread of its world.
final class SimulatedNetwork: Transport, @unchecked Sendable {
  struct Asked {
    let url: URL
    let headers: [String: String]
  }

  let world: World
  private let pieceSize: Int
  private let answer: (Asked) throws -> Reply
  private(set) var asked: [Asked] = []
  var executor: any PromiseExecutor = .immediate

  init(_ world: World, pieceSize: Int = 1000, _ answer: @escaping (Asked) throws -> Reply) {
    self.world = world
    self.pieceSize = pieceSize
    self.answer = answer
  }

  func get(_ url: URL, headers: [String: String]) -> Promise<any Answer> {
    let request = Asked(url: url, headers: headers)
    asked.append(request)
    let (promise, resolver) = Promise<any Answer>.withResolvers()
    do {
      let reply = try answer(request)
      world.schedule(after: reply.latency) {
        var headers = reply.headers
        headers["content-length"] = headers["content-length"] ?? "\(reply.body.count)"
        let head = AnswerHead(
          url: url, status: reply.status,
          headers: HeaderFields(headers.map { (name: $0.key, value: $0.value) }))
        resolver.fulfill(
          SimulatedAnswer(
            head: head, reply: reply, world: self.world, pieceSize: self.pieceSize))
      }
    } catch {
      world.schedule(after: .milliseconds(1)) { resolver.reject(error) }
    }
    return promise
  }
}

/// `@unchecked Sendable`: used only by the thread of its world.
private final class SimulatedAnswer: Answer, @unchecked Sendable {
  let head: AnswerHead
  private let reply: Reply
  private let world: World
  private let pieceSize: Int

  init(head: AnswerHead, reply: Reply, world: World, pieceSize: Int) {
    self.head = head
    self.reply = reply
    self.world = world
    self.pieceSize = pieceSize
  }

  func body(
    _ receive: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
  ) -> Promise<Void> {
    let (promise, resolver) = Promise<Void>.withResolvers()
    send(from: 0, receive, resolver)
    return promise
  }

  private func send(
    from start: Int, _ receive: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void,
    _ resolver: Resolver<Void>
  ) {
    let end = min(reply.stop ?? .max, reply.body.count, start + pieceSize)
    world.schedule(after: reply.pause) { [self] in
      guard resolver.isPending else { return }
      do {
        let piece = reply.body[(reply.body.startIndex + start)..<(reply.body.startIndex + end)]
        try piece.withUnsafeBytes { if !$0.isEmpty { try receive($0) } }
      } catch {
        resolver.reject(error)
        return
      }
      if end == reply.body.count {
        resolver.fulfill()
      } else if end == reply.stop {
        // A silent connection stays open until the client closes it.
        if reply.isSilent {
          world.schedule(after: .seconds(100_000)) { resolver.reject(ConnectionFailure("late")) }
        } else {
          resolver.reject(ConnectionFailure("the connection broke"))
        }
      } else {
        send(from: end, receive, resolver)
      }
    }
  }
}

/// A disk in memory, which survives the downloads that use it.
///
/// `@unchecked Sendable`: used only by the thread of its world.
final class SimulatedDisk: Storage, @unchecked Sendable {
  fileprivate var partial: [String: Data] = [:]
  fileprivate var records: [String: ResumeState] = [:]
  private(set) var files: [String: Data] = [:]
  /// A closure that is called before each write, and can throw an error.
  var beforeWrite: () throws -> Void = {}
  /// A closure that is called before a file is opened, and can throw an error.
  var beforeOpen: () throws -> Void = {}

  var partialNames: Set<String> { Set(partial.keys) }

  func partial(_ name: String) -> Data? { partial[name] }

  func present(_ file: Download) throws -> Int? {
    guard let bytes = files[file.name], let checksum = file.checksum,
      Checksum(of: bytes) == checksum
    else { return nil }
    return bytes.count
  }

  func open(_ name: String) throws -> any Part {
    try beforeOpen()
    return SimulatedPart(disk: self, name: name)
  }

  func close(_ part: any Part) {
    guard let part = part as? SimulatedPart, part.isBegun else { return }
    if let latest = part.latest, latest.received > 0 { records[part.name] = latest }
    if records[part.name] == nil { partial[part.name] = nil }
  }

  func commit(_ part: any Part) throws {
    guard let name = (part as? SimulatedPart)?.name else { return }
    files[name] = partial.removeValue(forKey: name)
    records[name] = nil
  }
}

/// `@unchecked Sendable`: used only by the thread of its world.
private final class SimulatedPart: Part, @unchecked Sendable {
  let name: String
  let leftover: ResumeState?
  fileprivate private(set) var latest: ResumeState?
  fileprivate private(set) var isBegun = false
  private let disk: SimulatedDisk

  init(disk: SimulatedDisk, name: String) {
    self.disk = disk
    self.name = name
    leftover = disk.records[name]
  }

  func begin(_ resume: ResumeState) {
    isBegun = true
    let end = resume.segments.filter { $0.position > $0.start }.map(\.position).max() ?? 0
    disk.partial[name] = disk.partial[name, default: Data()].prefix(end)
    if end == 0 { disk.records[name] = nil }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at position: Int) throws {
    try disk.beforeWrite()
    guard isBegun else { throw FileFailure(.write, name, EBADF) }
    disk.partial[name, default: Data()].overwrite(at: position, bytes)
  }

  func save(_ resume: ResumeState) {
    disk.records[name] = resume
    latest = nil
  }

  func keep(_ resume: ResumeState) { latest = resume }

  func restart() {
    guard isBegun else { return }
    latest = nil
    disk.partial[name] = Data()
    disk.records[name] = nil
  }

  func checksum() -> Checksum { Checksum(of: disk.partial[name] ?? Data()) }
}

extension Data {
  fileprivate mutating func overwrite(at position: Int, _ bytes: UnsafeRawBufferPointer) {
    let missing = position + bytes.count - count
    if missing > 0 { append(Data(count: missing)) }
    withUnsafeMutableBytes {
      UnsafeMutableRawBufferPointer(rebasing: $0[position...]).copyMemory(from: bytes)
    }
  }
}
