/// A screen before and after a correct conversion, for mutations of the conversion.
enum FeedFixture {
  static let beforeTree = tree(before)

  static let before = """
    import PromiseKit
    import UIKit

    final class FeedController: UIViewController {
      func load(page: Int) -> Promise<[Item]> {
        guard !isLoading else { return .value(items) }
        isLoading = true
        log.write("start")
        return firstly {
          api.fetch(page: page)
        }.then { raw in
          self.api.decode(raw)
        }.map { list in
          try self.store.save(list)
          return list.filter { $0.isVisible }
        }.ensure {
          self.isLoading = false
        }
      }

      func refresh() {
        spinner.start()
        load(page: 1).done { items in
          self.items = items
          self.table.reload()
          NotificationCenter.default.post(name: .loaded, object: nil)
        }.ensure {
          self.spinner.stop()
        }.catch(policy: .allErrors) { error in
          self.log.write(error)
          self.show(error)
        }
      }

      func both(id: Int) -> Promise<(User, Avatar)> {
        when(fulfilled: api.user(id: id), api.avatar(id: id))
      }

      func steps(id: Int) -> Promise<Void> {
        api.open(id).then { session in
          self.api.send(session, id)
        }.then { receipt in
          self.api.close(receipt)
        }.done {
          self.log.write("done")
        }
      }

      func title(id: Int) -> Promise<String> {
        api.user(id: id).map { $0.name }.recover(policy: .allErrors) { error -> Promise<String> in
          guard error is NotFound else { throw error }
          self.log.write("missing")
          return .value("nobody")
        }
      }

      func token() -> Promise<Token> {
        Promise { seal in
          keychain.read("token") { token, error in
            if let token {
              seal.fulfill(token)
            } else if let error {
              seal.reject(Failure(error))
            } else {
              seal.reject(Failure.none)
            }
          }
        }
      }

      func saveAll(list: [Item]) -> Promise<Void> {
        when(fulfilled: list.map { self.api.save($0) }).done { _ in
          self.log.write("saved")
        }
      }

      func compute(x: Int) -> Promise<Int> {
        api.number(x).map(on: .global()) { number in
          try self.engine.run(number)
        }.get { result in
          self.cache = result
        }
      }

      func vote(on post: Post, up: Bool) -> Promise<Void> {
        if up {
          return api.upvote(post)
        } else {
          return api.downvote(post)
        }
      }
    }
    """

  static let after = """
    import UIKit

    final class FeedController: UIViewController {
      func load(page: Int) async throws -> [Item] {
        guard !isLoading else { return items }
        isLoading = true
        log.write("start")
        defer { isLoading = false }
        let raw = try await api.fetch(page: page)
        let list = try await api.decode(raw)
        try store.save(list)
        return list.filter { $0.isVisible }
      }

      func refresh() {
        spinner.start()
        Task {
          do {
            defer { spinner.stop() }
            let items = try await load(page: 1)
            self.items = items
            table.reload()
            NotificationCenter.default.post(name: .loaded, object: nil)
          } catch {
            log.write(error)
            show(error)
          }
        }
      }

      func both(id: Int) async throws -> (User, Avatar) {
        async let user = api.user(id: id)
        async let avatar = api.avatar(id: id)
        return try await (user, avatar)
      }

      func steps(id: Int) async throws {
        let session = try await api.open(id)
        let receipt = try await api.send(session, id)
        try await api.close(receipt)
        log.write("done")
      }

      func title(id: Int) async throws -> String {
        do {
          return try await api.user(id: id).name
        } catch {
          guard error is NotFound else { throw error }
          log.write("missing")
          return "nobody"
        }
      }

      func token() async throws -> Token {
        try await withCheckedThrowingContinuation { continuation in
          keychain.read("token") { token, error in
            if let token {
              continuation.resume(returning: token)
            } else if let error {
              continuation.resume(throwing: Failure(error))
            } else {
              continuation.resume(throwing: Failure.none)
            }
          }
        }
      }

      func saveAll(list: [Item]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for item in list {
            group.addTask { try await self.api.save(item) }
          }
          try await group.waitForAll()
        }
        log.write("saved")
      }

      func compute(x: Int) async throws -> Int {
        let number = try await api.number(x)
        let result = try await Task.detached { try self.engine.run(number) }.value
        cache = result
        return result
      }

      func vote(on post: Post, up: Bool) async throws {
        if up {
          try await api.upvote(post)
        } else {
          try await api.downvote(post)
        }
      }
    }
    """
}
