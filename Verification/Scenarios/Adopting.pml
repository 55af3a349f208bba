/* Two handlers return the same promise while it settles and the promise of one of them is
 * cancelled: each is settled once, and nobody is cancelled on another's account. */
#define CELLS 6
#define LINKS
#define TWO_LISTS
#include "../Engine/Engine.pml"

#define INNER 1
#define FIRST 2  /* returns INNER, and is observed by 4 */
#define SECOND 3 /* returns INNER, and is cancelled */

byte cell;
bool hasAdopted[CELLS], firstWasThere;

proctype Settler() {
  LOCALS
  settle(INNER, FULFILLED)
}

proctype Runner(byte handler) {
  LOCALS
  perform(handler);
  hasAdopted[handler] = true
}

proctype Canceller() {
  LOCALS
  firstWasThere = hasAdopted[FIRST];
  cancel(SECOND)
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
    observer(4, FIRST);
    output[FIRST] = REF(4);
    consumers[FIRST] = 1;
    listed[4] = true;
    attached = BIT(4);
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
  assert(runs[4] == 1)
}
