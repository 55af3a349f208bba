// A stand-in for Apple's module in the availability check: declarations only, and only those that
// the library uses, with the availability that Apple's documentation states. Declarations that the
// oldest supported systems have need no attribute.

@_exported import Darwin
@_exported import Dispatch

public typealias TimeInterval = Double

public protocol NSObjectProtocol: AnyObject {}
open class NSObject: NSObjectProtocol, Hashable {
  public init() {}
  open func observeValue(
    forKeyPath keyPath: String?, of object: Any?, change: [NSKeyValueChangeKey: Any]?,
    context: UnsafeMutableRawPointer?
  ) {}
  open var description: String { "" }
  open var debugDescription: String { "" }
  open func isEqual(_ object: Any?) -> Bool { false }
  public static func == (a: NSObject, b: NSObject) -> Bool { a === b }
  public func hash(into hasher: inout Hasher) {}
}
public struct NSKeyValueChangeKey: Hashable, Sendable {
  public static let newKey = NSKeyValueChangeKey()
}
public struct NSKeyValueObservingOptions: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
  public static let new = NSKeyValueObservingOptions(rawValue: 1)
  public static let old = NSKeyValueObservingOptions(rawValue: 2)
  public static let initial = NSKeyValueObservingOptions(rawValue: 4)
}
public enum objc_AssociationPolicy: UInt, Sendable { case OBJC_ASSOCIATION_RETAIN = 0x301 }
public func objc_getAssociatedObject(_ object: Any, _ key: UnsafeRawPointer) -> Any? { nil }
public func objc_setAssociatedObject(
  _ object: Any, _ key: UnsafeRawPointer, _ value: Any?, _ policy: objc_AssociationPolicy
) {}
extension NSObject {
  public func addObserver(
    _ observer: NSObject, forKeyPath path: String, options: NSKeyValueObservingOptions = [],
    context: UnsafeMutableRawPointer?
  ) {}
  public func removeObserver(_ observer: NSObject, forKeyPath path: String) {}
}
open class NSNull: NSObject {}

open class NSString: NSObject { public init(string: String) {} }
public enum ComparisonResult: Int, Sendable {
  case orderedAscending = -1, orderedSame, orderedDescending
}
open class NSDictionary: NSObject { public init(dictionary: [AnyHashable: Any]) {} }

open class NSLock: NSObject, @unchecked Sendable {
  public func withLock<R>(_ body: () throws -> R) rethrows -> R { try body() }
  public func lock() {}
  public func unlock() {}
}

public struct Data: Hashable, RandomAccessCollection, MutableCollection,
  RangeReplaceableCollection, Sendable, Codable
{
  public init() {}
  public struct WritingOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let atomic = WritingOptions(rawValue: 1)
    public static let withoutOverwriting = WritingOptions(rawValue: 2)
  }
  public func write(to url: URL, options: WritingOptions = []) throws {}
  public var startIndex: Int { 0 }
  public var endIndex: Int { 0 }
  public subscript(index: Int) -> UInt8 {
    get { 0 }
    set {}
  }
  public subscript(bounds: Range<Int>) -> Data {
    get { self }
    set {}
  }
  public mutating func replaceSubrange<C: Collection>(_ range: Range<Int>, with bytes: C)
  where C.Element == UInt8 {}
  public mutating func append(_ other: Data) {}
}

public struct Date: Hashable, Comparable, Sendable, Codable {
  public init() {}
  public init(timeIntervalSinceNow: TimeInterval) {}
  public func timeIntervalSince(_ date: Date) -> TimeInterval { 0 }
  public static func < (a: Date, b: Date) -> Bool { false }
  @available(macOS 12, iOS 15, tvOS 15, watchOS 8, *) public static var now: Date { Date() }
}

public struct URL: Hashable, Sendable, Codable {
  public var path: String { "" }
  public var absoluteString: String { "" }
  public var host: String? { nil }
  public var port: Int? { nil }
  public func appendingPathComponent(_ component: String) -> URL { self }
  public func deletingLastPathComponent() -> URL { self }
  public func resolvingSymlinksInPath() -> URL { self }
  public func withUnsafeFileSystemRepresentation<R>(
    _ body: (UnsafePointer<Int8>?) throws -> R
  ) rethrows -> R { try body(nil) }
}

public struct UUID: Hashable, Sendable {
  public init() {}
  public var uuidString: String { "" }
}

public struct Locale: Sendable { public init(identifier: String) {} }
public struct TimeZone: Sendable {
  public init?(secondsFromGMT: Int) {}
}

