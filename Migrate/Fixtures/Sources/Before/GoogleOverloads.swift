import Promises
import Support

// Only types decide these: `check-fixtures` compares what an index says with what is written at the
// end of each line, and the annotations of the constants make the compiler confirm it.
func googleOverloads() {
  let promise: Promise<Int> = openGoogle().then { $0.audit() }  // promise
  let value: Promise<Int> = openGoogle().then { $0.total() }  // value
  let nothing: Promise<Ledger> = openGoogle().then { $0.close() }  // nothing
  let rows: Promise<[Int]> = openGoogle().then { $0.rows }  // value
  let inner: Promise<[Int]> = openGoogle().then(on: .main) { $0.rows.map(abs) }  // value
  let function: Promise<Int> = openGoogle().then(\.rows.count)  // value
  let other: Promise<Ledger> = openGoogle().recover { _ in openGoogle() }  // promise
  let plain: Promise<Ledger> = openGoogle().recover { _ in openPlain() }  // value
  let passed: Promise<Ledger> = openGoogle().catch { _ in }  // only
  let number: Int = openPlain().map { $0 + 1 }  // none
  _ = (promise, value, nothing, rows, inner, function, other, plain, passed, number)
}
