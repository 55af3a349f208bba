/// The behavior of the server for one request.
public enum Conduct: String, Sendable, Hashable, CaseIterable {
  /// The server sends the file.
  case honest
  /// The server sends the file in small pieces, with a pause between them.
  case slow
  /// The server responds with 503 Service Unavailable.
  case busy
  /// The server responds with 503 Service Unavailable and a `Retry-After` header.
  case busyWithRetryAfter
  /// The server announces the whole file, sends half of it, and closes the connection.
  case cutOff
  /// The server sends the right number of bytes, one of them wrong.
  case wrongBytes
}

/// The properties of a request that determine the server's behavior.
public struct Occasion: Sendable, Hashable {
  /// The index of the requested file.
  public var file: Int

  /// The index of the mirror.
  public var mirror: Int

  /// The number of requests for this file at this mirror, including this one.
  public var attempt: Int

  /// Creates an occasion.
  ///
  /// - Parameters:
  ///   - file: The index of the requested file.
  ///   - mirror: The index of the mirror.
  ///   - attempt: The number of requests for this file at this mirror, including this one.
  public init(file: Int, mirror: Int, attempt: Int) {
    self.file = file
    self.mirror = mirror
    self.attempt = attempt
  }
}

/// A function that determines the server's behavior for each request.
///
/// The same occasion always leads to the same behavior, whatever the order of requests.
public struct Script: Sendable {
  private let plan: @Sendable (Occasion) -> Conduct

  /// Creates a script.
  ///
  /// - Parameter plan: Returns the behavior for an occasion.
  public init(_ plan: @escaping @Sendable (Occasion) -> Conduct) {
    self.plan = plan
  }

  /// Returns the server's behavior on `occasion`.
  public func conduct(on occasion: Occasion) -> Conduct {
    plan(occasion)
  }

  /// The script of a server that never misbehaves.
  public static let honest = Script { _ in .honest }

  /// Returns a script that applies `conducts` in turn to the requests for each file at each mirror,
  /// and then stops misbehaving.
  ///
  /// - Parameter conducts: The behavior for the first attempt, the second, and so on.
  public static func inTurn(_ conducts: Conduct...) -> Script {
    Script { occasion in
      conducts.indices.contains(occasion.attempt - 1) ? conducts[occasion.attempt - 1] : .honest
    }
  }

  /// Returns a script that misbehaves at random, reproducibly for a seed.
  ///
  /// Only the first few requests for each file at each mirror meet faults, so retries eventually
  /// succeed.
  ///
  /// - Parameters:
  ///   - seed: The seed; equal seeds create equal scripts.
  ///   - share: The fraction of early attempts that meet a fault, from 0 to 1.
  ///   - earlyAttempts: The number of attempts that can meet a fault.
  public static func random(
    seed: UInt64, share: Double = 0.4, earlyAttempts: Int = 3
  ) -> Script {
    let misbehaviors = Conduct.allCases.filter { $0 != .honest }
    return Script { occasion in
      guard occasion.attempt <= earlyAttempts else { return .honest }
      let file = Scramble.word(UInt64(occasion.file), seed)
      let mirror = Scramble.word(UInt64(occasion.mirror), file)
      let luck = Scramble.unit(UInt64(occasion.attempt), mirror)
      guard luck < share else { return .honest }
      return misbehaviors[Int(luck / share * Double(misbehaviors.count))]
    }
  }
}
