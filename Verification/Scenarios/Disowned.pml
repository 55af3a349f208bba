/* Who attaches to a promise that was cancelled by name before finds it cancelled, whenever the
 * promise settles for the sake of its other observers. */
#define CELLS 7
#define LINKS
#define TWO_LISTS
#include "../Engine/Engine.pml"

#define PROMISE 1
#define ADOPTED 5 /* linked to PROMISE, and observed by 3 */

proctype Settler() {
  LOCALS
  settle(ADOPTED, FULFILLED)
}

proctype Attacher(byte handler) {
  LOCALS
  attach(PROMISE, handler, false)
}

init {
  atomic {
    initEngine();
    run Worker(); /* first, as the last one started must be the first to end */
    observer(2, PROMISE);
    observer(3, ADOPTED);
    output[ADOPTED] = LINKED | REF(PROMISE);
    slot[3] = PROMISE;
    input[3] = input[3] | VIA_LINK;
    input[PROMISE] = SHARED | DISOWNED;
    consumers[PROMISE] = 1;
    output[PROMISE] = REF(3);
    listed[3] = true;
    attached = BIT(3);
    run Settler();
    run Attacher(2)
  };
  theEnd(1);
  assert(runs[2] == 1 && found[2] == DROPPED);
  assert(runs[3] == 1 && found[3] == FULFILLED)
}
