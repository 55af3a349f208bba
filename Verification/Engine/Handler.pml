/* Handler.swift: a cell that a handler feeds, and the executor's workers. */

bool hasBody[CELLS];
byte runs[CELLS];
byte found[CELLS]; /* what it ran with */
/* The promise that the body returns, or NONE if it returns a value. */
byte returns[CELLS];
/* Whether the body is called with a rejection, too, as that of `recover`. */
bool recovers[CELLS];

/* Whether the handler feeds a promise; that of `observe(on:)` does not. */
bool feeds[CELLS];

/* Nobody else can settle the cell until it adopts: it is published without a claim. `result` is what
 * remains to be settled with, or UNSET; so it is in `adopt`. */
inline finish(self, result) {
  if
  :: input[self] & CANCELLED -> result = DROPPED
  :: else ->
    publish(self, FULFILLED);
    result = (pb_done -> UNSET : FULFILLED);
    pb_done = false
  fi
}

inline perform(handler) {
  takeSlot(handler, pf_source);
  if
  :: pf_source == NONE -> skip
  :: else ->
    d_step {
      readResult(pf_source, pf_result);
      pf_isFirst = hasBody[handler];
      if
      :: pf_isFirst ->
        hasBody[handler] = false;
        runs[handler]++;
        found[handler] = pf_result;
        assert(runs[handler] == 1)
      :: else -> skip
      fi
    };
    pf_isFirst = pf_isFirst && feeds[handler];
    if
    :: pf_isFirst && returns[handler] && (pf_result == FULFILLED || recovers[handler]) ->
      adopt(handler, returns[handler], pf_result)
    :: pf_isFirst && !returns[handler] && pf_result == FULFILLED -> finish(handler, pf_result)
    :: else -> skip /* the error flows on */
    fi;
    /* On the second visit, this is copy. */
    if
    :: feeds[handler] && pf_result != UNSET -> settle(handler, pf_result)
    :: else -> skip
    fi
  fi;
  pf_source = NONE; pf_result = UNSET; pf_isFirst = false
}

#define HANDLER_LOCALS byte pf_source, pf_result; \
  bool pf_isFirst;

/* When the workers start: a scenario that has enough else to go through lets them wait. */
#ifndef WORK_STARTS
#define WORK_STARTS true
#endif

/* Never ends; a scenario is over when all other threads have ended and no worker can go on. */
proctype Worker() {
  LOCALS
  byte handler;
  WORK_STARTS;
end:
  do
  :: ready?handler -> perform(handler); handler = NONE
  od
}

/* Scenario set-up; atomic, before any thread starts. */
inline observer(handler, source) {
  input[handler] = HANDLER;
  slot[handler] = source;
  hasBody[handler] = true
}
inline derived(handler, source) { observer(handler, source); feeds[handler] = true }
/* A cell born settled. */
inline rejected(self) {
  output[self] = SETTLED;
  input[self] = TAKEN;
  outcome[self] = FAILED;
  slot[self] = REJECTION
}
inline initEngine() {
  byte i;
  for (i : 1 .. CELLS - 1) { consumers[i] = 1 }
#ifdef SWEEP_AT
  input[TOMBSTONE] = HANDLER | TAKEN | DETACHED;
#endif
  rejected(CANCELLATION); outcome[CANCELLATION] = DROPPED
}
/* Waits for the end: nothing can go on, and but for `workers` all threads have ended. */
inline theEnd(workers) { timeout; assert(_nr_pr == 1 + workers) }
