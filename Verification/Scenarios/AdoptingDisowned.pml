/* A promise that has adopted another one is cancelled by name while a handler returns it, and while
 * the first observer comes through the link: whoever returned it is cancelled. */
#define CELLS 7
#define LINKS
#define ADOPTS
#define TWO_LISTS
#include "../Engine/Engine.pml"

#define OUTER 1 /* a handler's promise that has adopted INNER */
#define INNER 2 /* fed by a resolver */
#define RETURNS 3 /* a handler that returns OUTER */
#define VIA 4 /* attached to INNER */

byte ended;
byte cell;

proctype Runner() {
  LOCALS
  perform(RETURNS);
  ended++
}

proctype Attacher() {
  LOCALS
  attach(INNER, VIA, false);
  ended++
}

proctype Canceller() {
  LOCALS
  cancel(OUTER);
  ended++
}

proctype Settler() {
  LOCALS
  ended == 3;
  settle(INNER, FULFILLED)
}

init {
  atomic {
    initEngine();
    run Worker(); /* first, as the last one started must be the first to end */
    input[OUTER] = HANDLER;
    feeds[OUTER] = true;
    slot[OUTER] = INNER;
    output[INNER] = LINKED | REF(OUTER);
    derived(RETURNS, CANCELLATION);
    recovers[RETURNS] = true;
    returns[RETURNS] = OUTER;
    observer(VIA, INNER);
    run Runner();
    run Attacher();
    run Canceller();
    run Settler()
  };
  theEnd(1);
  root(OUTER, cell);
  assert(isSettledRoot(cell));
  assert(outcome[cell] == DROPPED || (cell == OUTER && (input[OUTER] & DISOWNED)));
  root(RETURNS, cell);
  assert(isSettledRoot(cell) && runs[VIA] == 1);
  assert(outcome[cell] == DROPPED)
}