open class DateFormatter: NSObject, @unchecked Sendable {
  public var locale: Locale!
  public var timeZone: TimeZone!
  public var dateFormat: String!
  public func date(from text: String) -> Date? { nil }
}

extension String: _ObjectiveCBridgeable {
  public func _bridgeToObjectiveC() -> NSString { fatalError() }
  public static func _forceBridgeFromObjectiveC(_ source: NSString, result: inout String?) {}
  public static func _conditionallyBridgeFromObjectiveC(
    _ source: NSString, result: inout String?
  ) -> Bool { false }
  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSString?) -> String { "" }
}
extension String {
  public struct Encoding: Hashable, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let utf8 = Encoding(rawValue: 4)
  }
  public init?(data: Data, encoding: Encoding) { return nil }
}
extension StringProtocol {
  public func data(using encoding: String.Encoding) -> Data? { nil }
  public func trimmingCharacters(in set: CharacterSet) -> String { "" }
  public func caseInsensitiveCompare<Other: StringProtocol>(_ other: Other) -> ComparisonResult {
    .orderedSame
  }
  public func contains<Other: StringProtocol>(_ other: Other) -> Bool { false }
}
public struct CharacterSet: Sendable { public static let whitespaces = CharacterSet() }

open class JSONDecoder: @unchecked Sendable {
  public init() {}
  open func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T { fatalError() }
}
open class JSONEncoder: @unchecked Sendable {
  public init() {}
  open func encode<T: Encodable>(_ value: T) throws -> Data { fatalError() }
}
open class JSONSerialization: NSObject {
  public struct ReadingOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
  }
  public class func jsonObject(with data: Data, options: ReadingOptions = []) throws -> Any {
    fatalError()
  }
}

open class NSError: NSObject, Error, @unchecked Sendable {
  public init(domain: String, code: Int, userInfo: [String: Any]? = nil) {}
  public var domain: String { "" }
  public var code: Int { 0 }
  public var userInfo: [String: Any] { [:] }
  public var localizedDescription: String { "" }
}
public let NSURLErrorDomain = ""
public let NSURLErrorFailingURLErrorKey = ""
public let NSLocalizedDescriptionKey = ""

public protocol LocalizedError: Error {
  var errorDescription: String? { get }
  var failureReason: String? { get }
}
extension LocalizedError {
  public var errorDescription: String? { nil }
  public var failureReason: String? { nil }
}
public func _convertErrorToNSError(_ error: any Error) -> NSError { fatalError() }
extension Error { public var localizedDescription: String { "" } }
public protocol CustomNSError: Error {
  static var errorDomain: String { get }
  var errorCode: Int { get }
  var errorUserInfo: [String: Any] { get }
}
extension CustomNSError {
  public static var errorDomain: String { "" }
  public var errorCode: Int { 0 }
  public var errorUserInfo: [String: Any] { [:] }
}

public struct URLError: Error, Hashable, Sendable {
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
  }
  public init(_ code: Code, userInfo: [String: Any] = [:]) { self.code = code }
  public static var cancelled: Code { .cancelled }
  public init(_nsError error: NSError) { code = .unknown }
  public let code: Code
  public var userInfo: [String: Any] { [:] }
}
extension URLError.Code {
  public static var cancelled: Self { Self(rawValue: -1) }
  public static var timedOut: Self { Self(rawValue: -2) }
  public static var httpTooManyRedirects: Self { Self(rawValue: -20) }
  public static var cannotOpenFile: Self { Self(rawValue: -21) }
  public static var requestBodyStreamExhausted: Self { Self(rawValue: -22) }
  public static var cannotFindHost: Self { Self(rawValue: -3) }
  public static var cannotConnectToHost: Self { Self(rawValue: -4) }
  public static var networkConnectionLost: Self { Self(rawValue: -5) }
  public static var dnsLookupFailed: Self { Self(rawValue: -6) }
  public static var notConnectedToInternet: Self { Self(rawValue: -7) }
  public static var badServerResponse: Self { Self(rawValue: -8) }
  public static var unknown: Self { Self(rawValue: -9) }
  public static var cannotParseResponse: Self { Self(rawValue: -11) }
  public static var resourceUnavailable: Self { Self(rawValue: -12) }
  public static var zeroByteResource: Self { Self(rawValue: -13) }
  public static var secureConnectionFailed: Self { Self(rawValue: -14) }
  public static var cannotLoadFromNetwork: Self { Self(rawValue: -15) }
}
public enum POSIXErrorCode: Int32, Sendable {
  case EPERM = 1, ENOENT, EIO = 5, ECONNRESET = 54, ENOTCONN = 57, ETIMEDOUT = 60
  case ECONNREFUSED = 61, EHOSTDOWN = 64, EHOSTUNREACH = 65, ENETDOWN = 50, ENETUNREACH = 51
  case EMFILE = 24, ENETRESET = 52, ECONNABORTED = 53, EPIPE = 32, EAGAIN = 35, EINTR = 4
}
public struct POSIXError: Error, Sendable {
  public typealias Code = POSIXErrorCode
  public init(_ code: Code, userInfo: [String: Any] = [:]) { self.code = code }
  public let code: Code
}
public func ~= (code: URLError.Code, error: any Error) -> Bool { false }
public func ~= (code: CocoaError.Code, error: any Error) -> Bool { false }
public struct CocoaError: Error, Sendable {
  public static var userCancelled: Code { .userCancelled }
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public static var userCancelled: Code { Code(rawValue: 3072) }
  }
  public init(_ code: Code, userInfo: [String: Any] = [:]) { self.code = code }
  public let code: Code
}

