/* As Losing: one own consumer and one of the adopted promise cancel, and the list is swept each time.
 * A third one goes on, and the promise, too, if that is its own. */
#define CELLS 8
#define LINKS
#define SWEEP_AT 1
#define TOMBSTONE 6
#include "../Engine/Engine.pml"

#define OUTER 1
#define INNER 5 /* linked to OUTER, and fed by a resolver */
#define OWN 2
#define STAYS 3 /* attached to either */
#define VIA 4 /* attached to INNER */

byte ended;
bool staysVia; /* STAYS came through the link */

proctype Consumer(byte handler) {
  LOCALS
  cancel(handler);
  ended++
}

proctype Settler() {
  LOCALS
  ended == 2;
  settle(INNER, FULFILLED)
}

init {
  atomic {
    initEngine();
    run Worker(); /* first, as the last one started must be the first to end */
    /* OUTER has run, and its slot holds what it adopted. */
    input[OUTER] = HANDLER | SHARED;
    slot[OUTER] = INNER;
    output[INNER] = LINKED | REF(OUTER);
    observer(OWN, OUTER);
    observer(STAYS, OUTER);
    observer(VIA, OUTER);
    input[VIA] = input[VIA] | VIA_LINK;
    if
    :: staysVia = true; input[STAYS] = input[STAYS] | VIA_LINK
    :: true
    fi;
    next[OWN] = STAYS;
    next[STAYS] = VIA;
    output[OUTER] = REF(OWN);
    consumers[OUTER] = 3;
    listed[OWN] = true;
    listed[STAYS] = true;
    listed[VIA] = true;
    attached = BIT(OWN) | BIT(STAYS) | BIT(VIA);
    run Consumer(OWN);
    run Consumer(VIA);
    run Settler()
  };
  theEnd(1);
  byte handler;
  for (handler : OWN .. VIA) {
    assert(runs[handler] == 1 && !listed[handler]);
    assert(found[handler] == (handler == STAYS -> FULFILLED : DROPPED))
  }
  assert(((input[OUTER] & DISOWNED) != 0) == staysVia && told[INNER] == 0);
  assert(outcome[OUTER] == FULFILLED && settlements[OUTER] == 1 && output[OUTER] == SETTLED)
}
