import Foundation
public import GRPCCore

/// The description of a service's method that clients and servers share: its name, and the encoding of its
/// messages.
///
/// ```swift
/// let resize = RemoteMethod.json("images.Resizer", "Resize", takes: Order.self, returns: Image.self)
/// ```
///
/// Use it for services without generated code. With generated code, use
/// ``Peer/call(within:options:fileID:line:_:)`` and ``GRPCCore/ServerContext/serve(_:)``.
public struct RemoteMethod<Request: Sendable, Response: Sendable>: Sendable {
  /// The names of the service and of the method.
  public let descriptor: MethodDescriptor
  /// The encoding of requests.
  public let request: MessageCoding<Request>
  /// The encoding of responses.
  public let response: MessageCoding<Response>

  /// Creates a method with custom encodings of its messages.
  ///
  /// - Parameters:
  ///   - service: The name of the service, including that of its package, such as `images.Resizer`.
  ///   - name: The name of the method.
  ///   - request: The encoding of requests.
  ///   - response: The encoding of responses.
  public init(
    _ service: String, _ name: String, request: MessageCoding<Request>,
    response: MessageCoding<Response>
  ) {
    descriptor = MethodDescriptor(fullyQualifiedService: service, method: name)
    self.request = request
    self.response = response
  }
}

extension RemoteMethod where Request: Codable, Response: Codable {
  /// Returns a method with messages in JSON.
  public static func json(
    _ service: String, _ name: String, takes: Request.Type = Request.self,
    returns: Response.Type = Response.self
  ) -> RemoteMethod {
    RemoteMethod(service, name, request: .json, response: .json)
  }
}

/// An encoding of messages of one type as bytes.
public struct MessageCoding<Message: Sendable>: MessageSerializer, MessageDeserializer {
  private let encode: @Sendable (Message) throws -> [UInt8]
  private let decode: @Sendable (UnsafeRawBufferPointer) throws -> Message

  /// Creates an encoding from two functions.
  ///
  /// An error that `decode` throws fails the call.
  public init(
    encode: @escaping @Sendable (Message) throws -> [UInt8],
    decode: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Message
  ) {
    self.encode = encode
    self.decode = decode
  }

  /// Returns `message` as bytes; called by gRPC.
  public func serialize<Bytes: GRPCContiguousBytes>(_ message: Message) throws -> Bytes {
    Bytes(try encode(message))
  }

  /// Returns the message that `bytes` encode; called by gRPC.
  public func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> Message {
    try bytes.withUnsafeBytes(decode)
  }
}

extension MessageCoding where Message: Codable {
  /// The encoding as JSON.
  public static var json: MessageCoding {
    MessageCoding(
      encode: { [UInt8](try JSONEncoder().encode($0)) },
      decode: { try JSONDecoder().decode(Message.self, from: Data($0)) })
  }
}

extension MessageCoding<[UInt8]> {
  /// The encoding of messages that are already bytes.
  public static var bytes: MessageCoding { MessageCoding(encode: { $0 }, decode: { [UInt8]($0) }) }
}
