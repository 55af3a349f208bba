/* A promise has adopted another one by a link. Its consumer is timed out and that of the adopted
 * promise cancels, or they stay, while another one of its own is attached, and cancels or stays. Then
 * the producer fulfills. It is as if there were no link: the promise is cancelled when its own
 * consumers are gone, the producer is told when nobody is left, and neither before. */
#define CELLS 8
#define LINKS
#define WORK_STARTS (ended == 3)
byte ended;
#include "../Engine/Engine.pml"

#define OUTER 1
#define INNER 5 /* linked to OUTER, and fed by a resolver */
#define OWN 2
#define LATE 3 /* attached to OUTER meanwhile */
#define VIA 4  /* attached to INNER */
#define TIMED_OUT 6

bool hasLeft[CELLS], wasTold;

proctype Consumer(byte handler) {
  LOCALS
  if
  :: handler == LATE -> attach(OUTER, LATE, false)
  :: else -> skip
  fi;
  if
  :: hasLeft[handler] = true;
    if
    :: handler == OWN -> withdraw(OWN, TIMED_OUT, wd_done)
    :: else -> cancel(handler)
    fi
  :: true
  fi;
  ended++
}

proctype Settler() {
  LOCALS
  ended == 3;
  wasTold = told[INNER];
  settle(INNER, FULFILLED)
}

init {
  atomic {
    initEngine();
    run Worker(); /* first, as the last one started must be the first to end */
    rejected(TIMED_OUT);
    /* OUTER has run, and its slot holds what it adopted. */
    input[OUTER] = HANDLER | SHARED;
    slot[OUTER] = INNER;
    output[INNER] = LINKED | REF(OUTER);
    observer(OWN, OUTER);
    observer(LATE, OUTER);
    observer(VIA, OUTER);
    input[VIA] = input[VIA] | VIA_LINK;
    next[OWN] = VIA;
    output[OUTER] = REF(OWN);
    consumers[OUTER] = 2;
    listed[OWN] = true;
    listed[VIA] = true;
    attached = BIT(OWN) | BIT(VIA);
    run Consumer(OWN);
    run Consumer(LATE);
    run Consumer(VIA);
    run Settler()
  };
  theEnd(1);
  byte handler;
  for (handler : OWN .. VIA) {
    assert(runs[handler] == 1 && !listed[handler]);
    assert(found[handler] == FULFILLED || found[handler] == (handler == OWN -> FAILED : DROPPED));
    assert(found[handler] != FULFILLED || !hasLeft[handler])
  }
  /* Who stays goes on, but for one who came when the promise had been cancelled. */
  assert(hasLeft[OWN] || found[OWN] == FULFILLED);
  assert(hasLeft[VIA] || found[VIA] == FULFILLED);
  assert(hasLeft[OWN] || hasLeft[LATE] || found[LATE] == FULFILLED);
  /* OUTER is cancelled if it has no consumer of its own. */
  assert((found[OWN] != FULFILLED && found[LATE] != FULFILLED)
    == (outcome[OUTER] == DROPPED || (input[OUTER] & DISOWNED) != 0));
  /* The producer is told, once, if there is nobody at all. */
  assert(wasTold
    == (found[OWN] != FULFILLED && found[LATE] != FULFILLED && found[VIA] != FULFILLED));
  assert(wasTold == told[INNER] && (outcome[OUTER] == DROPPED) == wasTold);
  assert(settlements[OUTER] == 1);
  assert(slot[INNER] == NONE && (slot[OUTER] == NONE || slot[OUTER] == REJECTION))
}
