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

/* Nobody else can settle the cell until it adopts: it is published without a claim. */
inline finish(self) {
  if
  :: input[self] & CANCELLED -> settle(self, DROPPED)
  :: else ->
    publish(self, FULFILLED);
    if
    :: pb_done -> skip
    :: else -> settle(self, FULFILLED)
    fi
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
    if
    :: !pf_isFirst -> settle(handler, pf_result) /* the second visit: copy */
    :: else ->
      if
      :: !feeds[handler] -> skip
      :: feeds[handler] && returns[handler] != NONE && (pf_result == FULFILLED || recovers[handler]) ->
        adopt(handler, returns[handler])
      :: else ->
        if
        :: pf_result == FULFILLED -> finish(handler)
        :: else -> settle(handler, pf_result)
        fi
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
