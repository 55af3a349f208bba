/* Observers.swift: attaching, delivering in order, and clearing out the dead.
 *
 * The nodes of a list belong to its owner, or to nobody but the thread that is about to push:
 * work on `next` is one step, and `listed` watches that no node stands in two lists.
 */

byte next[CELLS];
byte dead[CELLS];
bool listed[CELLS];

/* What the model watches: `attached` are the observers that stand in the list or have stood there,
 * `delivered` those that were handed to their executor, and `before[h]` those that were attached
 * before `attach(h)` was called: they must be delivered before h is, or have withdrawn. */
short attached, delivered;
short before[CELLS];
#define BIT(cell) (1 << (cell))

/* The executor: a queue of handlers. They run one at a time unless the scenario has more workers. */
chan ready = [2 * CELLS] of { byte };

inline deliver(handler) { ready!handler }

inline deliverInOrder(handler) {
  d_step {
#ifndef TWO_LISTS /* the order is watched where all observe one promise */
    dv_i = 1;
    do
    :: dv_i < CELLS - 1 ->
      assert(!(before[handler] & BIT(dv_i)) || (delivered & BIT(dv_i)) || (input[dv_i] & DETACHED));
      dv_i++
    :: else -> dv_i = 0; break
    od;
#endif
    attached = attached | BIT(handler);
    delivered = delivered | BIT(handler);
    ready!handler
  }
}

#ifdef MUTANT_PUSH_BY_STORE
#define PUSH_IS_A_STORE true
#else
#define PUSH_IS_A_STORE false
#endif

#ifdef MUTANT_LATECOMERS_OVERTAKE
#define LATECOMERS_OVERTAKE true
#else
#define LATECOMERS_OVERTAKE false
#endif

#define IS_DELIVERED(word) (((word) & SETTLED) && (!((word) & OWNED) || LATECOMERS_OVERTAKE))

#ifdef MUTANT_COUNT_AS_SEEN_FIRST
#define COUNTS_ON_RETRY false
#else
#define COUNTS_ON_RETRY true
#endif

/* Counts a handler and pushes it; `done` is false if the cell has no list any more. */
inline push(self, handler, isPinned, done) {
  at_isRetry = false;
  do
  :: (at_word & LINKED) || IS_DELIVERED(at_word) ->
    if
    :: at_isCounted -> consumers[self]--
    :: else -> skip
    fi;
    done = false;
    break
  :: else ->
    if
    :: !at_isCounted && (at_word & ~CLAIMED) && (COUNTS_ON_RETRY || !at_isRetry) ->
      /* Counted before it can be seen, so that nobody takes the cell for deserted. The first
       * observer has its place in the count already. */
      consumers[self]++;
      at_isCounted = true
    :: else -> skip
    fi;
    at_isRetry = true;
    d_step {
      done = (output[self] == at_word) || PUSH_IS_A_STORE;
      if
      :: done ->
        assert(!listed[handler]);
        listed[handler] = true;
        attached = attached | BIT(handler);
        next[handler] = POINTER(at_word);
        output[self] = REF(handler) | (at_word & MASK)
      :: else -> at_word = output[self]
      fi
    };
    if
    :: done ->
      if
      :: isPinned -> unpin(handler)
      :: else -> skip
      fi;
      break
    :: else -> skip
    fi
  od;
  at_isCounted = false; at_isRetry = false
}

inline deliverAtOnce(handler, isPinned) {
  if
  :: isPinned -> unpin(handler)
  :: else -> skip
  fi;
  deliverInOrder(handler)
}

#ifdef MUTANT_LOOK_BEFORE_PUSHING
#define LOOKS_AGAIN false
#else
#define LOOKS_AGAIN true
#endif

/* Adds a fresh handler. With `isPinned` it is one that adopts: out of reach until it stands in its
 * place, and let go right after, or right before it is delivered. */
inline attach(self, handler, isPinned) {
  d_step { before[handler] = attached; at_word = output[self] };
#ifdef MUTANT_LOOK_ONLY_IF_SETTLED
  at_done = IS_DELIVERED(at_word) && (input[self] & DISOWNED);
#else
  at_done = !(at_word & LINKED) && (input[self] & DISOWNED);
#endif
  if
  :: at_done -> attachToCancelled(handler, isPinned)
  :: !at_done && IS_DELIVERED(at_word) -> deliverAtOnce(handler, isPinned)
  :: else ->
    if
    :: at_word & LINKED -> skip
    :: else ->
      push(self, handler, isPinned, at_done);
      if
      :: at_done && LOOKS_AGAIN -> withdrawIfDisowned(self, handler)
      :: else -> skip
      fi
    fi;
    if
    :: at_done -> skip
    :: !at_done && (at_word & LINKED) -> attachBeyondLinks(self, handler, isPinned)
    :: else -> deliverAtOnce(handler, isPinned)
    fi
  fi;
  at_word = 0; at_root = NONE; at_done = false
}

