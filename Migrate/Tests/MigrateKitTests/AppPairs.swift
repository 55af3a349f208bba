/// Ways of writing that conversions in apps have shown.
extension Pair {
  static let apps: [Pair] = [
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
  ]

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

  private static let laterBefore = """
    import PromiseKit
    @MainActor func later() -> Promise<Void> {
      net.save().done { delegate?.presenter(for: self)?.show("later") }
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
}
