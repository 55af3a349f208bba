import Dispatch
import Foundation
import Pledge
import PromiseKit
import Promises

// Opens the two libraries, and fails unless they and this program share one copy of each module.

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

let queue = DispatchQueue(label: "handlers")
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
