import Foundation

/// Helpers for tests of promises.
public struct Test {
  /// Runs `work` on the main queue after `interval` seconds.
  public static func delay(_ interval: TimeInterval, work: @escaping () -> Void) {
    DispatchQueue.main.asyncAfter(
      deadline: .now() + interval, execute: DispatchWorkItem(block: work))
  }

  /// Errors with which tests reject promises.
  public enum Error: Int, CustomNSError {
    /// An error with the code 13.
    case code13 = 13
    /// An error with the code 42.
    case code42 = 42

    /// The domain of both errors.
    public static var errorDomain: String { "com.google.Promises.Test.Error" }

    /// The raw value.
    public var errorCode: Int { rawValue }

    /// An empty dictionary.
    public var errorUserInfo: [String: Any] { [:] }
  }
}
