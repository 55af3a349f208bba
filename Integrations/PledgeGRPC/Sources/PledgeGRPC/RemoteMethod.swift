import Foundation
public import GRPCCore

/// A method of a service, as its clients and its servers agree on it: its name, and how its messages
/// are written as bytes.
///
/// ```swift
/// let resize = RemoteMethod.json("images.Resizer", "Resize", takes: Order.self, returns: Image.self)
/// ```
///
/// For services without a schema. A service with a schema has generated code in place of this: see
/// ``Peer/call(within:options:fileID:line:_:)`` and ``GRPCCore/ServerContext/serve(_:)``.
public struct RemoteMethod<Request: Sendable, Response: Sendable>: Sendable {
  /// The names of the service and of the method.
  public let descriptor: MethodDescriptor
  /// How requests are written as bytes.
  public let request: MessageCoding<Request>
  /// How responses are written as bytes.
  public let response: MessageCoding<Response>

  /// Creates a method with messages in formats of your own.
  ///
  /// - Parameters:
  ///   - service: The name of the service, with the name of its package: `images.Resizer`.
  ///   - name: The name of the method.
  ///   - request: How requests are written as bytes.
  ///   - response: How responses are written as bytes.
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
  /// Creates a method with messages in JSON.
  public static func json(
    _ service: String, _ name: String, takes: Request.Type = Request.self,
    returns: Response.Type = Response.self
  ) -> RemoteMethod {
    RemoteMethod(service, name, request: .json, response: .json)
  }
}

/// How messages of one type are written as bytes and read again.
public struct MessageCoding<Message: Sendable>: MessageSerializer, MessageDeserializer {
  private let encode: @Sendable (Message) throws -> [UInt8]
  private let decode: @Sendable (UnsafeRawBufferPointer) throws -> Message

  /// Creates a format of two functions.
  ///
  /// An error that `decode` throws reaches the other side as an error of the call.
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

  /// Returns the message that `bytes` are; called by gRPC.
  public func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> Message {
    try bytes.withUnsafeBytes(decode)
  }
}

extension MessageCoding where Message: Codable {
  /// Messages in JSON.
  public static var json: MessageCoding {
    MessageCoding(
      encode: { [UInt8](try JSONEncoder().encode($0)) },
      decode: { try JSONDecoder().decode(Message.self, from: Data($0)) })
  }
}

extension MessageCoding<[UInt8]> {
  /// Messages that are bytes already.
  public static var bytes: MessageCoding { MessageCoding(encode: { $0 }, decode: { [UInt8]($0) }) }
}
