/* Two threads settle a promise, two attach three observers: one settlement, all observers are
 * delivered, in order. */
#define CELLS 6
#include "../Engine/Engine.pml"

#define PROMISE 1

proctype Settler(byte result) {
  LOCALS
  settle(PROMISE, result)
}

proctype Attacher(byte first; byte last) {
  LOCALS
  byte handler = first;
  do
  :: handler <= last -> attach(PROMISE, handler, false); handler++
  :: else -> break
  od
}

init {
  atomic {
    initEngine();
    run Worker(); /* first, as the last one started must be the first to end */
    observer(2, PROMISE);
    observer(3, PROMISE);
    observer(4, PROMISE);
    run Settler(FULFILLED);
    run Settler(FAILED);
    run Attacher(2, 3);
    run Attacher(4, 4)
  };
  theEnd(1);
  assert(settlements[PROMISE] == 1);
  assert(output[PROMISE] == SETTLED);
  byte handler;
  for (handler : 2 .. 4) {
    assert(runs[handler] == 1)
  }
}
