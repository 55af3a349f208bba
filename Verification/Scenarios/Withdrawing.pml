/* Two consumers of one promise cancel, one of them while it is attached, and the promise settles: each
 * handler runs once, and the producer is told once if both cancelled in time. */
#define CELLS 5
#include "../Engine/Engine.pml"

#define PROMISE 1

bool hasCancelled[CELLS];

proctype Settler() {
  LOCALS
  if
  :: hasCancelled[2] && hasCancelled[3] -> assert(told[PROMISE] == 1)
  :: else -> skip
  fi;
  settle(PROMISE, FULFILLED)
}

proctype Consumer(byte handler) {
  LOCALS
  if
  :: handler == 2 -> attach(PROMISE, handler, false)
  :: else -> skip
  fi;
  cancel(handler);
  hasCancelled[handler] = true
}

init {
  atomic {
    initEngine();
    run Worker(); /* first, as the last one started must be the first to end */
    observer(2, PROMISE);
    observer(3, PROMISE);
    output[PROMISE] = REF(3); /* 3 is attached already */
    consumers[PROMISE] = 1;
    listed[3] = true;
    attached = BIT(3);
    run Settler();
    run Consumer(2);
    run Consumer(3)
  };
  theEnd(1);
  assert(settlements[PROMISE] == 1);
  assert(output[PROMISE] == SETTLED);
  assert((outcome[PROMISE] == DROPPED) <= told[PROMISE]);
  byte handler;
  for (handler : 2 .. 3) {
    assert(runs[handler] == 1);
    assert(slot[handler] == NONE)
  }
}
