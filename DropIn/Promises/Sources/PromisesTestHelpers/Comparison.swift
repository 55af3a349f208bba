import Foundation

extension Error {
  /// The domain of the error as an `NSError`.
  public var domain: String { (self as NSError).domain }

  /// The code of the error as an `NSError`.
  public var code: Int { (self as NSError).code }

  /// The user info of the error as an `NSError`.
  public var userInfo: [String: Any] { (self as NSError).userInfo }
}

/// Returns whether both are nil, or have the same domain, code, and user info.
public func == (lhs: Error?, rhs: Error?) -> Bool {
  switch (lhs, rhs) {
  case (nil, nil): true
  case (let lhs?, let rhs?): (lhs as NSError).isEqual(rhs as NSError)
  default: false
  }
}

/// Returns whether only one is nil, or the two differ in domain, code, or user info.
public func != (lhs: Error?, rhs: Error?) -> Bool { !(lhs == rhs) }

/// Returns whether both have equal elements in the same order.
public func == <T: Equatable>(lhs: [T?], rhs: [T?]) -> Bool {
  lhs.count == rhs.count && zip(lhs, rhs).allSatisfy { $0 == $1 }
}

/// Returns whether the two differ in length or in an element.
public func != <T: Equatable>(lhs: [T?], rhs: [T?]) -> Bool { !(lhs == rhs) }
