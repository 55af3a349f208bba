import CPostgreSQL

/// The values of a row, as text; nil for `NULL`.
public typealias Row = [String?]

/// Returns the rows of a result of libpq.
func rows(of result: OpaquePointer) -> [Row] {
  (0..<PQntuples(result)).map { row in
    (0..<PQnfields(result)).map { column in
      PQgetisnull(result, row, column) == 1
        ? nil : String(cString: PQgetvalue(result, row, column))
    }
  }
}

/// The error of a query or of a connection.
public struct PostgresError: Error, CustomStringConvertible {
  /// PostgreSQL's code of the error; nil if the connection failed.
  public let state: String?
  /// The server's or libpq's message.
  public let description: String

  init(state: String?, _ message: String) {
    self.state = state
    // A message can have several lines, and ends with a newline.
    description = message.split(whereSeparator: \.isNewline).joined(separator: " ")
  }

  init(_ result: OpaquePointer) {
    let state = PQresultErrorField(result, CInt(UInt8(ascii: "C"))).map { String(cString: $0) }
    self.init(state: state, String(cString: PQresultErrorMessage(result)))
  }

  /// Whether the same query can succeed later: the connection or the server has ended, or the server
  /// ended the query because of another one.
  public var isTransient: Bool {
    guard let state else { return true }
    return ["08", "40", "53", "57"].contains(state.prefix(2))
  }
}
