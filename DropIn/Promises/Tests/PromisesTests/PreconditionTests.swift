import Promises
import Testing

// A failed precondition ends the process, so these tests run in processes of their own.

@Test func do_whenTheTypesDoNotFit_failsWhenTheValueIsRead() async {
  await #expect(processExitsWith: .failure) {
    _ = try awaitPromise(Promise<Int>(on: .global()) { "text" })
  }
}

@Test func asMaybe_whenTheTypesDoNotFit_fails() async {
  await #expect(processExitsWith: .failure) { let _: Maybe<Int> = asMaybe("text" as AnyObject) }
}

#if DEBUG
  @Test func race_ofNothing_fails() async {
    await #expect(processExitsWith: .failure) { _ = race([Promise<Int>]()) }
  }
#endif
