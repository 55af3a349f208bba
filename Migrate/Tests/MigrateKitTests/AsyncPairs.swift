extension Pair {
  static let async: [Pair] = [
    Pair(
      "guard as if let",
      """
      func run(_ url: URL?) async throws -> Data {
        guard let url else { throw Missing() }
        return try await net.get(url)
      }
      """,
      """
      func run(_ url: URL?) async throws -> Data {
        if let address = url { return try await net.get(address) }
        throw Missing()
      }
      """,
      finds: []),
    Pair(
      "De Morgan",
      """
      func run() async { if !(a.isOn && b.isOn) { await lamp.off() } }
      """,
      """
      func run() async { if !a.isOn || !b.isOn { await lamp.off() } }
      """,
      finds: []),
    Pair(
      "literal as a constant",
      """
      func run() async throws { try await net.get(limit: 20) }
      """,
      """
      func run() async throws {
        let limit = 20
        try await net.get(limit: limit)
      }
      """,
      finds: []),
    Pair(
      "error passed on explicitly",
      """
      func run() async throws -> Int { try await meter.read() }
      """,
      """
      func run() async throws -> Int {
        do { return try await meter.read() } catch { throw error }
      }
      """,
      finds: []),
    Pair(
      "helper",
      """
      func run(_ user: User) async throws {
        let key = try await keys.find(user)
        let box = try seal(key, user.secret)
        try await vault.put(box)
        log.info("stored")
      }
      """,
      """
      func run(_ user: User) async throws {
        try await vault.put(try await sealed(user))
        log.info("stored")
      }
      private func sealed(_ user: User) async throws -> Box {
        let key = try await keys.find(user)
        return try seal(key, user.secret)
      }
      """,
      finds: []),
    Pair(
      "forEach as a loop",
      """
      @MainActor func clear() async { views.forEach { $0.remove() }; await disk.wipe() }
      """,
      """
      @MainActor func clear() async {
        for view in views { view.remove() }
        await disk.wipe()
      }
      """,
      finds: []),
    Pair(
      "else after return",
      """
      func run() async -> Int {
        if await gate.isOpen() { return 1 } else { return await gate.wait() }
      }
      """,
      """
      func run() async -> Int {
        if await gate.isOpen() { return 1 }
        return await gate.wait()
      }
      """,
      finds: []),
    Pair(
      "wait lost",
      """
      func close() async throws { try await db.flush(); db.close() }
      """,
      """
      func close() async throws { Task { try await db.flush() }; db.close() }
      """,
      finds: [.waitLost, .errorSwallowed]),
    Pair(
      "main actor for one statement only",
      """
      func show(_ rows: [Row]) async { await MainActor.run { table.rows = rows; table.reload() } }
      """,
      """
      func show(_ rows: [Row]) async { await MainActor.run { table.rows = rows }; table.reload() }
      """,
      finds: [.executorChanged]),
    Pair(
      "async let lost",
      """
      func load() async throws -> (A, B) { async let a = fa(); async let b = fb(); return try await (a, b) }
      """,
      """
      func load() async throws -> (A, B) { let a = try await fa(); let b = try await fb(); return (a, b) }
      """,
      finds: [.becameSequential]),
    Pair(
      "unlock on success only",
      """
      func run() async throws { lock.lock(); defer { lock.unlock() }; try await work() }
      """,
      """
      func run() async throws { lock.lock(); try await work(); lock.unlock() }
      """,
      finds: [.effectLost]),
    Pair(
      "check for cancellation lost",
      """
      func run() async throws { for item in items { try Task.checkCancellation(); try await send(item) } }
      """,
      """
      func run() async throws { for item in items { try await send(item) } }
      """,
      finds: [.effectLost]),
    Pair(
      "other default",
      """
      func run() async { state.count = await meter.read() ?? 0 }
      """,
      """
      func run() async { state.count = await meter.read() ?? 1 }
      """,
      finds: [.argumentChanged]),
    Pair(
      "other comparison",
      """
      func run(_ n: Int) async { if n > 3 { await alarm.ring() } }
      """,
      """
      func run(_ n: Int) async { if n >= 3 { await alarm.ring() } }
      """,
      finds: [.effectLost, .effectAdded]),
    Pair(
      "fewer attempts",
      """
      func run() async throws { for _ in 0..<3 { try await send() } }
      """,
      """
      func run() async throws { for _ in 0..<2 { try await send() } }
      """,
      finds: [.argumentChanged, .effectLost, .effectRepeated, .resultChanged]),
    Pair(
      "interpolated value",
      #"""
      func run(_ id: Int, _ name: String) async { await log.write("user \(id)") }
      """#,
      #"""
      func run(_ id: Int, _ name: String) async { await log.write("user \(name)") }
      """#,
      finds: [.argumentChanged]),
    Pair(
      "sum replaced",
      """
      @MainActor func run() async { total += await meter.read() }
      """,
      """
      @MainActor func run() async { total = await meter.read() }
      """,
      finds: [.argumentChanged]),
    Pair(
      "other key",
      """
      @MainActor func run(_ id: Int, _ key: Int) async { cache[id] = await load(id) }
      """,
      """
      @MainActor func run(_ id: Int, _ key: Int) async { cache[key] = await load(id) }
      """,
      finds: [.argumentChanged, .effectLost, .callReplaced]),
    Pair(
      "delegate not told",
      """
      @MainActor func run() async throws { try await work(); delegate?.didFinish(self) }
      """,
      """
      @MainActor func run() async throws { try await work() }
      """,
      finds: [.effectLost]),
    Pair(
      "failure as success",
      """
      func run(_ done: (Result<Int, Error>) -> Void) async {
        do { done(.success(try await read())) } catch { done(.failure(error)) }
      }
      """,
      """
      func run(_ done: (Result<Int, Error>) -> Void) async {
        do { done(.success(try await read())) } catch { done(.success(0)) }
      }
      """,
      finds: [.argumentChanged]),
    Pair(
      "priority lost",
      """
      @MainActor func run() { Task(priority: .background) { await index.build() } }
      """,
      """
      @MainActor func run() { Task { await index.build() } }
      """,
      finds: [.priorityChanged]),
    Pair(
      "order of cleanup",
      """
      func run() async throws { defer { a.close() }; defer { b.close() }; try await work() }
      """,
      """
      func run() async throws { defer { b.close() }; defer { a.close() }; try await work() }
      """,
      finds: [.orderChanged]),
    Pair(
      "loop ends early",
      """
      func run() async { for user in users { await notify(user) } }
      """,
      """
      func run() async { for user in users { await notify(user); break } }
      """,
      finds: [.effectAdded, .effectLost]),
    Pair(
      "case lost",
      """
      @MainActor func run(_ e: Event) async {
        switch e { case .start: await begin(); case .stop: await end(); case .pause: await hold() }
      }
      """,
      """
      @MainActor func run(_ e: Event) async {
        switch e { case .start: await begin(); case .stop, .pause: await end() }
      }
      """,
      finds: [.effectLost, .callReplaced]),
    Pair(
      "negated loop",
      """
      func run() async { while queue.isEmpty { await queue.wait() } }
      """,
      """
      func run() async { while !queue.isEmpty { await queue.wait() } }
      """,
      finds: [.effectLost, .effectAdded]),
  ]
}
