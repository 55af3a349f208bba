/* CancellationRequest.swift: a request climbs to the producer while nobody else wants its cell. */

byte told[CELLS]; /* how often the producer's `onCancel` was called */

inline detach(handler) {
  pinUnlessTaken(handler, dt_pinned);
  if
  :: !dt_pinned -> skip
  :: else ->
    readSlot(handler, dt_source);
    root(dt_source, dt_a);
    root(handler, dt_b);
    if
    :: dt_source != NONE && dt_a == dt_b ->
      unpin(handler);
      ci_todo = ci_todo | BIT(dt_source) /* cancelInput */
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
  dt_source = NONE; dt_a = NONE; dt_b = NONE; dt_pinned = false
}

inline loseObserver(self) {
  if
  :: isSettledRoot(self) -> skip
  :: else -> noteDeadObserver(self)
  fi
}

/* Takes back the interest of one consumer; the count and the flags are one word. */
inline loseConsumer(self, viaLink, isDeserted) {
  d_step {
    consumers[self]--;
    assert(consumers[self] >= 0);
#ifdef MUTANT_FORGET_LINKS
    isDeserted = consumers[self] == 0
#else
    isDeserted = consumers[self] == 0 && (!(viaLink) || (input[self] & DISOWNED))
#endif
  }
}

/* The functions of the Swift file call each other in a circle, which inlines cannot. So each of them
 * leaves what it would call last to this loop: the cells for `cancelInput` in `ci_todo`, a set of
 * bits, and one for `disownIfLeft` in `ci_lost`, for `disown` in `ci_left`. */
inline goOn() {
  do
  :: ci_lost != NONE -> disownIfLeft(ci_lost); ci_lost = NONE
  :: ci_lost == NONE && ci_left != NONE -> disown(ci_left); ci_left = NONE
  :: ci_lost == NONE && ci_left == NONE && ci_cell == NONE && ci_todo == 0 -> break
  :: ci_lost == NONE && ci_left == NONE && ci_cell == NONE && ci_todo != 0 ->
    d_step {
      ci_cell = 1;
      do
      :: !(ci_todo & BIT(ci_cell)) -> ci_cell++
      :: else -> break
      od;
      ci_todo = ci_todo & ~BIT(ci_cell)
    }
  :: else -> climb()
  od
}

inline cancelInput(self) { ci_todo = BIT(self); goOn() }

/* One round of `cancelInput`'s loop: `ci_cell` becomes the cell of the next one, or NONE. */
inline climb() {
  pinUnlessTaken(ci_cell, ci_pinned);
  if
  :: !ci_pinned ->
    markCancelledWhileTaken(ci_cell, ci_done);
    if
    :: ci_done -> ci_cell = NONE
    :: else -> skip
    fi
  :: else ->
    fetchOr(input[ci_cell], CANCELLED, ci_old);
#ifdef MUTANT_TELL_TWICE
    ci_old = ci_old & ~CANCELLED;
#endif
    if
    :: ci_old & HANDLER -> climbFromHandler()
    :: else ->
      ci_word = output[ci_cell];
      unpin(ci_cell);
      if
      :: (ci_word & (CLAIMED | SETTLED)) || (ci_old & CANCELLED) -> skip
      :: else ->
        d_step { told[ci_cell]++; assert(told[ci_cell] == 1) };
        settle(ci_cell, DROPPED)
      fi;
      ci_cell = NONE
    fi
  fi;
  ci_word = 0; ci_old = 0; ci_pinned = false; ci_done = false
}

/* The caller has the pin. */
inline climbFromHandler() {
  readSlot(ci_cell, ci_source);
  root(ci_source, ci_a);
  root(ci_cell, ci_b);
  unpin(ci_cell);
  if
  :: ci_source == NONE ->
    root(ci_cell, ci_parent);
    ci_cell = (ci_parent == ci_cell -> NONE : ci_parent)
  :: ci_source != NONE && ci_a == ci_b -> ci_cell = ci_source
  :: else ->
    root(ci_source, ci_parent);
    if
    :: isSettledRoot(ci_parent) -> detach(ci_cell); ci_cell = NONE
    :: !isSettledRoot(ci_parent) && (ci_old & CANCELLED) -> ci_cell = NONE
    :: else ->
      loseConsumer(ci_parent, ci_old & VIA_LINK, ci_done);
      if
      :: ci_done -> ci_cell = ci_parent
      :: else ->
        detach(ci_cell);
        ci_cell = NONE;
        ci_lost = (ci_old & VIA_LINK -> NONE : ci_parent)
      fi
    fi
  fi;
  ci_source = NONE; ci_parent = NONE; ci_a = NONE; ci_b = NONE
}

