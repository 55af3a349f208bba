/* A resolver is dropped while its promise is cancelled, or that of the handler which returned it:
 * the promise settles, and if with CancellationError, then the producer was told, once. */
#define CELLS 6
#define LINKS
#include "../Engine/Engine.pml"

#define OUTER 1 /* a handler's promise, observed by 2 */
#define INNER 3 /* fed by the resolver */

byte waitsFor;

proctype Dropper() {
  LOCALS
  dropResolver(INNER)
}

proctype Canceller() {
  LOCALS
  cancel(waitsFor)
}

init {
  atomic {
    initEngine();
    run Worker(); /* first, as the last one started must be the first to end */
    if
    :: waitsFor = INNER
    :: waitsFor = OUTER;
      input[OUTER] = HANDLER;
      slot[OUTER] = INNER;
      output[INNER] = LINKED | REF(OUTER)
    fi;
    observer(2, waitsFor);
    output[waitsFor] = output[waitsFor] | REF(2);
    listed[2] = true;
    attached = BIT(2);
    run Dropper();
    run Canceller()
  };
  theEnd(1);
  assert(settlements[waitsFor] == 1 && runs[2] == 1 && found[2] == outcome[waitsFor]);
  assert(outcome[waitsFor] == FAILED || (outcome[waitsFor] == DROPPED && told[INNER] == 1));
  assert(slot[INNER] == NONE || slot[INNER] == REJECTION);
  assert(slot[OUTER] == NONE || slot[OUTER] == REJECTION)
}