public struct URLRequest: Hashable, Sendable {
  public init(url: URL) {}
  public var url: URL?
  public var httpMethod: String?
  public func value(forHTTPHeaderField field: String) -> String? { nil }
  public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) {}
}
open class URLResponse: NSObject, @unchecked Sendable {
  public var expectedContentLength: Int64 { 0 }
  public var textEncodingName: String? { nil }
  public var url: URL? { nil }
}
open class HTTPURLResponse: URLResponse, @unchecked Sendable {
  public var statusCode: Int { 0 }
  public var allHeaderFields: [AnyHashable: Any] { [:] }
  public func value(forHTTPHeaderField field: String) -> String? { nil }
  public class func localizedString(forStatusCode code: Int) -> String { "" }
}
open class URLAuthenticationChallenge: NSObject, @unchecked Sendable {}
open class URLCredential: NSObject, @unchecked Sendable {}

open class URLSessionConfiguration: NSObject, @unchecked Sendable {
  public class var `default`: URLSessionConfiguration { fatalError() }
}
open class OperationQueue: NSObject, @unchecked Sendable {
  public class var main: OperationQueue { fatalError() }
}

open class URLSession: NSObject, @unchecked Sendable {
  public enum ResponseDisposition: Sendable { case cancel, allow, becomeDownload, becomeStream }
  public enum AuthChallengeDisposition: Sendable {
    case useCredential, performDefaultHandling, cancelAuthenticationChallenge, rejectProtectionSpace
  }
  public class var shared: URLSession { fatalError() }
  public var configuration: URLSessionConfiguration { fatalError() }
  public var delegate: (any URLSessionDelegate)? { nil }
  public func dataTask(with request: URLRequest) -> URLSessionDataTask { fatalError() }
  public func dataTask(with url: URL) -> URLSessionDataTask { fatalError() }
  public func uploadTask(with request: URLRequest, from data: Data) -> URLSessionUploadTask {
    fatalError()
  }
  public func dataTask(
    with request: URLRequest,
    completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> URLSessionDataTask { fatalError() }
  public func downloadTask(
    with request: URLRequest,
    completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
  ) -> URLSessionDownloadTask { fatalError() }
  public func uploadTask(with request: URLRequest, fromFile file: URL) -> URLSessionUploadTask {
    fatalError()
  }
  public func uploadTask(
    with request: URLRequest, from data: Data?,
    completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> URLSessionUploadTask { fatalError() }
  public func uploadTask(
    with request: URLRequest, fromFile file: URL,
    completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> URLSessionUploadTask { fatalError() }
}
open class URLSessionTask: NSObject, @unchecked Sendable {
  public var taskIdentifier: Int { 0 }
  public var response: URLResponse? { nil }
  public var error: (any Error)? { nil }
  @available(macOS 10.13, iOS 11, tvOS 11, watchOS 4, *)
  public var progress: Progress { fatalError() }
  @available(macOS 12, iOS 15, tvOS 15, watchOS 8, *)
  public var delegate: (any URLSessionTaskDelegate)?
  public func cancel() {}
  public func resume() {}
}
open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}
open class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {}
open class URLSessionDownloadTask: URLSessionTask, @unchecked Sendable {}

public protocol URLSessionDelegate: NSObjectProtocol, Sendable {
  func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?)
}
extension URLSessionDelegate {
  public func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {}
}
public protocol URLSessionTaskDelegate: URLSessionDelegate {
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLRequest?) -> Void)
  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    didReceive challenge: URLAuthenticationChallenge,
    completionHandler:
      @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)
}
extension URLSessionTaskDelegate {
  public func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {}
  public func urlSession(
    _ session: URLSession, task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {}
  public func urlSession(
    _ session: URLSession, task: URLSessionTask,
    didReceive challenge: URLAuthenticationChallenge,
    completionHandler:
      @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {}
}
public protocol URLSessionDataDelegate: URLSessionTaskDelegate {
  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void)
  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)
}
extension URLSessionDataDelegate {
  public func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {}
  public func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data
  ) {}
}

