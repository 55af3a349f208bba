/* CancellationRequest.swift: a request climbs to the producer while nobody else wants its cell. */

byte told[CELLS]; /* how often the producer's `onCancel` was called */

/* Goes on at `then`, with `cancelInput`, if that is not NONE. */
inline detach(handler, then) {
  then = NONE;
  pinUnlessTaken(handler, dt_pinned);
  if
  :: !dt_pinned -> skip
  :: else ->
    readSlot(handler, dt_source);
    root(dt_source, dt_a);
    root(handler, dt_b);
    if
    :: dt_source != NONE && dt_a == dt_b -> unpin(handler); then = dt_source
    :: else ->
      writeSlot(handler, CANCELLATION);
      input[handler] = input[handler] | DETACHED;
      unpin(handler);
      deliver(handler);
      if
      :: dt_source != NONE -> root(dt_source, dt_a); loseObserver(dt_a)
      :: else -> skip
      fi
    fi
  fi;
  dt_source = NONE; dt_a = NONE; dt_b = NONE
}

inline loseObserver(self) {
  if
  :: isSettledRoot(self) -> skip
  :: else -> noteDeadObserver(self)
  fi
}

inline cancelInput(self) {
  ci_cell = self;
  do
  :: true ->
    pinUnlessTaken(ci_cell, ci_pinned);
    if
    :: !ci_pinned ->
      fetchOr(input[ci_cell], CANCELLED, ci_old);
      if
      :: ci_old & TAKEN -> break
      :: else -> skip
      fi
    :: else ->
#ifdef MUTANT_TELL_TWICE
      ci_old = input[ci_cell];
      input[ci_cell] = input[ci_cell] | CANCELLED;
      ci_old = ci_old & ~CANCELLED;
#else
      fetchOr(input[ci_cell], CANCELLED, ci_old);
#endif
      if
      :: !(ci_old & HANDLER) ->
        unpin(ci_cell);
        if
        :: ci_old & CANCELLED -> break
        :: else ->
          d_step { told[ci_cell]++; assert(told[ci_cell] == 1) };
          settle(ci_cell, DROPPED);
          break
        fi
      :: else ->
        readSlot(ci_cell, ci_source);
        if
        :: ci_source == NONE ->
          unpin(ci_cell);
          root(ci_cell, ci_parent);
          if
          :: ci_parent == ci_cell -> break
          :: else -> ci_cell = ci_parent
          fi
        :: else ->
          root(ci_source, ci_a);
          root(ci_cell, ci_b);
          unpin(ci_cell);
          if
          :: ci_a == ci_b -> ci_cell = ci_source
          :: else ->
            root(ci_source, ci_parent);
            if
            :: isSettledRoot(ci_parent) ->
              detach(ci_cell, ci_next);
              if
              :: ci_next == NONE -> break
              :: else -> ci_cell = ci_next
              fi
            :: else ->
              if
              :: ci_old & CANCELLED -> break
              :: else ->
                d_step { consumers[ci_parent]--; ci_left = consumers[ci_parent] };
                assert(ci_left >= 0);
                if
                :: ci_left != 0 ->
                  detach(ci_cell, ci_next);
                  if
                  :: ci_next == NONE -> break
                  :: else -> ci_cell = ci_next
                  fi
                :: else -> ci_cell = ci_parent
                fi
              fi
            fi
          fi
        fi
      fi
    fi
  od;
  ci_cell = NONE; ci_source = NONE; ci_parent = NONE; ci_a = NONE; ci_b = NONE; ci_next = NONE
}

inline cancelIfDeserted(self) {
  if
  :: !(output[self] & (LINKED | SETTLED)) ->
    if
    :: consumers[self] == 0 -> cancelInput(self)
    :: else -> skip
    fi
  :: else -> skip
  fi
}

inline withdrawConsumer(self) {
  root(self, wc_cell);
  d_step { consumers[wc_cell]--; ci_left = consumers[wc_cell] };
  assert(ci_left >= 0);
  if
  :: ci_left == 0 && !isSettledRoot(wc_cell) -> cancelInput(wc_cell)
  :: else -> skip
  fi
}

/* Withdraws one handler: what a waiter, a timeout or `cancelOwnObservers` does. The handler finds
 * `replacement`, a rejected cell. `wd_done` says whether it had not started. */
