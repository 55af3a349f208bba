/* Two handlers return the same promise while it settles: each is settled once, with its result. */
#define CELLS 6
#define LINKS
#define ADOPTS
#define TWO_LISTS
#include "../Engine/Engine.pml"

#define INNER 1
#define FIRST 2  /* returns INNER, and is observed by 4 */
#define SECOND 3 /* returns INNER */

byte cell;

proctype Settler() {
  LOCALS
  settle(INNER, FULFILLED)
}

proctype Runner(byte handler) {
  LOCALS
  perform(handler)
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
    run Runner(SECOND)
  };
  theEnd(1);
  byte handler;
  for (handler : INNER .. SECOND) {
    root(handler, cell);
    assert(isSettledRoot(cell) && outcome[cell] == FULFILLED);
    /* Nothing that a settled cell waited for is held any longer. */
    assert(slot[handler] == NONE)
  }
  assert(runs[FIRST] == 1 && runs[SECOND] == 1);
  assert(runs[4] == 1 && found[4] == FULFILLED)
}
