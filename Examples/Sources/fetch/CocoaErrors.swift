import Foundation

extension CocoaError {
  /// The error of the system.
  var underlying: (any Error)? { userInfo[NSUnderlyingErrorKey] as? any Error }
}