inline withdraw(handler, replacement) {
  wd_done = false;
  pinUnlessTaken(handler, wd_pinned);
  if
  :: !wd_pinned -> skip
  :: else ->
    readSlot(handler, wd_source);
    wd_linked = NONE;
#ifndef MUTANT_WITHDRAW_IGNORES_LINKS
    if
    :: wd_source != NONE ->
      root(wd_source, wd_a);
      root(handler, wd_b);
      if
      :: wd_a == wd_b -> wd_linked = wd_source
      :: else -> skip
      fi
    :: else -> skip
    fi;
#endif
    if
    :: wd_linked != NONE -> unpin(handler); cancelInput(wd_linked)
    :: else ->
      fetchOr(input[handler], (replacement == CANCELLATION -> CANCELLED : 0) | DETACHED, wd_old);
      if
      :: wd_source == NONE || (wd_old & DETACHED) -> unpin(handler)
      :: else ->
        writeSlot(handler, replacement);
        unpin(handler);
        wd_done = true;
        deliver(handler);
        root(wd_source, wd_a);
        if
        :: wd_old & CANCELLED -> skip
        :: else -> withdrawConsumer(wd_a)
        fi;
        loseObserver(wd_a)
      fi
    fi
  fi;
  wd_source = NONE; wd_a = NONE; wd_b = NONE; wd_linked = NONE
}

inline cancelOwnObservers(self) {
  do
  :: true ->
    co_word = output[self]; /* a read-modify-write: see Ordering */
    if
    :: (co_word & (SETTLED | LINKED)) || (co_word & ~CLAIMED) == 0 -> break
    :: else -> skip
    fi;
#ifdef MUTANT_GIVE_UP_IF_OWNED
    if
    :: co_word & OWNED -> break
    :: else -> skip
    fi;
#endif
    takeObservers(self, co_list);
    if
    :: co_list != NONE -> cancelOwn(self); break
    :: else -> !(output[self] & OWNED) /* Backoff */
    fi
  od;
  co_word = 0; co_list = NONE
}

/* Observers as bits: the array `own`. */
inline cancelOwn(self) {
  co_own = 0;
  co_node = co_list;
  do
  :: co_node != NONE ->
    if
    :: input[co_node] & (VIA_LINK | DETACHED) -> skip
    :: else -> co_own = co_own | BIT(co_node)
    fi;
    co_node = next[co_node]
  :: else -> break
  od;
#ifdef MUTANT_RELEASE_BEFORE_DELIVERY
  /* `owned` goes first, and comes back for the delivery: a latecomer slips in between. */
  append(co_list, POINTER(output[self]));
  output[self] = (output[self] & ~OWNED) | (POINTER(output[self]) == NONE -> REF(co_list) : 0);
  if
  :: output[self] & SETTLED ->
    exchange(output[self], SETTLED | OWNED, co_list);
    co_list = POINTER(co_list);
    deliverAll(self, co_list)
  :: else -> skip
  fi;
#else
  putBack(self, co_list);
#endif
  co_node = 1;
  do
  :: co_own == 0 -> break
  :: else ->
    if
    :: co_own & BIT(co_node) -> co_own = co_own & ~BIT(co_node); withdraw(co_node, CANCELLATION)
    :: else -> skip
    fi;
    co_node++
  od;
  co_node = NONE
}

inline cancel(self) {
  root(self, ca_root);
  if
  :: isSettledRoot(ca_root) -> skip
  :: else ->
    if
    :: ca_root == self && (input[ca_root] & SHARED) && consumers[ca_root] > 0 ->
      input[ca_root] = input[ca_root] | DISOWNED;
      cancelOwnObservers(ca_root)
    :: else -> cancelInput(ca_root)
    fi
  fi;
  ca_root = NONE
}

#define CANCELLATION_LOCALS \
  byte dt_source, dt_a, dt_b, ci_cell, ci_old, ci_source, ci_parent, ci_a, ci_b, ci_next; \
  byte wc_cell, wd_source, wd_a, wd_b, wd_old, wd_linked, co_node, co_list, co_word, ca_root; \
  short ci_left, co_own; \
  bool dt_pinned, ci_pinned, wd_pinned, wd_done;
