/* An observer withdraws, and so has the list swept, while another is attached and the promise
 * settles: the living are delivered, once and in order, and the dead are gone. */
#define CELLS 7
#define SWEEP_AT 1
#define TOMBSTONE 5
#include "../Engine/Engine.pml"

#define PROMISE 1

proctype Settler() {
  LOCALS
  settle(PROMISE, FULFILLED)
}

proctype Withdrawer(byte handler) {
  LOCALS
  withdraw(handler, CANCELLATION, wd_done)
}

proctype Attacher(byte handler) {
  LOCALS
  attach(PROMISE, handler, false)
}

init {
  atomic {
    initEngine();
    run Worker(); /* first, as the last one started must be the first to end */
    observer(2, PROMISE);
    observer(3, PROMISE);
    observer(4, PROMISE);
    /* 4 and above it 2 stand in the list; a third consumer keeps 2 from being the last one. */
    next[2] = 4;
    output[PROMISE] = REF(2);
    consumers[PROMISE] = 3;
    listed[2] = true;
    listed[4] = true;
    attached = BIT(2) | BIT(4);
    run Settler();
    run Withdrawer(2);
    run Attacher(3)
  };
  theEnd(1);
  assert(output[PROMISE] == SETTLED);
  byte handler;
  for (handler : 2 .. 4) {
    assert(runs[handler] == 1);
    assert(!listed[handler])
  }
}
