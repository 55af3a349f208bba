import PromiseKit
import Support

// The same for PromiseKit.
func overloads() {
  let promise: Promise<Int> = openKit().then { $0.send() }  // only
  let guarantee: Promise<Int> = openKit().then { $0.archive() }  // only
  let mapped: Promise<Int> = openKit().map { $0.total() }  // only
  let number: Int = openPlain().map { $0 + 1 }  // none
  let index: Int = openPlain().get { $0 }  // none
  let list: [Int] = openPlain().rows.map { $0 + 1 }  // none
  let recovered: Promise<Ledger> = openKit().recover { _ in openKit() }  // promise
  let safe: Guarantee<Int> = promise.recover { _ in openPlain().archive() }  // guarantee
  let void: Guarantee<Void> = openKit().asVoid().recover { _ in openPlain().close() }  // guarantee
  let thrown: Promise<Void> = openKit().asVoid().recover { throw $0 }  // promise
  let kept: Promise<Ledger> = openKit().get { $0.close() }  // only
  let done: Promise<Void> = openKit().done { $0.close() }  // only
  _ = (promise, guarantee, mapped, number, index, list, recovered, safe, void, thrown, kept, done)
}
