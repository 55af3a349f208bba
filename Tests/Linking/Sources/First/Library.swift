import Dispatch
import Pledge
import PromiseKit
import Promises

// The source of both libraries. The program looks these functions up in each.

/// Writes the addresses of the types' metadata, as this library sees them, to `list`.
@_cdecl("metadata")
public func metadata(_ list: UnsafeMutablePointer<UInt>) -> Int {
  let types: [Any.Type] = [
    Pledge.Promise<Int>.self, Pledge.Resolver<[String]>.self, PromiseKit.Promise<Int>.self,
    PromiseKit.Guarantee<Int>.self, Promises.Promise<Int>.self,
  ]
  for (index, type) in types.enumerated() { list[index] = unsafeBitCast(type, to: UInt.self) }
  return types.count
}

/// Makes `queue` the queue of both drop-in modules' handlers.
@_cdecl("setQueue")
public func setQueue(_ queue: UnsafeRawPointer) {
  let queue = Unmanaged<DispatchQueue>.fromOpaque(queue).takeUnretainedValue()
  PromiseKit.conf.Q = (map: queue, return: queue)
  DispatchQueue.promises = queue
}

/// Whether `queue` is what both drop-in modules' handlers run on.
@_cdecl("hasQueue")
public func hasQueue(_ queue: UnsafeRawPointer) -> Bool {
  let queue = Unmanaged<DispatchQueue>.fromOpaque(queue).takeUnretainedValue()
  return PromiseKit.conf.Q.map === queue && DispatchQueue.promises === queue
}

/// Makes a promise that fails with `code`, and drops it.
@_cdecl("reject")
public func reject(_ code: Int) { _ = Pledge.Promise<Int>.rejected(Failure(code: code)) }

private struct Failure: Error, CustomStringConvertible {
  let code: Int
  var description: String { "failure \(code)" }
}
