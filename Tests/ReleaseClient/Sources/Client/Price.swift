import Pledge
import PromiseKit
import Promises

/// Returns a price from code that uses Google Promises, converted through Pledge.
func price() -> PromiseKit.Promise<Int> {
  let google = Promises.Promise { 20 }.then { $0 + 1 }
  let pledge: Pledge.Promise<Int> = google.pledge.timeout(after: .seconds(10))
  return pledge.map(on: .global) { $0 * 2 }.promiseKit
}
