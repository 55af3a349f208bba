import PromiseKit
import Promises

/// Values whose members only a compiler knows from the places where they are used.
public struct Ledger: Sendable {
  /// Some numbers.
  public var rows = [1, 2, 3]

  /// Creates a ledger.
  public init() {}

  /// A value.
  public func total() -> Int { rows.reduce(0, +) }
  /// Nothing.
  public func close() {}
  /// One of Google's promises.
  public func audit() -> Promises.Promise<Int> { Promises.Promise(total()) }
  /// One of PromiseKit's promises.
  public func send() -> PromiseKit.Promise<Int> { .value(total()) }
  /// A guarantee.
  public func archive() -> PromiseKit.Guarantee<Int> { .value(total()) }
  /// Not an operator.
  public func map(_ transform: (Int) -> Int) -> Int { transform(total()) }
  /// Not an operator either.
  public func get(_ index: (Int) -> Int) -> Int { index(0) }
}

/// Makes one of Google's promises.
public func openGoogle() -> Promises.Promise<Ledger> { Promises.Promise(Ledger()) }
/// Makes one of PromiseKit's promises.
public func openKit() -> PromiseKit.Promise<Ledger> { .value(Ledger()) }
/// Makes a value.
public func openPlain() -> Ledger { Ledger() }
