/// One meaning that is written in several ways.
extension Pair {
  static let syntax: [Pair] =
    [
      "guard case let page? = cache.page(id) else",
      "guard case .some(let page) = cache.page(id) else",
      "guard case let .some(page) = cache.page(id) else",
      "guard case let Optional.some(page) = cache.page(id) else",
    ].map { Pair("optional pattern: \($0)", openBefore, openAfter($0), finds: []) } + [
      Pair(
        "optional pattern of if", openBefore,
        """
        @MainActor func open(_ id: Int) async throws -> Page {
          if case let page? = cache.page(id) {
            log.write(page)
            return page
          }
          return try await net.page(id)
        }
        """,
        finds: []),
      Pair(
        "optional patterns of switch", openBefore,
        """
        @MainActor func open(_ id: Int) async throws -> Page {
          switch cache.page(id) {
          case let page?:
            log.write(page)
            return page
          case nil:
            return try await net.page(id)
          }
        }
        """,
        finds: []),
      Pair(
        "patterns of switch over an optional value", openBefore,
        """
        @MainActor func open(_ id: Int) async throws -> Page {
          switch cache.page(id) {
          case .none: return try await net.page(id)
          case .some(let page):
            log.write(page)
            return page
          }
        }
        """,
        finds: []),
      Pair(
        "optional patterns of switch swapped", openBefore,
        """
        @MainActor func open(_ id: Int) async throws -> Page {
          switch cache.page(id) {
          case nil:
            let page = cache.page(id)
            log.write(page)
            return page
          case _?:
            return try await net.page(id)
          }
        }
        """,
        finds: [.effectLost, .effectAdded, .resultChanged]),
      Pair(
        "optional pattern of while",
        """
        import PromiseKit
        @MainActor func drain() -> Promise<Void> {
          while let job = queue.pop() { log.write(job) }
          return net.flush()
        }
        """,
        """
        @MainActor func drain() async throws {
          while case let job? = queue.pop() { log.write(job) }
          try await net.flush()
        }
        """,
        finds: []),
    ]
    + [
      "enum Network { static func get(_ number: Int) -> Promise<Row> { load(number) } }",
      "enum Network {}",
      "import Client",
    ].map { declaration in
      Pair(
        "function of a type with the name of an operator: \(declaration)",
        """
        import PromiseKit
        \(declaration)
        @MainActor func row(_ number: Int) -> Promise<Row> {
          return Network.get(number)
        }
        @MainActor func rows(_ number: Int) -> Promise<Row> {
          firstly { Network.get(number) }.get { log.write($0) }
        }
        """,
        """
        \(declaration)
        @MainActor func row(_ number: Int) async throws -> Row {
          try await Network.get(number)
        }
        @MainActor func rows(_ number: Int) async throws -> Row {
          let row = try await Network.get(number)
          log.write(row)
          return row
        }
        """,
        finds: [])
    } + [
      Pair(
        "method of a value with the name of an operator",
        """
        import PromiseKit
        final class Feed: UIViewController {
          let client: Client
          let store = Store()
          func row(_ number: Int) -> Promise<Row> { client.get(number) }
          func undo(_ change: Change) -> Promise<Row> { return store.recover(change) }
        }
        """,
        """
        final class Feed: UIViewController {
          let client: Client
          let store = Store()
          func row(_ number: Int) async throws -> Row { try await client.get(number) }
          func undo(_ change: Change) async throws -> Row { try await store.recover(change) }
        }
        """,
        finds: []),
      Pair(
        "written type in place of init",
        """
        import PromiseKit
        @MainActor func icon(_ name: String) -> Promise<Icon> {
          firstly { net.image(name) }.map { image -> Icon in
            return .init(image: image, isFinal: true)
          }.recover { _ -> Promise<Icon> in
            let plain: Icon = .init(image: generic, isFinal: false)
            log.write(plain)
            return .value(.init(image: generic, isFinal: true))
          }
        }
        """,
        """
        @MainActor func icon(_ name: String) async throws -> Icon {
          do {
            return Icon(image: try await net.image(name), isFinal: true)
          } catch where !error.isCancelled {
            log.write(Icon(image: generic, isFinal: false))
            return Icon(image: generic, isFinal: true)
          }
        }
        """,
        finds: []),
      Pair(
        "guard in place of an optional receiver", laterBefore,
        """
        @MainActor func later() async throws {
          try await net.save()
          guard let presenter = delegate?.presenter(for: self) else { return }
          presenter.show("later")
        }
        """,
        finds: []),
      Pair(
        "guard that skips more than an optional receiver", laterBefore,
        """
        @MainActor func later() async throws {
          guard let presenter = delegate?.presenter(for: self) else { return }
          try await net.save()
          presenter.show("later")
        }
        """,
        finds: [.effectLost]),
      Pair(
        "names that are assigned together",
        """
        import PromiseKit
        @MainActor func header(_ isForced: Bool) -> Promise<String> {
          firstly { () -> Promise<(String, Date)> in
            isForced ? renew() : current()
          }.map { token, date in
            log.write(date)
            return format(token)
          }
        }
        """,
        """
        @MainActor func header(_ isForced: Bool) async throws -> String {
          let token: String
          let date: Date
          if isForced {
            (token, date) = try await renew()
          } else {
            (token, date) = try await current()
          }
          log.write(date)
          return format(token)
        }
        """,
        finds: []),
      Pair(
        "results in tap", renewBefore,
        """
        @MainActor func renewed() async throws -> Token {
          do {
            let token = try await renew()
            log.write("renewed")
            return token
          } catch {
            log.write(error)
            throw error
          }
        }
        """,
        finds: []),
      Pair(
        "results in tap exchanged", renewBefore,
        """
        @MainActor func renewed() async throws -> Token {
          do {
            let token = try await renew()
            log.write("renewed")
            return token
          } catch {
            log.write("renewed")
            throw error
          }
        }
        """,
        finds: [.argumentChanged]),
      Pair(
        "error of the value with which a handler recovers",
        """
        import PromiseKit
        @MainActor func image() -> Promise<Image> {
          net.image().recover(policy: .allErrors) { error -> Promise<Image> in
            log.write(error)
            return try .value(draw(error))
          }
        }
        """,
        """
        @MainActor func image() async throws -> Image {
          do {
            return try await net.image()
          } catch {
            log.write(error)
            return try draw(error)
          }
        }
        """,
        finds: []),
      Pair(
        "case that is caught and thrown again", coverBefore,
        """
        @MainActor func cover() async throws -> Image {
          do {
            return try await net.cover()
          } catch CoverError.none {
            throw CoverError.none
          } catch {
            log.write(error)
            return generic
          }
        }
        """,
        finds: []),
      Pair(
        "case that is caught as another one", coverBefore,
        """
        @MainActor func cover() async throws -> Image {
          do {
            return try await net.cover()
          } catch CoverError.none {
            throw CoverError.missing
          } catch {
            log.write(error)
            return generic
          }
        }
        """,
        finds: [.errorChanged]),
      Pair(
        "opposite comparison, and types that are known from elsewhere",
        """
        import PromiseKit
        @MainActor func send(_ job: Job) -> Promise<Receipt> {
          if job.number >= 0 { return post(job) }
          return firstly { net.number() }.map { number in
            return .init(number: number, isNew: true)
          }
        }
        """,
        """
        @MainActor func send(_ job: Job) async throws -> Receipt {
          guard job.number < 0 else { return try await post(job) }
          let receipt: Receipt
          let number = try await net.number()
          receipt = .init(number: number, isNew: true)
          return receipt
        }
        """,
        finds: []),
      Pair(
        "other type in place of init",
        """
        import PromiseKit
        @MainActor func send(_ job: Job) -> Promise<Receipt> {
          return firstly { net.number() }.map { number in
            return .init(number: number, isNew: true)
          }
        }
        """,
        """
        @MainActor func send(_ job: Job) async throws -> Receipt {
          return Copy(number: try await net.number(), isNew: true)
        }
        """,
        finds: [.resultChanged]),
      Pair(
        "work before the result of a child task",
        """
        import PromiseKit
        @MainActor func page() -> Promise<Page> {
          let image = firstly { net.image() }.get { log.write($0) }
          return firstly { net.text() }.get { show($0) }.then { text in
            image.map { Page(text, $0) }
          }
        }
        """,
        """
        @MainActor func page() async throws -> Page {
          async let image = logged()
          let text = try await net.text()
          show(text)
          return Page(text, try await image)
        }
        @MainActor func logged() async throws -> Image {
          let image = try await net.image()
          log.write(image)
          return image
        }
        """,
        finds: []),
      Pair(
        "other function of a type with the name of an operator",
        """
        import PromiseKit
        @MainActor func row(_ number: Int) -> Promise<Row> { Network.get(number) }
        """,
        """
        @MainActor func row(_ number: Int) async throws -> Row { try await Network.load(number) }
        """,
        finds: [.callReplaced, .effectLost]),
      Pair(
        "operators of a promise under another name",
        """
        import PromiseKit
        typealias Response<T> = Promise<T>
        @MainActor func row(_ response: Response<Row>) -> Promise<Row> { response.get(show) }
        """,
        """
        typealias Response<T> = Promise<T>
        @MainActor func row(_ response: Response<Row>) async throws -> Row {
          let row = try await response.value
          show(row)
          return row
        }
        """,
        finds: []),
    ]

  private static let laterBefore = """
    import PromiseKit
    @MainActor func later() -> Promise<Void> {
      net.save().done { delegate?.presenter(for: self)?.show("later") }
    }
    """

  private static let renewBefore = """
    import PromiseKit
    @MainActor func renewed() -> Promise<Token> {
      renew().tap { result in
        switch result {
        case .fulfilled: log.write("renewed")
        case let .rejected(error): log.write(error)
        }
      }
    }
    """

  private static let coverBefore = """
    import PromiseKit
    @MainActor func cover() -> Promise<Image> {
      net.cover().recover(policy: .allErrors) { error -> Promise<Image> in
        if case CoverError.none = error { throw error }
        log.write(error)
        return .value(generic)
      }
    }
    """

  private static let openBefore = """
    import PromiseKit
    @MainActor func open(_ id: Int) -> Promise<Page> {
      guard let page = cache.page(id) else { return net.page(id) }
      log.write(page)
      return .value(page)
    }
    """

  private static func openAfter(_ condition: String) -> String {
    """
    @MainActor func open(_ id: Int) async throws -> Page {
      \(condition) { return try await net.page(id) }
      log.write(page)
      return page
    }
    """
  }
}
