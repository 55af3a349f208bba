extension Pair {
  static let equalPromiseKit: [Pair] = [
    Pair(
      "cleanup in both branches",
      """
      import PromiseKit
      @MainActor final class Panel {
        func reload() {
          badge.hide()
          firstly { service.counts() }.done { counts in
            self.badge.show(counts.unread)
          }.ensure {
            self.refresher.end()
          }.catch { error in
            self.toast(error.localizedDescription)
          }
        }
      }
      """,
      """
      @MainActor final class Panel {
        func reload() {
          badge.hide()
          Task {
            do {
              let counts = try await service.counts()
              badge.show(counts.unread)
              refresher.end()
            } catch {
              refresher.end()
              if !error.isCancelled { toast(error.localizedDescription) }
            }
          }
        }
      }
      """,
      finds: []),
    Pair(
      "concurrent pair",
      """
      import PromiseKit
      @MainActor func header(_ id: Int) -> Promise<Header> {
        when(fulfilled: title(id), cover(id)).map { title, cover in Header(title, cover) }
      }
      """,
      """
      @MainActor func header(_ id: Int) async throws -> Header {
        async let title = title(id)
        async let cover = cover(id)
        return Header(try await title, try await cover)
      }
      """,
      finds: []),
    Pair(
      "recovery to an empty list",
      """
      import PromiseKit
      @MainActor func drafts() -> Guarantee<[Draft]> {
        disk.read().map { try decoder.drafts($0) }.recover { _ in .value([]) }
      }
      """,
      """
      @MainActor func drafts() async -> [Draft] {
        do {
          let data = try await disk.read()
          return try decoder.drafts(data)
        } catch {
          return []
        }
      }
      """,
      finds: []),
    Pair(
      "callback",
      """
      import PromiseKit
      func position() -> Promise<Point> {
        Promise { seal in
          gps.locate { point, error in
            if let point {
              seal.fulfill(point)
            } else {
              seal.reject(error ?? Lost())
            }
          }
        }
      }
      """,
      """
      func position() async throws -> Point {
        try await withCheckedThrowingContinuation { continuation in
          gps.locate { point, error in
            guard let point else {
              continuation.resume(throwing: error ?? Lost())
              return
            }
            continuation.resume(returning: point)
          }
        }
      }
      """,
      finds: []),
    Pair(
      "key path",
      #"""
      import PromiseKit
      @MainActor func owner(_ id: Int) -> Promise<String> { repo(id).map(\.owner.name) }
      """#,
      """
      @MainActor func owner(_ id: Int) async throws -> String { try await repo(id).owner.name }
      """,
      finds: []),
    Pair(
      "nested chain made flat",
      """
      import PromiseKit
      @MainActor func publish(_ draft: Draft) -> Promise<Link> {
        upload(draft.image).then { key in
          post(draft.text, key).then { id in
            link(id).get { log.info($0) }
          }
        }
      }
      """,
      """
      @MainActor func publish(_ draft: Draft) async throws -> Link {
        let key = try await upload(draft.image)
        let id = try await post(draft.text, key)
        let result = try await link(id)
        log.info(result)
        return result
      }
      """,
      finds: []),
    Pair(
      "pause",
      """
      import PromiseKit
      @MainActor final class Hint {
        func flash() {
          label.isHidden = false
          after(seconds: 2).done { self.label.isHidden = true }
        }
      }
      """,
      """
      @MainActor final class Hint {
        func flash() {
          label.isHidden = false
          Task {
            try? await Task.sleep(nanoseconds: 2_000_000_000)
            label.isHidden = true
          }
        }
      }
      """,
      finds: []),
    Pair(
      "all errors",
      """
      import PromiseKit
      @MainActor func stop() {
        player.stop().done { status = .idle }.catch(policy: .allErrors) { status = .failed($0) }
      }
      """,
      """
      @MainActor func stop() {
        Task {
          do {
            try await player.stop()
            status = .idle
          } catch {
            status = .failed(error)
          }
        }
      }
      """,
      finds: []),
    Pair(
      "group of tasks",
      """
      import PromiseKit
      @MainActor func warm(_ ids: [Int]) -> Promise<Void> {
        when(fulfilled: ids.map { thumbnails.load($0) }).asVoid()
      }
      """,
      """
      @MainActor func warm(_ ids: [Int]) async throws {
        try await withThrowingTaskGroup(of: Thumbnail.self) { group in
          for id in ids {
            group.addTask { try await thumbnails.load(id) }
          }
          try await group.waitForAll()
        }
      }
      """,
      finds: []),
    Pair(
      "branches with different promises",
      """
      import PromiseKit
      @MainActor func open(_ item: Item) -> Promise<Page> {
        index.find(item).then { entry -> Promise<Page> in
          switch entry.kind {
          case .local: return local.page(entry)
          case .remote(let host): return remote.page(host, entry)
          }
        }
      }
      """,
      """
      @MainActor func open(_ item: Item) async throws -> Page {
        let entry = try await index.find(item)
        if case .remote(let host) = entry.kind { return try await remote.page(host, entry) }
        return try await local.page(entry)
      }
      """,
      finds: []),
    Pair(
      "rejection as throw",
      """
      import PromiseKit
      @MainActor func rename(_ name: String) -> Promise<Void> {
        guard !name.isEmpty else { return Promise(error: Invalid.empty) }
        title = name
        return store.rename(name)
      }
      """,
      """
      @MainActor func rename(_ name: String) async throws {
        if name.isEmpty { throw Invalid.empty }
        title = name
        try await store.rename(name)
      }
      """,
      finds: []),
    Pair(
      "wrapped error",
      """
      import PromiseKit
      @MainActor func sync() -> Promise<Void> {
        backend.push().recover { error -> Promise<Void> in throw SyncError.push(error) }
      }
      """,
      """
      @MainActor func sync() async throws {
        do {
          try await backend.push()
        } catch {
          if error.isCancelled { throw error }
          throw SyncError.push(error)
        }
      }
      """,
      finds: []),
    Pair(
      "handler that returns early",
      """
      import PromiseKit
      @MainActor func pick() {
        chooser.run().done { choice in
          guard let choice else { return }
          apply(choice)
          close()
        }.catch { alert($0) }
      }
      """,
      """
      @MainActor func pick() {
        Task {
          do {
            if let choice = try await chooser.run() {
              apply(choice)
              close()
            }
          } catch {
            if !error.isCancelled { alert(error) }
          }
        }
      }
      """,
      finds: []),
    Pair(
      "cancellation excluded by its type, case with a value",
      """
      import PromiseKit
      @MainActor func renew(_ loan: Loan) -> Promise<Loan> {
        desk.giveBack(loan).recover { error -> Promise<Loan> in
          guard retries < 3 else { throw Refused() }
          return renew(loan)
        }
      }
      @MainActor func look(_ id: Int) {
        desk.find(id).done { show($0) }.catch(policy: .allErrors) { error in
          if case DeskError.missing(let shelf) = error { mark(shelf) } else { alert(error) }
        }
      }
      """,
      """
      @MainActor func renew(_ loan: Loan) async throws -> Loan {
        do {
          return try await desk.giveBack(loan)
        } catch let error where !(error is CancellationError) {
          guard retries < 3 else { throw Refused() }
          return try await renew(loan)
        }
      }
      @MainActor func look(_ id: Int) {
        Task {
          do { show(try await desk.find(id)) } catch DeskError.missing(let place) {
            mark(place)
          } catch { alert(error) }
        }
      }
      """,
      finds: []),
  ]
}
