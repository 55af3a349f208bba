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

/// Makes `queue` the default queue for handlers of both drop-in modules.
@_cdecl("setQueue")
public func setQueue(_ queue: UnsafeRawPointer) {
  let queue = Unmanaged<DispatchQueue>.fromOpaque(queue).takeUnretainedValue()
  PromiseKit.conf.Q = (map: queue, return: queue)
  DispatchQueue.promises = queue
}

/// Returns whether handlers of both drop-in modules run on `queue` by default.
@_cdecl("hasQueue")
public func hasQueue(_ queue: UnsafeRawPointer) -> Bool {
  let queue = Unmanaged<DispatchQueue>.fromOpaque(queue).takeUnretainedValue()
  return PromiseKit.conf.Q.map === queue && DispatchQueue.promises === queue
}

/// Creates a promise that is rejected with `code`, and releases it.
@_cdecl("reject")
public func reject(_ code: Int) { _ = Pledge.Promise<Int>.rejected(Failure(code: code)) }

private struct Failure: Error, CustomStringConvertible {
  let code: Int
  var description: String { "failure \(code)" }
}
