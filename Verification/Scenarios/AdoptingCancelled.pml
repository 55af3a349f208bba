/* Two handlers return the same promise, which settles when all else is done, and the promise of one
 * of them is cancelled: nobody is cancelled on another's account, and each is settled once. */
#define CELLS 6
#define LINKS
#define ADOPTS
#define TWO_LISTS
#include "../Engine/Engine.pml"

#define INNER 1
#define FIRST 2  /* returns INNER */
#define SECOND 3 /* returns INNER, and is cancelled */

byte cell, ended;
bool hasAdopted[CELLS], firstWasThere;

proctype Settler() {
  LOCALS
  ended == 3;
  settle(INNER, FULFILLED)
}

proctype Runner(byte handler) {
  LOCALS
  perform(handler);
  d_step { hasAdopted[handler] = true; ended++ }
}

proctype Canceller() {
  LOCALS
  firstWasThere = hasAdopted[FIRST];
  cancel(SECOND);
  ended++
}

init {
  atomic {
    initEngine();
    run Worker(); /* first, as the last one started must be the first to end */
    derived(FIRST, CANCELLATION);
    derived(SECOND, CANCELLATION);
    recovers[FIRST] = true;
    recovers[SECOND] = true;
    returns[FIRST] = INNER;
    returns[SECOND] = INNER;
    run Settler();
    run Runner(FIRST);
    run Runner(SECOND);
    run Canceller()
  };
  theEnd(1);
  byte handler;
  for (handler : FIRST .. SECOND) {
    assert(runs[handler] == 1);
    root(handler, cell);
    assert(isSettledRoot(cell));
    /* Nothing that a settled cell waited for is held any longer. */
    assert(slot[handler] == NONE || slot[handler] == REJECTION)
  }
  root(INNER, cell);
  assert(isSettledRoot(cell));
  assert(slot[INNER] == NONE || slot[INNER] == REJECTION);
  /* The cancellation of SECOND is none of FIRST's business. */
  root(FIRST, cell);
  assert(outcome[cell] == FULFILLED || !firstWasThere);
  /* It came before INNER settled, so it is not lost, whatever SECOND was about. */
  root(SECOND, cell);
  assert(cell == SECOND && (outcome[SECOND] == DROPPED || (input[SECOND] & DISOWNED)))
}
