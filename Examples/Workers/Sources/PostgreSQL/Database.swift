public import Pledge

/// A database to which the program connects again when its connection ends.
public final class Database: Sendable {
  private let options: String
  private let policy: RetryPolicy
  private let setUp: String
  private let onNotification: @Sendable () -> Void
  /// The connection, which all queries share; it is opened for the first of them.
  private let connections = RequestCoalescer<String, Connection>(caching: .init())

  /// Creates a database, which performs the statements of `setUp` on each new connection.
  ///
  /// `onNotification` is called for each notification, and for each new connection, because the
  /// notifications before that are lost.
  public init(
    _ options: String, policy: RetryPolicy, setUp: String = "",
    onNotification: @escaping @Sendable () -> Void = {}
  ) {
    self.options = options
    self.policy = policy.retrying { ($0 as? PostgresError)?.isTransient ?? false }
    self.setUp = setUp
    self.onNotification = onNotification
  }

  /// Performs a query; repeats it if the connection ends.
  ///
  /// If the connection ends after the server has committed the query, the query is performed twice. Use
  /// only queries that have the same effect then.
  public func query(_ sql: String, _ parameters: [String?] = []) -> Promise<[Row]> {
    Promise.retry(policy) { [self] in
      connection().then { $0.query(sql, parameters) }
    }
  }

  private func connection() -> Promise<Connection> {
    connections.promise(for: "") { [self] in
      Connection.open(options, onNotification: onNotification).then { [self] connection in
        connection.query(setUp).map { _ in
          connection.closed.done { self.connections.removeValue(for: "") }.catch { _ in }
          self.onNotification()
          return connection
        }
      }
    }
  }
}
