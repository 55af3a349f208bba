/// A shopping cart before and after a correct conversion: recovery with two outcomes, a shared
/// promise, work on a queue, recursion, and a delegate.
enum CartFixture {
  static let beforeTree = tree(before)

  static let before = #"""
    import PromiseKit
    import UIKit

    class CartController: UIViewController {
      var pendingRequests = 0
      func checkout(cart: Cart) -> Promise<Receipt> {
        pendingRequests += 1
        showSpinner()
        return firstly {
          self.gateway.authorize(amount: cart.total)
        }.then { auth -> Promise<(Auth, Stock)> in
          self.inventory.reserve(cart.items).map { (auth, $0) }
        }.then { auth, stock in
          self.gateway.capture(auth, stock: stock)
        }.get { receipt in
          self.analytics.track("purchase", receipt.id)
          self.badge.value = 0
        }.recover { error -> Promise<Receipt> in
          self.analytics.track("failed", error)
          if let retry = error as? Retryable {
            return self.gateway.retry(retry)
          }
          throw error
        }.ensure {
          self.pendingRequests -= 1
          self.hideSpinner()
        }
      }

      func sync() {
        let group = cache.load()
        group.done { self.apply($0) }.catch { _ in }
        group.map { $0.count }.done { self.counter.text = "\($0)" }.cauterize()
        DispatchQueue.global(qos: .utility).async(.promise) {
          try self.compress(self.files)
        }.then(on: .global()) { data in
          self.upload(data)
        }.done { url in
          self.link = url
          UserDefaults.standard.set(url, forKey: "last")
        }.catch { error in
          if error is Offline { self.queue.add(self.files) } else { self.report(error) }
        }
      }

      func poll(times: Int) -> Guarantee<Bool> {
        after(seconds: 1).then { () -> Guarantee<Bool> in
          if times == 0 { return .value(false) }
          return self.ping().map { true }.recover { _ in self.poll(times: times - 1) }
        }
      }

      func locate() -> Promise<Location> {
        Promise { seal in
          manager.onUpdate = { location in
            seal.fulfill(location)
            self.manager.stop()
          }
          manager.onError = { seal.reject($0) }
          manager.start()
        }
      }
    }
    """#

  static let after = #"""
    import UIKit

    class CartController: UIViewController {
      var pendingRequests = 0
      func checkout(cart: Cart) async throws -> Receipt {
        pendingRequests += 1
        showSpinner()
        defer {
          pendingRequests -= 1
          hideSpinner()
        }
        do {
          let auth = try await gateway.authorize(amount: cart.total)
          let stock = try await inventory.reserve(cart.items)
          let receipt = try await gateway.capture(auth, stock: stock)
          analytics.track("purchase", receipt.id)
          badge.value = 0
          return receipt
        } catch let error where !error.isCancelled {
          analytics.track("failed", error)
          guard let retry = error as? Retryable else { throw error }
          return try await gateway.retry(retry)
        }
      }

      func sync() {
        let group = Task { try await cache.load() }
        Task {
          if let value = try? await group.value { apply(value) }
        }
        Task {
          do { counter.text = "\(try await group.value.count)" } catch { conf.logHandler(.cauterized(error)) }
        }
        Task {
          do {
            let data = try await Task.detached(priority: .utility) { try self.compress(self.files) }.value
            let url = try await upload(data)
            link = url
            UserDefaults.standard.set(url, forKey: "last")
          } catch {
            if error is Offline { queue.add(files) } else { report(error) }
          }
        }
      }

      func poll(times: Int) async -> Bool {
        try? await Task.sleep(nanoseconds: 1_000_000_000)
        guard times != 0 else { return false }
        do {
          try await ping()
          return true
        } catch {
          return await poll(times: times - 1)
        }
      }

      func locate() async throws -> Location {
        try await withCheckedThrowingContinuation { continuation in
          manager.onUpdate = { location in
            continuation.resume(returning: location)
            self.manager.stop()
          }
          manager.onError = { continuation.resume(throwing: $0) }
          manager.start()
        }
      }
    }
    """#

  static let mutations: [Mutation] = [
    Mutation("stock for other items", "reserve(cart.items)", "reserve(items)", .argumentChanged),
    Mutation(
      "arguments of a dependent call swapped", "capture(auth, stock: stock)",
      "capture(stock, stock: auth)", .argumentChanged),
    Mutation(
      "recovery with another call", "try await gateway.retry(retry)",
      "try await gateway.capture(retry)", .callReplaced),
    Mutation(
      "report of a failure dropped", "analytics.track(\"failed\", error)\n", "\n", .effectLost),
    Mutation(
      "cleanup before the recovery",
      "    defer {\n      pendingRequests -= 1\n      hideSpinner()\n    }\n    do {",
      "    do {\n defer {\n      pendingRequests -= 1\n      hideSpinner()\n    }\n", .orderChanged),
    Mutation(
      "counter changed by another amount", "pendingRequests -= 1\n", "pendingRequests -= 2\n",
      .argumentChanged),
    Mutation(
      "failure as an empty result", "else { throw error }", "else { return Receipt.empty }",
      .errorSwallowed),
    Mutation(
      "slow work on the main actor",
      "try await Task.detached(priority: .utility) { try self.compress(self.files) }.value",
      "try compress(files)", .executorChanged),
    Mutation(
      "delegate stopped first",
      "continuation.resume(returning: location)\n        self.manager.stop()",
      "self.manager.stop()\n        continuation.resume(returning: location)", .orderChanged),
    Mutation("delegate not started", "manager.start()\n", "\n", .effectLost),
    Mutation(
      "delegate's errors dropped", "manager.onError = { continuation.resume(throwing: $0) }\n",
      "\n", .effectLost),
    Mutation("recursion without end", "times - 1", "times", .argumentChanged),
    Mutation(
      "recursion with another end", "else { return false }", "else { return true }", .resultChanged),
    Mutation(
      "handler's branches swapped", "if error is Offline", "if !(error is Offline)", .effectLost),
    Mutation("another key", "forKey: \"last\"", "forKey: \"latest\"", .argumentChanged),
    Mutation(
      "step in a function that isn't called", "let url = try await upload(data)",
      "func go() async throws -> URL { try await upload(data) }\n let url = URL(data)", .effectLost),
    Mutation(
      "update in a detached task", "link = url\n", "Task.detached { self.link = url }\n",
      .executorChanged),
    Mutation("longer pause", "1_000_000_000", "10_000_000_000", .argumentChanged),
  ]
}
