/* A promise that has adopted another one is cancelled by name while it settles: only its own
 * observers are cancelled, those of the adopted promise are not, and all are delivered in order. */
#define CELLS 7
#define LINKS
#include "../Engine/Engine.pml"

#define PROMISE 1
#define ADOPTED 5 /* linked to PROMISE */

proctype Settler() {
  LOCALS
  settle(ADOPTED, FULFILLED)
}

proctype Attacher(byte source; byte handler) {
  LOCALS
  attach(source, handler, false)
}

proctype Canceller() {
  LOCALS
  cancel(PROMISE)
}

init {
  atomic {
    initEngine();
    run Worker(); /* first, as the last one started must be the first to end */
    observer(3, ADOPTED);
    observer(4, PROMISE);
    output[ADOPTED] = LINKED | REF(PROMISE);
    /* Handler 3 stands there already, attached through the link. */
    slot[3] = PROMISE;
    input[3] = input[3] | VIA_LINK;
    input[PROMISE] = SHARED;
    consumers[PROMISE] = 1;
    output[PROMISE] = REF(3);
    listed[3] = true;
    attached = BIT(3);
    run Settler();
    run Attacher(PROMISE, 4);
    run Canceller()
  };
  theEnd(1);
  assert(settlements[PROMISE] == 1);
  assert(outcome[PROMISE] == FULFILLED && told[PROMISE] == 0);
  assert(output[PROMISE] == SETTLED);
  byte handler;
  for (handler : 3 .. 4) {
    assert(runs[handler] == 1)
  }
}
