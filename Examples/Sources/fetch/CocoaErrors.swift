import Foundation

extension CocoaError {
  /// What the system said.
  var underlying: (any Error)? { userInfo[NSUnderlyingErrorKey] as? any Error }
}
