/* Two observers are attached to a new promise, and then one of them cancels: the other one goes
 * on. */
#define CELLS 5
#include "../Engine/Engine.pml"

#define PROMISE 1
#define CANCELS 2
#define STAYS 3

byte ended;

proctype Attacher(byte handler) {
  LOCALS
  attach(PROMISE, handler, false);
  if
  :: handler == CANCELS -> ended == 1; cancel(CANCELS)
  :: else -> skip
  fi;
  ended++
}

proctype Settler() {
  LOCALS
  ended == 2;
  settle(PROMISE, FULFILLED)
}

init {
  atomic {
    initEngine();
    run Worker(); /* first, as the last one started must be the first to end */
    observer(CANCELS, PROMISE);
    observer(STAYS, PROMISE);
    run Attacher(CANCELS);
    run Attacher(STAYS);
    run Settler()
  };
  theEnd(1);
  assert(runs[CANCELS] == 1 && found[CANCELS] == DROPPED);
  assert(runs[STAYS] == 1 && found[STAYS] == FULFILLED);
  assert(told[PROMISE] == 0 && consumers[PROMISE] == 1)
}