/* `done` is false, and there is no mark, if the slot is not taken any more. */
inline markCancelledWhileTaken(self, done) {
#ifdef MUTANT_MARK_WHAT_IS_NOT_TAKEN
  /* The next round finds the mark, and takes it for another canceller's. */
  atomic { done = (input[self] & TAKEN) != 0; input[self] = input[self] | CANCELLED }
#else
  atomic {
    done = (input[self] & TAKEN) != 0;
    if
    :: done -> input[self] = input[self] | CANCELLED
    :: else -> skip
    fi
  }
#endif
}

inline cancelIfDeserted(self) {
  if
  :: !(output[self] & (LINKED | SETTLED)) ->
    ci_done = consumers[self] == 0;
    if
    :: ci_done || output[self] == 0 -> ci_done = false; cancelInput(self) /* isDeserted, or isNew */
    :: else -> skip
    fi
  :: else -> skip
  fi
}

/* Withdraws one handler: what a waiter or a timeout does. The handler finds `replacement`, a
 * rejected cell. `done` says whether it had not started. */
inline withdraw(handler, replacement, done) {
  withdrawAlone(handler, replacement, done);
  goOn()
}

inline withdrawAlone(handler, replacement, done) {
  done = false;
  pinUnlessTaken(handler, wd_pinned);
  if
  :: !wd_pinned -> skip
  :: else ->
    readSlot(handler, wd_source);
    root(wd_source, wd_a);
    root(handler, wd_b);
    if
    :: wd_source != NONE && wd_a == wd_b ->
      /* It has run and adopted a promise meanwhile. */
      unpin(handler);
      ci_todo = ci_todo | BIT(wd_source)
    :: else ->
      fetchOr(input[handler], (replacement == CANCELLATION -> CANCELLED : 0) | DETACHED, wd_old);
      if
      :: wd_source == NONE || (wd_old & DETACHED) -> unpin(handler)
      :: else ->
        writeSlot(handler, replacement);
        unpin(handler);
        done = true;
        deliver(handler);
        root(wd_source, wd_a);
        if
        :: wd_old & CANCELLED -> skip
        :: else -> withdrawConsumer(wd_a, wd_old & VIA_LINK)
        fi;
        loseObserver(wd_a)
      fi
    fi
  fi;
  wd_source = NONE; wd_a = NONE; wd_b = NONE; wd_old = 0; wd_pinned = false
}

inline withdrawConsumer(self, viaLink) {
  root(self, wd_b);
  loseConsumer(wd_b, viaLink, wd_pinned);
  if
  :: !wd_pinned -> ci_lost = (viaLink -> NONE : wd_b)
  :: wd_pinned && !isSettledRoot(wd_b) -> ci_todo = ci_todo | BIT(wd_b)
  :: else -> skip
  fi
}

#ifndef LINKS
inline disownIfLeft(self) { skip }
inline disown(self) { assert(false) }
#else

#ifdef MUTANT_NEVER_LEFT
#define MINDS_ITS_OWN false
#else
#define MINDS_ITS_OWN true
#endif

/* Cancels a promise that has lost its last consumer of its own, while the one that it adopted has
 * some, who go on. */
inline disownIfLeft(self) {
  if
  :: MINDS_ITS_OWN && (input[self] & (SHARED | DISOWNED)) == SHARED ->
    hasOwnConsumer(self, ow_found);
    if
    :: ow_found -> ow_found = false
    :: else -> ci_left = self
    fi
  :: else -> skip
  fi
}

/* Cancels a promise for those who hold it and for its own observers. */
inline disown(self) {
#ifdef MUTANT_COUNT_BEFORE_DISOWNING
  ow_left = consumers[self];
#endif
  atomic {
    ow_done = !(input[self] & (TAKEN | DISOWNED));
    if
    :: ow_done ->
#ifndef MUTANT_COUNT_BEFORE_DISOWNING
      ow_left = consumers[self];
#endif
      input[self] = input[self] | DISOWNED
    :: else -> skip
    fi
  };
  /* Nobody stands in the list to be spared, and it may be linked any time, or is. */
#ifndef MUTANT_DISOWN_UNOBSERVED
  if
  :: ow_done ->
    ow_word = output[self];
    if
    :: (ow_word & ~CLAIMED) == 0 || (ow_word & LINKED) -> ow_left = 0
    :: else -> skip
    fi;
    ow_word = 0
  :: else -> skip
  fi;
#endif
  if
  :: !ow_done -> skip
  :: ow_done && ow_left == 0 -> ci_todo = ci_todo | BIT(self)
  :: else -> cancelOwnObservers(self)
  fi;
  ow_left = 0; ow_done = false
}

