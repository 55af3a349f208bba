/* A promise is abandoned while an observer withdraws and has the list swept: who withdrew in time hears of it, the rest is dropped, and nothing is held any longer. */
#define CELLS 6
#define SWEEP_AT 1
#define TOMBSTONE 3
#define ABANDONS
#include "../Engine/Engine.pml"

#define PROMISE 1

proctype Abandoner() {
  LOCALS
  abandon(PROMISE)
}

proctype Withdrawer(byte handler) {
  LOCALS
  withdraw(handler, CANCELLATION, wd_done)
}

init {
  atomic {
    initEngine();
    run Worker(); /* first, as the last one started must be the first to end */
    derived(2, PROMISE);
    observer(4, PROMISE);
    /* 4 and above it 2 stand in the list; a third consumer keeps 2 from being the last one. */
    next[2] = 4;
    output[PROMISE] = REF(2);
    consumers[PROMISE] = 3;
    listed[2] = true;
    listed[4] = true;
    run Abandoner();
    run Withdrawer(2)
  };
  theEnd(1);
  assert(IS_ABANDONED(output[PROMISE]) && slot[PROMISE] == NONE);
  byte handler;
  for (handler : 2 .. 4) {
    if
    :: handler == 3 -> handler = 4 /* that is the tombstone */
    :: else -> skip
    fi;
    assert(!listed[handler] && !hasBody[handler]);
    assert(slot[handler] == NONE || slot[handler] == REJECTION);
    assert(runs[handler] == ((input[handler] & DETACHED) != 0))
  }
  assert(!(input[2] & DETACHED) || settlements[2] == 1)
}
