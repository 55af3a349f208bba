import Pledge

// Must not compile: each of these closures runs concurrently with the code that wrote it. One error
// a function.

final class Model {
  var count = 0
}

@MainActor var title = ""

func fetch(_ number: Int) -> Promise<Int> { .value(number) }

func nonisolatedCapture(_ model: Model) {
  Promise.value(1).done { number in model.count += number }.cauterize()
}

func mutatedVariable() {
  var sum = 0
  Promise.value(1).done { number in sum += number }.cauterize()
}

func mainActorState() {
  Promise.value(1).done { number in title = "\(number)" }.cauterize()
}

func anExecutorThatIsNotTheMainActor() {
  Promise.value(1).done(on: .global) { number in title = "\(number)" }.cauterize()
}

@MainActor func mainActorStateElsewhere() {
  Promise.value(1).map(on: .global) { number in title = "\(number)" }.cauterize()
}

func retried(_ model: Model) {
  Promise.retry(.fixed(attempts: 2)) { fetch(model.count) }.cauterize()
}

@MainActor func retriedElsewhere() {
  Promise.retry(on: .global, .fixed(attempts: 2)) { fetch(title.count) }.cauterize()
}

func retriedAsync(_ model: Model) async throws {
  _ = try await retry(.fixed(attempts: 2)) { model.count }
}

func limited(_ model: Model) {
  Limiter(2).run { fetch(model.count) }.cauterize()
}

func limitedAsync(_ model: Model) async throws {
  _ = try await Limiter(2).perform { model.count }
}

func bounded(_ model: Model) {
  Promise.all([1, 2], concurrently: 2) { number in fetch(number + model.count) }.cauterize()
}

func boundedAsync(_ model: Model) async throws {
  _ = try await concurrentMap([1, 2], limit: 2) { number in number + model.count }
}

func used(_ model: Model) {
  Promise.using(Promise.value(1), release: { _ in model.count += 1 }) { fetch($0) }.cauterize()
}

func timedOut(_ model: Model) async throws {
  _ = try await withTimeout(.seconds(1)) { model.count }
}

func cancelled(_ model: Model, _ resolver: Resolver<Int>) {
  resolver.onCancel { model.count += 1 }
}

func mappedAsync(_ model: Model) {
  fetch(1).asyncMap { number in number + model.count }.cauterize()
}

func cleanedUp(_ model: Model) {
  fetch(1).finally { model.count += 1 }.cauterize()
}

func replaced(_ model: Model) {
  _ = fetch(1).replaceError { _ in model.count }
}

func coalesced(_ model: Model, _ table: RequestCoalescer<Int, Int>) async throws {
  _ = try await table.value(for: 1) { model.count }
}

func notSendable() {
  _ = Promise.value(Model())
}
