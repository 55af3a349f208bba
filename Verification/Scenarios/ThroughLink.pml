/* A promise has adopted another one by a link, and has no consumer of its own yet: one is attached,
 * and stays or cancels, while the only one of the adopted promise cancels, and the list is swept. Who
 * adopts waits, so the producer goes on until the new one has cancelled, too. */
#define CELLS 7
#define LINKS
#define SWEEP_AT 1
#define TOMBSTONE 2
#include "../Engine/Engine.pml"

#define OUTER 1
#define INNER 5 /* linked to OUTER, and fed by a resolver */
#define LATE 3
#define VIA 4 /* attached to INNER */

byte ended;
bool hasLeft, wasTold;

proctype Attacher() {
  LOCALS
  attach(OUTER, LATE, false);
  if
  :: hasLeft = true; cancel(LATE)
  :: true
  fi;
  ended++
}

proctype Canceller() {
  LOCALS
  cancel(VIA);
  ended++
}

proctype Settler() {
  LOCALS
  ended == 2;
  wasTold = told[INNER];
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
    observer(LATE, OUTER);
    observer(VIA, OUTER);
    input[VIA] = input[VIA] | VIA_LINK;
    output[OUTER] = REF(VIA);
    consumers[OUTER] = 1;
    listed[VIA] = true;
    attached = BIT(VIA);
    run Attacher();
    run Canceller();
    run Settler()
  };
  theEnd(1);
  assert(runs[LATE] == 1 && found[LATE] == (hasLeft -> DROPPED : FULFILLED));
  assert(runs[VIA] == 1 && found[VIA] == DROPPED);
  assert(wasTold == hasLeft && told[INNER] == wasTold);
  assert(outcome[OUTER] == (hasLeft -> DROPPED : FULFILLED))
}