#ifndef LINKS
inline withdrawIfDisowned(self, handler) { skip }
#else

/* Was it cancelled by name meanwhile? */
inline withdrawIfDisowned(self, handler) {
  if
  :: input[self] & DISOWNED -> withdraw(handler, CANCELLATION, wd_done)
  :: else -> skip
  fi
}

#endif

/* What is abandoned is linked, too: to nothing. */
#if !defined(LINKS) && !defined(ABANDONS)
inline attachBeyondLinks(self, handler, isPinned) { skip }
#else
inline attachBeyondLinks(self, handler, isPinned) {
  do
  :: true ->
    root(self, at_root);
    at_word = output[at_root];
    if
    :: IS_ABANDONED(at_word) ->
      if
      :: isPinned -> unpin(handler)
      :: else -> skip
      fi;
      abandonUncalled(handler);
      break
    :: else -> skip
    fi;
    writeSlot(handler, at_root);
    input[handler] = input[handler] | VIA_LINK;
    if
    :: IS_DELIVERED(at_word) -> deliverAtOnce(handler, isPinned); break
    :: else -> skip
    fi;
    input[at_root] = input[at_root] | SHARED;
    push(at_root, handler, isPinned, at_done);
    if
    :: at_done -> break
    :: else -> skip
    fi
  od
}

#endif

inline attachToCancelled(handler, isPinned) {
  writeSlot(handler, CANCELLATION);
  if
  :: isPinned -> unpin(handler)
  :: else -> skip
  fi;
  deliver(handler)
}

/* HandlerList.oldestFirst, on a list that only the caller has. */
inline oldestFirst(stack, list) {
  d_step {
    ol_rest = stack;
    list = NONE;
    do
    :: ol_rest != NONE ->
      ol_node = ol_rest;
      ol_rest = next[ol_node];
      next[ol_node] = list;
      list = ol_node
    :: else -> break
    od;
    ol_node = NONE
  }
}

/* The caller has set `owned` on this settled cell. */
inline deliverAll(self, list) {
#ifdef MUTANT_NEWEST_FIRST
  dl_batch = list;
#else
  oldestFirst(list, dl_batch);
#endif
  do
  :: dl_batch != NONE ->
    d_step {
      dl_node = dl_batch;
      dl_batch = next[dl_node];
      next[dl_node] = NONE;
      listed[dl_node] = false
    };
    if
    :: input[dl_node] & DETACHED -> skip
    :: else -> deliverInOrder(dl_node)
    fi;
    dl_node = NONE
  :: else ->
#ifdef MUTANT_LEAVE_LATECOMERS
    output[self] = output[self] & ~OWNED;
    break;
#endif
    dl_word = SETTLED | OWNED;
    cas(output[self], dl_word, SETTLED, dl_done);
    if
    :: dl_done -> break
    :: else ->
      exchange(output[self], SETTLED | OWNED, dl_word);
      assert(dl_word & OWNED);
      oldestFirst(POINTER(dl_word), dl_batch)
    fi
  od;
  dl_word = 0; dl_done = false
}

/* With SWEEP_AT dead observers, and a cell for a TOMBSTONE, which stands in a list for observers that
 * have withdrawn and are gone; the engine also asks how many live, which is a matter of cost. */
#ifdef SWEEP_AT
inline noteDeadObserver(self) {
  d_step { dead[self]++; sw_must = dead[self] >= SWEEP_AT };
  if
  :: sw_must -> sweep(self)
  :: else -> skip
  fi
}
#else
inline noteDeadObserver(self) { skip }
#endif

/* HandlerList.partition. A tombstone goes at once, so that one is enough. `detached` is read one node after the other: a handler that withdraws
 * behind the sweeper's back stays in the list. */
