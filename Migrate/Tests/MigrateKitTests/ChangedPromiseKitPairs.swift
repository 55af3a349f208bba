extension Pair {
  static let changedPromiseKit: [Pair] = [
    Pair(
      "request before the check",
      """
      import PromiseKit
      @MainActor func rename(_ name: String) -> Promise<Void> {
        guard !name.isEmpty else { return Promise(error: Invalid.empty) }
        return store.rename(name)
      }
      """,
      """
      @MainActor func rename(_ name: String) async throws {
        try await store.rename(name)
        guard !name.isEmpty else { throw Invalid.empty }
      }
      """,
      finds: [.effectAdded]),
    Pair(
      "work inside firstly lost",
      """
      import PromiseKit
      @MainActor func load() -> Promise<[Row]> {
        firstly { () -> Promise<Data> in
          meter.begin()
          return net.get()
        }.map { try parse($0) }
      }
      """,
      """
      @MainActor func load() async throws -> [Row] {
        try parse(try await net.get())
      }
      """,
      finds: [.effectLost]),
    Pair(
      "cleanup on failure only",
      """
      import PromiseKit
      @MainActor func save() {
        store.save().ensure { overlay.hide() }.catch { alert($0) }
      }
      """,
      """
      @MainActor func save() {
        Task {
          do {
            try await store.save()
          } catch {
            overlay.hide()
            if !error.isCancelled { alert(error) }
          }
        }
      }
      """,
      finds: [.effectLost]),
    Pair(
      "sequence in place of when",
      """
      import PromiseKit
      @MainActor func header(_ id: Int) -> Promise<Header> {
        when(fulfilled: title(id), cover(id)).map { title, cover in Header(title, cover) }
      }
      """,
      """
      @MainActor func header(_ id: Int) async throws -> Header {
        let title = try await title(id)
        let cover = try await cover(id)
        return Header(title, cover)
      }
      """,
      finds: [.becameSequential]),
    Pair(
      "detached task",
      """
      import PromiseKit
      @MainActor final class Panel {
        func reload() { service.counts().done { self.badge.show($0) }.cauterize() }
      }
      """,
      """
      import PromiseKit
      @MainActor final class Panel {
        func reload() {
          let source = service.counts()
          Task.detached {
            do {
              let counts = try await source.async()
              self.badge.show(counts)
            } catch let error where !error.isCancelled {
              conf.logHandler(.cauterized(error))
            } catch {}
          }
        }
      }
      """,
      finds: [.executorChanged]),
    Pair(
      "another error",
      """
      import PromiseKit
      @MainActor func token() -> Promise<String> {
        keychain.read("token").map { value in
          guard let value else { throw AuthError.signedOut }
          return value
        }
      }
      """,
      """
      @MainActor func token() async throws -> String {
        guard let value = try await keychain.read("token") else { throw AuthError.expired }
        return value
      }
      """,
      finds: [.errorChanged]),
    Pair(
      "handler lost",
      """
      import PromiseKit
      @MainActor func send() { mail.send().done { close() }.catch { alert($0) } }
      """,
      """
      @MainActor func send() {
        Task {
          guard (try? await mail.send()) != nil else { return }
          close()
        }
      }
      """,
      finds: [.effectLost]),
    Pair(
      "undecoded result",
      """
      import PromiseKit
      @MainActor func rows() -> Promise<[Row]> {
        net.get().map { try decode($0) }.map { rows in rows.filter { $0.isOpen } }
      }
      """,
      """
      @MainActor func rows() async throws -> [Row] {
        let rows = try decode(try await net.get())
        _ = rows.filter { $0.isOpen }
        return rows
      }
      """,
      finds: [.resultChanged]),
    Pair(
      "recovery that covers too much",
      """
      import PromiseKit
      @MainActor func page() -> Promise<Page> {
        cache.read().recover { _ in net.read() }.then { data in render(data) }
      }
      """,
      """
      @MainActor func page() async throws -> Page {
        do {
          return try await render(try await cache.read())
        } catch {
          if error.isCancelled { throw error }
          return try await render(try await net.read())
        }
      }
      """,
      finds: [.errorSwallowed, .effectAdded, .effectRepeated, .errorChanged]),
    Pair(
      "path without resumption",
      """
      import PromiseKit
      func position() -> Promise<Point> {
        Promise { seal in
          gps.locate { point, error in
            if let point { seal.fulfill(point) } else { seal.reject(error ?? Lost()) }
          }
        }
      }
      """,
      """
      func position() async throws -> Point {
        try await withCheckedThrowingContinuation { continuation in
          gps.locate { point, error in
            if let point {
              continuation.resume(returning: point)
            } else if let error {
              continuation.resume(throwing: error)
            }
          }
        }
      }
      """,
      finds: [.neverResumed]),
    Pair(
      "resumed twice",
      """
      import PromiseKit
      func read() -> Promise<Data> {
        Promise { seal in
          disk.read { data, error in
            if let error { seal.reject(error) }
            seal.fulfill(data)
          }
        }
      }
      """,
      """
      func read() async throws -> Data {
        try await withCheckedThrowingContinuation { continuation in
          disk.read { data, error in
            if let error { continuation.resume(throwing: error) }
            continuation.resume(returning: data)
          }
        }
      }
      """,
      finds: [.resumedTwice]),
    Pair(
      "cleanup twice",
      """
      import PromiseKit
      @MainActor func save() -> Promise<Void> { store.save().ensure { overlay.pop() } }
      """,
      """
      @MainActor func save() async throws {
        defer { overlay.pop() }
        try await store.save()
        overlay.pop()
      }
      """,
      finds: [.effectRepeated]),
    Pair(
      "steps at the same time",
      """
      import PromiseKit
      @MainActor func setup() -> Promise<Void> { db.migrate().then { db.seed() } }
      """,
      """
      @MainActor func setup() async throws {
        async let migration: Void = db.migrate()
        async let seed: Void = db.seed()
        _ = try await (migration, seed)
      }
      """,
      finds: [.becameParallel]),
    Pair(
      "other argument",
      """
      import PromiseKit
      @MainActor func more() { feed.load(page: page + 1).done { self.page += 1; list.add($0) }.catch { alert($0) } }
      """,
      """
      @MainActor func more() {
        Task {
          do {
            let items = try await feed.load(page: page)
            self.page += 1
            list.add(items)
          } catch {
            if !error.isCancelled { alert(error) }
          }
        }
      }
      """,
      finds: [.argumentChanged]),
    Pair(
      "flag inverted",
      """
      import PromiseKit
      @MainActor func load() { net.get().done { view.show($0) }.ensure { view.isBusy = false }.cauterize() }
      """,
      """
      @MainActor func load() {
        Task {
          defer { view.isBusy = true }
          do { view.show(try await net.get()) } catch let error where !error.isCancelled {
            conf.logHandler(.cauterized(error))
          } catch {}
        }
      }
      """,
      finds: [.argumentChanged]),
    Pair(
      "only one kind of error handled",
      """
      import PromiseKit
      @MainActor func load() { net.get().done { view.show($0) }.catch { alert($0) } }
      """,
      """
      @MainActor func load() {
        Task {
          do { view.show(try await net.get()) } catch let error as NetError { alert(error) }
        }
      }
      """,
      finds: [.effectLost]),
    Pair(
      "value for an error that was passed on",
      #"""
      import PromiseKit
      @MainActor func name() -> Promise<String> {
        profile.load().map(\.name).recover { error -> Promise<String> in
          guard error is Offline else { throw error }
          return .value(cached)
        }
      }
      """#,
      """
      @MainActor func name() async throws -> String {
        do { return try await profile.load().name } catch { return cached }
      }
      """,
      finds: [.errorSwallowed]),
  ]
}
