/* A timeout withdraws an observer, which is cancelled and has its source settled meanwhile: it runs
 * once, and its interest in the source is taken back once. */
#define CELLS 6
#include "../Engine/Engine.pml"

#define PROMISE 1
#define TIMED_OUT 4

bool hasWithdrawn;

proctype Settler() {
  LOCALS
  settle(PROMISE, FULFILLED)
}

proctype Timer() {
  LOCALS
  withdraw(2, TIMED_OUT, wd_done);
  hasWithdrawn = wd_done
}

proctype Canceller() {
  LOCALS
  cancel(2)
}

init {
  atomic {
    initEngine();
    run Worker(); /* first, as the last one started must be the first to end */
    rejected(TIMED_OUT);
    derived(2, PROMISE);
    observer(3, PROMISE);
    next[2] = 3;
    output[PROMISE] = REF(2);
    consumers[PROMISE] = 2;
    listed[2] = true;
    listed[3] = true;
    attached = BIT(2) | BIT(3);
    run Settler();
    run Timer();
    run Canceller()
  };
  theEnd(1);
  assert(runs[2] == 1 && settlements[2] == 1);
  assert(!hasWithdrawn || found[2] != FULFILLED);
  assert(hasWithdrawn || found[2] != FAILED);
  /* The other consumer is none of their business. */
  assert(runs[3] == 1 && found[3] == FULFILLED);
  assert(consumers[PROMISE] >= 1 && told[PROMISE] == 0)
}