inline partition(stack) {
  pt_rest = stack; pt_living = NONE; pt_last = NONE; pt_dead = NONE;
  do
  :: pt_rest != NONE ->
    d_step {
      pt_node = pt_rest;
      pt_rest = next[pt_node];
      next[pt_node] = NONE;
      if
      :: pt_node == TOMBSTONE -> listed[pt_node] = false; dead[sw_self]--
      :: pt_node != TOMBSTONE && (input[pt_node] & DETACHED) ->
        next[pt_node] = pt_dead;
        pt_dead = pt_node;
        dead[sw_self]--
      :: else ->
        if
        :: pt_last != NONE -> next[pt_last] = pt_node
        :: else -> pt_living = pt_node
        fi;
        pt_last = pt_node
      fi;
      pt_node = NONE
    }
  :: else -> break
  od
}

/* HandlerList.append and cut, on nodes that only the sweeper may touch. */
inline append(older, newer) {
  d_step {
    if
    :: newer != NONE && older != NONE ->
      ap_node = newer;
      do
      :: next[ap_node] != NONE -> ap_node = next[ap_node]
      :: else -> break
      od;
      next[ap_node] = older
    :: else -> skip
    fi;
    ap_node = NONE
  }
}
inline cut(newer, older) {
  d_step {
    if
    :: newer != NONE && older != NONE ->
      ap_node = newer;
      do
      :: next[ap_node] != older -> ap_node = next[ap_node]
      :: else -> break
      od;
      next[ap_node] = NONE
    :: else -> skip
    fi;
    ap_node = NONE
  }
}

/* `list` is NONE if there is none to be had. */
inline takeObservers(self, list) {
  list = NONE;
  tk_word = output[self];
  do
  :: (tk_word & (OWNED | SETTLED | LINKED)) || POINTER(tk_word) == NONE -> break
  :: else ->
    cas(output[self], tk_word, (tk_word & CLAIMED) | OWNED, tk_done);
    if
    :: tk_done -> list = POINTER(tk_word); break
    :: else -> skip
    fi
  od;
  tk_word = 0; tk_done = false
}

inline putBack(self, observers) {
  tk_word = output[self];
  do
  :: tk_word & LINKED -> abandonList(observers); break
  :: else ->
    tk_newer = POINTER(tk_word);
    append(observers, tk_newer);
    tk_head = (tk_newer != NONE -> tk_newer : observers);
    tk_next = ((tk_word & SETTLED) && tk_head != NONE
      -> SETTLED | OWNED
      : REF(tk_head) | (tk_word & (CLAIMED | SETTLED)));
    cas(output[self], tk_word, tk_next, tk_done);
    if
    :: tk_done ->
      if
      :: (tk_word & SETTLED) && tk_head != NONE -> deliverAll(self, tk_head)
      :: else -> skip
      fi;
      break
    :: else -> cut(tk_newer, observers)
    fi
  od;
  tk_word = 0; tk_newer = NONE; tk_head = NONE; tk_next = 0; tk_done = false
}

inline sweep(self) {
  takeObservers(self, sw_list);
  if
  :: sw_list == NONE -> skip
  :: else ->
    sw_self = self;
    partition(sw_list);
#ifdef MUTANT_SWEEP_LOSES_THE_LIVING
    pt_living = NONE;
#endif
#ifndef MUTANT_EMPTY_THE_LIST
    /* A list does not get empty again before it is delivered: by that the first observer is known. */
    if
    :: pt_living == NONE ->
      d_step { pt_living = TOMBSTONE; listed[TOMBSTONE] = true; dead[self]++ }
    :: else -> skip
    fi;
#endif
    putBack(self, pt_living);
    skip; /* SPIN: no jump may end at a d_step */
    /* HandlerList.release(dead) */
    d_step {
      do
      :: pt_dead != NONE ->
        listed[pt_dead] = false;
        pt_node = next[pt_dead];
        next[pt_dead] = NONE;
        pt_dead = pt_node
      :: else -> break
      od;
      pt_node = NONE
    }
  fi;
  sw_self = NONE; sw_list = NONE; pt_living = NONE; pt_last = NONE
}

#define OBSERVERS_LOCALS \
  byte at_root, at_word, ol_rest, ol_node, dl_batch, dl_node, dl_word; \
  byte dv_i, sw_self, sw_list, tk_word, tk_newer, tk_head, tk_next, ap_node; \
  byte pt_rest, pt_node, pt_living, pt_last, pt_dead; \
  bool at_done, at_isCounted, at_isRetry, dl_done, sw_must, tk_done;
