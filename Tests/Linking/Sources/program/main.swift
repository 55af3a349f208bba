import Dispatch
import Foundation
import Pledge
import PromiseKit
import Promises

// Passes promises through all three modules, and opens the two libraries. Fails unless they and this
// program share one copy of each module.

var failures = 0

@MainActor
func expect(_ condition: Bool, _ what: String) {
  print(condition ? "passed:" : "FAILED:", what)
  if !condition { failures += 1 }
}

/// A dynamic library in the folder of this program.
struct Library {
  private let handle: UnsafeMutableRawPointer

  init(_ name: String) {
    #if os(macOS)
      let file = "lib\(name).dylib"
    #else
      let file = "lib\(name).so"
    #endif
    let folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    guard let handle = dlopen(folder.appendingPathComponent(file).path, RTLD_NOW | RTLD_LOCAL)
    else { fatalError(String(cString: dlerror())) }
    self.handle = handle
  }

  /// Returns the library's own function, which its source declares with this name and type.
  private func function<Function>(_ name: String, as type: Function.Type) -> Function {
    guard let symbol = dlsym(handle, name) else { fatalError("no function '\(name)'") }
    return unsafeBitCast(symbol, to: type)
  }

  var metadata: [UInt] {
    typealias Function = @convention(c) (UnsafeMutablePointer<UInt>) -> Int
    var list = [UInt](repeating: 0, count: 16)
    let count = function("metadata", as: Function.self)(&list)
    return Array(list.prefix(count))
  }

  func setQueue(_ queue: DispatchQueue) {
    function("setQueue", as: (@convention(c) (UnsafeRawPointer) -> Void).self)(
      Unmanaged.passUnretained(queue).toOpaque())
  }

  func hasQueue(_ queue: DispatchQueue) -> Bool {
    function("hasQueue", as: (@convention(c) (UnsafeRawPointer) -> Bool).self)(
      Unmanaged.passUnretained(queue).toOpaque())
  }

  func reject(_ code: Int) { function("reject", as: (@convention(c) (Int) -> Void).self)(code) }
}

let queue = DispatchQueue(label: "handlers")

let google = Promises.Promise<Int>(on: queue) { 20 }.then(on: queue) { $0 + 1 }
let kit = google.pledge.promiseKit.map(on: queue) { $0 * 2 }
let text: Pledge.Promise<String> = kit.pledge.map(on: queue) { "\($0)" }
expect(try await text.value == "42", "a value passes through all three modules")

struct Refused: Error {}
let rejected = Pledge.Promise<Int>.rejected(Refused()).promiseKit.map(on: queue) { $0 + 1 }
let passedOn = Promises.Promise(pledge: rejected.pledge).then(on: queue) { $0 + 1 }
do {
  _ = try await passedOn.pledge.value
  expect(false, "an error passes through all three modules")
} catch { expect(error is Refused, "an error passes through all three modules") }

let values = try await Pledge.Promise.all([
  Pledge.Promise.value(1), PromiseKit.Promise.value(2).pledge, Promises.Promise(3).pledge,
]).value
expect(values == [1, 2, 3], "a combinator takes the promises of all three modules")

let first = Library("First")
let second = Library("Second")

let types: [Any.Type] = [
  Pledge.Promise<Int>.self, Pledge.Resolver<[String]>.self, PromiseKit.Promise<Int>.self,
  PromiseKit.Guarantee<Int>.self, Promises.Promise<Int>.self,
]
for (index, type) in types.enumerated() {
  let own = unsafeBitCast(type, to: UInt.self)
  expect(
    first.metadata[index] == own && second.metadata[index] == own,
    "\(String(reflecting: type)) is one type in the process")
}

first.setQueue(queue)
expect(second.hasQueue(queue), "the second library has the default queue that the first has set")
expect(
  PromiseKit.conf.Q.map === queue && DispatchQueue.promises === queue,
  "the program has the default queue that the first library has set")

/// The rejections that have been reported.
final class Reports: @unchecked Sendable {
  // Guarded by `lock`.
  private var texts: [String] = []
  private let lock = NSLock()
  func add(_ text: String) { lock.withLock { texts.append(text) } }
  var sorted: [String] { lock.withLock { texts.sorted() } }
}
let reports = Reports()
PromiseDiagnostics.setUnhandledRejectionHandler { reports.add("\($0.error)") }
first.reject(1)
second.reject(2)
expect(
  reports.sorted == ["failure 1", "failure 2"],
  "the program's handler gets the rejections of both libraries")

exit(failures == 0 ? 0 : 1)
