/* Handler.swift: a cell that a handler feeds, and the executor's workers. */

bool hasBody[CELLS];
byte runs[CELLS];
/* The promise that the body returns, or NONE if it returns a value. */
byte returns[CELLS];
/* Whether the body is called with a rejection, too, as that of `recover`. */
bool recovers[CELLS];

/* Whether the handler feeds a promise; that of `observe(on:)` does not. */
bool feeds[CELLS];

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
        assert(runs[handler] == 1)
      :: else -> skip
      fi
    };
    if
    :: !pf_isFirst -> settle(handler, pf_result) /* the second visit: copy */
    :: else ->
      if
      :: !feeds[handler] -> skip
      :: feeds[handler] && returns[handler] != NONE && (pf_result == FULFILLED || recovers[handler]) ->
        adopt(handler, returns[handler])
      :: else ->
        /* finish */
        if
        :: pf_result == FULFILLED && (input[handler] & CANCELLED) -> pf_result = DROPPED
        :: else -> skip
        fi;
        settle(handler, pf_result)
      fi
    fi
  fi;
  pf_source = NONE; pf_result = UNSET
}

#define HANDLER_LOCALS byte pf_source, pf_result; \
  bool pf_isFirst;

/* Never ends; a scenario is over when all other threads have ended and no worker can go on. */
proctype Worker() {
  LOCALS
  byte handler;
end:
  do
  :: ready?handler -> perform(handler)
  od
}

/* Scenario set-up; atomic, before any thread starts. */
inline observer(handler, source) {
  input[handler] = HANDLER;
  slot[handler] = source;
  hasBody[handler] = true
}
inline derived(handler, source) { observer(handler, source); feeds[handler] = true }
inline initEngine() {
  output[CANCELLATION] = SETTLED;
  input[CANCELLATION] = TAKEN;
  outcome[CANCELLATION] = DROPPED;
  slot[CANCELLATION] = REJECTION
}
/* Waits for the end: nothing can go on, and but for `workers` all threads have ended. */
inline theEnd(workers) { timeout; assert(_nr_pr == 1 + workers) }
