/// What the server does with one request for a file.
public enum Conduct: String, Sendable, Hashable, CaseIterable {
  /// It sends the file.
  case honest
  /// It sends the file in small pieces, with a pause before each but the first.
  case slow
  /// It answers 503 Service Unavailable.
  case busy
  /// It answers 503 Service Unavailable and says when to come back.
  case busyWithRetryAfter
  /// It announces the whole file, sends half of it and closes the connection.
  case cutOff
  /// It sends as many bytes as the file has, one of them wrong.
  case wrongBytes
}

/// A request, as far as the server's conduct depends on it.
public struct Occasion: Sendable, Hashable {
  /// Which file is asked for, counted from 0.
  public var file: Int

  /// Which mirror is asked, counted from 0.
  public var mirror: Int

  /// How often this mirror was asked for this file, counted from 1.
  public var attempt: Int

  /// Creates an occasion.
  ///
  /// - Parameters:
  ///   - file: Which file is asked for, counted from 0.
  ///   - mirror: Which mirror is asked, counted from 0.
  ///   - attempt: How often it was asked for this file, counted from 1.
  public init(file: Int, mirror: Int, attempt: Int) {
    self.file = file
    self.mirror = mirror
    self.attempt = attempt
  }
}

/// A plan of the server's conduct.
///
/// The same occasion always meets the same conduct, whatever the order in which
/// requests arrive.
public struct Script: Sendable {
  private let plan: @Sendable (Occasion) -> Conduct

  /// Creates a script.
  ///
  /// - Parameter plan: Gives the conduct for an occasion.
  public init(_ plan: @escaping @Sendable (Occasion) -> Conduct) {
    self.plan = plan
  }

  /// Returns the server's conduct on `occasion`.
  ///
  /// - Parameter occasion: The request.
  /// - Returns: What the server does.
  public func conduct(on occasion: Occasion) -> Conduct {
    plan(occasion)
  }

  /// The script of a server that never misbehaves.
  public static let honest = Script { _ in .honest }

  /// Returns a script that goes through `conducts` with each file on each
  /// mirror, and is honest from then on.
  ///
  /// - Parameter conducts: The conduct at the first attempt, at the second, …
  /// - Returns: The script.
  public static func inTurn(_ conducts: Conduct...) -> Script {
    Script { occasion in
      conducts.indices.contains(occasion.attempt - 1) ? conducts[occasion.attempt - 1] : .honest
    }
  }

  /// Returns a script that misbehaves at random, in a way that the seed fixes.
  ///
  /// Retries win in the end: with each file, a mirror misbehaves only at the
  /// first few attempts.
  ///
  /// - Parameters:
  ///   - seed: Equal seeds make equal scripts.
  ///   - share: The part of the early attempts that meet misbehavior, from 0
  ///     to 1.
  ///   - earlyAttempts: How many attempts can meet misbehavior at all.
  /// - Returns: The script.
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
