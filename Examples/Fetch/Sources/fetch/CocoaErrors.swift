import Foundation

extension CocoaError {
  /// The underlying system error.
  var underlying: (any Error)? { userInfo[NSUnderlyingErrorKey] as? any Error }
}