open class FileHandle: NSObject, @unchecked Sendable {
  public init(fileDescriptor: Int32) {}
  public convenience init(forWritingTo url: URL) throws { self.init(fileDescriptor: 0) }
  public class var standardError: FileHandle { fatalError() }
  public func readDataToEndOfFile() -> Data { Data() }
  public func write(_ data: Data) {}
  @available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *) public func close() throws {}
  @available(macOS 10.15.4, iOS 13.4, tvOS 13.4, watchOS 6.2, *)
  public func write<T: Sequence>(contentsOf data: T) throws where T.Element == UInt8 {}
}
open class Pipe: NSObject, @unchecked Sendable {
  public var fileHandleForReading: FileHandle { fatalError() }
}
public struct FileAttributeKey: Hashable, Sendable {
  public static let posixPermissions = FileAttributeKey()
  public static let size = FileAttributeKey()
  public static let type = FileAttributeKey()
}
public struct FileAttributeType: Hashable, Sendable {
  public static let typeRegular = FileAttributeType()
}
open class FileManager: NSObject, @unchecked Sendable {
  public class var `default`: FileManager { fatalError() }
  public func attributesOfItem(atPath path: String) throws -> [FileAttributeKey: Any] { [:] }
  public func setAttributes(
    _ attributes: [FileAttributeKey: Any], ofItemAtPath path: String
  ) throws {}
  public func removeItem(at url: URL) throws {}
  public func moveItem(at url: URL, to other: URL) throws {}
}

#if os(macOS)
  open class Process: NSObject, @unchecked Sendable {
    public enum TerminationReason: Int, Sendable { case exit = 1, uncaughtSignal = 2 }
    public var executableURL: URL?
    public var arguments: [String]?
    public var standardOutput: Any?
    public var standardError: Any?
    public var terminationStatus: Int32 { 0 }
    public var terminationReason: TerminationReason { .exit }
    public var isRunning: Bool { false }
    public func run() throws {}
    public func launch() {}
    public func waitUntilExit() {}
  }
#endif

open class Thread: NSObject, @unchecked Sendable {
  public class var current: Thread { fatalError() }
  public class var isMainThread: Bool { false }
  public var name: String?
  public func start() {}
}

public struct ProgressKind: Hashable, Sendable { public static let file = ProgressKind() }
open class Progress: NSObject, @unchecked Sendable {
  public var kind: ProgressKind?
  public init(totalUnitCount: Int64) {}
  public var completedUnitCount: Int64 = 0
  public var totalUnitCount: Int64 = 0
  public var fractionCompleted: Double { 0 }
  public var isCancellable: Bool = false
  public var isPausable: Bool = false
  public var isCancelled: Bool { false }
  public var cancellationHandler: (@Sendable () -> Void)?
  public func cancel() {}
}
public struct Notification: @unchecked Sendable {
  public struct Name: Hashable, Sendable {
    public let rawValue: String
    public init(_ name: String) { rawValue = name }
    public init(rawValue: String) { self.rawValue = rawValue }
  }
  public var name: Name
  public var object: Any?
  public var userInfo: [AnyHashable: Any]?
}
open class NotificationCenter: NSObject, @unchecked Sendable {
  public class var `default`: NotificationCenter { fatalError() }
  public func addObserver(
    forName name: Notification.Name?, object: Any?, queue: OperationQueue?,
    using block: @escaping @Sendable (Notification) -> Void
  ) -> any NSObjectProtocol { fatalError() }
  public func removeObserver(_ observer: Any) {}
}
open class RunLoop: NSObject, @unchecked Sendable {
  public struct Mode: Hashable, Sendable { public static let `default` = Mode() }
  public class var current: RunLoop { fatalError() }
  public class var main: RunLoop { fatalError() }
  public func run(mode: Mode, before date: Date) -> Bool { false }
  public func run(until date: Date) {}
}
