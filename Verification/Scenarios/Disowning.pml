/* As OwnObservers, but an observer comes through the link at the same time, and the promise settles
 * when all is done: its own observer was cancelled, whenever it came. */
#define CELLS 7
#define LINKS
#define TWO_LISTS
#include "../Engine/Engine.pml"

#define PROMISE 1
#define ADOPTED 5 /* linked to PROMISE */

bool isDisowned, isDone[CELLS];

proctype Attacher(byte source; byte handler) {
  LOCALS
  attach(source, handler, false);
  isDone[handler] = true
}

proctype Canceller() {
  LOCALS
  input[PROMISE] & SHARED;
  cancel(PROMISE);
  isDisowned = true
}

proctype Settler() {
  LOCALS
  isDisowned && isDone[2] && isDone[3];
  settle(ADOPTED, FULFILLED)
}

init {
  atomic {
    initEngine();
    run Worker(); /* first, as the last one started must be the first to end */
    observer(2, PROMISE);
    observer(3, ADOPTED);
    output[ADOPTED] = LINKED | REF(PROMISE);
    run Attacher(PROMISE, 2);
    run Attacher(ADOPTED, 3);
    run Canceller();
    run Settler()
  };
  theEnd(1);
  assert(settlements[PROMISE] == 1 && output[PROMISE] == SETTLED);
  assert(runs[2] == 1 && found[2] == DROPPED);
  /* Who comes through the link goes on, unless nobody had come when the promise was cancelled. */
  assert(runs[3] == 1 && found[3] == outcome[PROMISE]);
  assert(outcome[PROMISE] == (told[PROMISE] -> DROPPED : FULFILLED))
}
