import CPostgreSQL
import Dispatch
public import Pledge

/// A connection to a PostgreSQL server: libpq's non-blocking interface, as promises.
///
/// libpq sends and receives on a socket, and leaves it to the program to wait for the socket. Here, a
/// source of Dispatch waits, so no thread blocks, however many connections there are.
///
/// The properties are used on `queue` only.
public final class Connection: @unchecked Sendable {
  /// The query whose result the server is sending.
  private struct Query {
    let resolver: Resolver<[Row]>
    var rows: [Row] = []
    var error: PostgresError?
  }

  private let queue = DispatchQueue(label: "PostgreSQL connection")
  private let handle: OpaquePointer
  private let onNotification: @Sendable () -> Void
  private let turns = Limiter(1)
  private var query: Query?
  private var reading: Promise<Void>?
  private let closing: Resolver<Void>
  /// Fulfilled when the connection has ended.
  public let closed: Promise<Void>
  /// The reason why the connection has ended.
  private var end: (any Error)?

  private init(_ options: String, _ onNotification: @escaping @Sendable () -> Void) throws {
    guard let handle = PQconnectStart(options) else {
      throw PostgresError(state: nil, "There is no memory for a connection.")
    }
    self.handle = handle
    self.onNotification = onNotification
    (closed, closing) = Promise.withResolvers()
    // libpq would print the server's notices.
    PQsetNoticeProcessor(handle, { _, _ in }, nil)
    if PQstatus(handle) == CONNECTION_BAD { throw error }
  }

  /// Closes the socket, which no source uses anymore: each of them retains the connection.
  deinit {
    closing.fulfill()
    PQfinish(handle)
  }

  /// Connects to a server; calls `onNotification` for each notification, on the connection's queue.
  ///
  /// The environment variables of libpq, such as `PGHOST`, specify what `options` doesn't contain.
  public static func open(
    _ options: String, onNotification: @escaping @Sendable () -> Void = {}
  ) -> Promise<Connection> {
    // On another thread, because libpq blocks it to look up the name of the host.
    Promise(on: .global) { try Connection(options, onNotification) }.then { connection in
      connection.socketReady(to: .write).then(on: connection.queue) { connection.connect() }
        .map(on: connection.queue) {
          PQsetnonblocking(connection.handle, 1)
          connection.reading = connection.read()
          connection.reading?.catch(on: connection.queue) { connection.end($0) }
          return connection
        }
    }
  }

  private func connect() -> Promise<Void> {
    switch PQconnectPoll(handle) {
    case PGRES_POLLING_OK: Promise()
    case PGRES_POLLING_READING: socketReady(to: .read).then(on: queue) { self.connect() }
    case PGRES_POLLING_WRITING: socketReady(to: .write).then(on: queue) { self.connect() }
    default: .rejected(error)
    }
  }

  /// Ends the connection, and rejects its queries.
  public func close() {
    queue.async { self.end(PostgresError(state: nil, "The connection was closed.")) }
  }

  /// Performs a query, after those that were started before it.
  ///
  /// Without parameters, `sql` can contain several statements.
  ///
  /// **Cancellation.** Cancelling a query that is waiting for others removes it. Cancelling one that is
  /// running ends the connection.
  public func query(_ sql: String, _ parameters: [String?] = []) -> Promise<[Row]> {
    turns.run(on: queue) { [self] in
      if let end { throw end }
      return Promise { resolver in
        resolver.onCancel {
          // First, because the end of the connection rejects it, too.
          resolver.reject(CancellationError())
          self.close()
        }
        guard send(sql, parameters) else { throw error }
        query = Query(resolver: resolver)
        flush().catch { _ in self.close() }
      }
    }
  }

  private func send(_ sql: String, _ parameters: [String?]) -> Bool {
    // A statement with parameters is a single statement; without them, there can be several.
    if parameters.isEmpty { return PQsendQuery(handle, sql) == 1 }
    let values = parameters.map { $0.flatMap { strdup($0) } }
    defer { for value in values { free(value) } }
    let pointers = values.map { $0.map { UnsafePointer($0) } }
    return PQsendQueryParams(handle, sql, CInt(values.count), nil, pointers, nil, nil, 0) == 1
  }

  /// Sends what libpq holds back because the socket was full.
  private func flush() -> Promise<Void> {
    switch PQflush(handle) {
    case 0:
      // libpq also receives while the socket is full, so the results can be there already.
      collectResults()
      return Promise()
    case 1: return socketReady(to: .write).then(on: queue) { self.flush() }
    default: return .rejected(error)
    }
  }

  /// Reads what the server sends, until the connection ends.
  private func read() -> Promise<Void> {
    socketReady(to: .read).then(on: queue) { [self] in
      guard PQconsumeInput(handle) == 1 else { throw error }
      while let notification = PQnotifies(handle) {
        PQfreemem(notification)
        onNotification()
      }
      collectResults()
      return read()
    }
  }

  private func collectResults() {
    while query != nil, PQisBusy(handle) == 0 {
      guard let result = PQgetResult(handle) else {
        // The query has no more results.
        let ended = query
        query = nil
        if let error = ended?.error { ended?.resolver.reject(error) }
        ended?.resolver.fulfill(ended?.rows ?? [])
        return
      }
      defer { PQclear(result) }
      switch PQresultStatus(result) {
      case PGRES_TUPLES_OK: query?.rows += PostgreSQL.rows(of: result)
      case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: break
      default: query?.error = PostgresError(result)
      }
    }
  }

  private func end(_ error: any Error) {
    guard end == nil else { return }
    end = error
    reading?.cancel()
    query?.resolver.reject(error)
    query = nil
    closing.fulfill()
  }

  private var error: PostgresError {
    PostgresError(state: nil, String(cString: PQerrorMessage(handle)))
  }

  private enum Direction { case read, write }

  /// Returns a promise that is fulfilled when the socket can be read or written.
  private func socketReady(to direction: Direction) -> Promise<Void> {
    Promise { resolver in
      let socket = PQsocket(handle)
      // Unsafe only by its declaration: sources can be cancelled on any thread.
      nonisolated(unsafe) let source: any DispatchSourceProtocol =
        switch direction {
        case .read: DispatchSource.makeReadSource(fileDescriptor: socket, queue: queue)
        case .write: DispatchSource.makeWriteSource(fileDescriptor: socket, queue: queue)
        }
      source.setEventHandler { source.cancel() }
      // When Dispatch doesn't use the socket anymore, so that libpq can close it.
      source.setCancelHandler {
        withExtendedLifetime(self) { _ = resolver.fulfill() }
      }
      resolver.onCancel { source.cancel() }
      source.activate()
    }
  }
}