/* `list` are the observers, to be put back, or NONE if there are none or if they are delivered. */
inline withObservers(self, list) {
  list = NONE;
  do
  :: true ->
    ow_word = output[self]; /* a read-modify-write: see Ordering */
    if
    :: (ow_word & (SETTLED | LINKED)) || (ow_word & ~CLAIMED) == 0 -> break
    :: else -> skip
    fi;
#ifdef MUTANT_GIVE_UP_IF_OWNED
    if
    :: ow_word & OWNED -> break
    :: else -> skip
    fi;
#endif
    takeObservers(self, list);
    if
    :: list != NONE -> break
    :: else -> !(output[self] & OWNED) /* Backoff */
    fi
  od;
  ow_word = 0
}

#ifdef MUTANT_COUNT_LINKED_AS_OWN
#define NOT_OWN 0
#else
#define NOT_OWN VIA_LINK
#endif

#ifdef MUTANT_COUNT_WHO_HAS_WITHDRAWN
#define IS_OWN_CONSUMER(handler) (!(input[handler] & (NOT_OWN | CANCELLED)))
#else
#define IS_OWN_CONSUMER(handler) (!(input[handler] & (NOT_OWN | CANCELLED | DETACHED)))
#endif

inline hasOwnConsumer(self, found) {
  withObservers(self, ow_list);
  if
  :: ow_list != NONE ->
    ow_node = ow_list;
    found = false;
    do
    :: found || ow_node == NONE -> break
    :: else -> found = IS_OWN_CONSUMER(ow_node); ow_node = next[ow_node]
    od;
    ow_node = NONE;
    putBack(self, ow_list);
    ow_list = NONE
  :: else -> found = false
  fi
}

inline cancelOwnObservers(self) {
  withObservers(self, ow_list);
  if
  :: ow_list != NONE -> cancelOwn(self)
  :: else -> skip
  fi;
  ow_list = NONE
}

/* Observers as bits: the array `own`. */
inline cancelOwn(self) {
  ow_node = ow_list;
  do
  :: ow_node != NONE ->
    if
    :: input[ow_node] & (VIA_LINK | DETACHED) -> skip
    :: else -> ow_own = ow_own | BIT(ow_node)
    fi;
    ow_node = next[ow_node]
  :: else -> break
  od;
#ifdef MUTANT_RELEASE_BEFORE_DELIVERY
  /* `owned` goes first, and comes back for the delivery: a latecomer slips in between. */
  append(ow_list, POINTER(output[self]));
  output[self] = (output[self] & ~OWNED) | (POINTER(output[self]) == NONE -> REF(ow_list) : 0);
  if
  :: output[self] & SETTLED ->
    exchange(output[self], SETTLED | OWNED, ow_list);
    ow_list = POINTER(ow_list);
    deliverAll(self, ow_list)
  :: else -> skip
  fi;
#else
  putBack(self, ow_list);
#endif
  ow_node = 1;
  do
  :: ow_own == 0 -> break
  :: ow_own != 0 && !(ow_own & BIT(ow_node)) -> ow_node++
  :: else ->
    ow_own = ow_own & ~BIT(ow_node);
    withdrawAlone(ow_node, CANCELLATION, ow_done);
    /* disownIfLeft would have nothing to do. */
    assert(ci_lost == NONE || (input[ci_lost] & (DISOWNED | TAKEN)));
    ci_lost = NONE
  od;
  ow_node = NONE
}

#endif

inline cancel(self) {
  root(self, ca_root);
  if
  :: isSettledRoot(ca_root) -> skip
  :: else ->
    if
    :: ca_root == self && (input[ca_root] & SHARED) && consumers[ca_root] > 0 ->
      ci_left = ca_root
    :: else -> ci_todo = BIT(ca_root)
    fi;
    goOn()
  fi;
  ca_root = NONE
}

#define CANCELLATION_LOCALS \
  byte dt_source, dt_a, dt_b, ci_cell, ci_word, ci_old, ci_source, ci_parent, ci_a, ci_b; \
  byte wd_source, wd_a, wd_b, wd_old, ci_lost, ci_left, ow_word, ow_list, ow_node, ow_left, ca_root; \
  short ci_todo, ow_own; \
  bool dt_pinned, ci_pinned, ci_done, wd_pinned, wd_done, ow_found, ow_done;
