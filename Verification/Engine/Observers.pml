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
    dv_i = 1;
    do
    :: dv_i < CELLS - 1 ->
      assert(!(before[handler] & BIT(dv_i)) || (delivered & BIT(dv_i)) || (input[dv_i] & DETACHED));
      dv_i++
    :: else -> dv_i = 0; break
    od;
    attached = attached | BIT(handler);
    delivered = delivered | BIT(handler);
    ready!handler
  }
}

#define AGAIN 0
#define LATE 1
#define PUSHED 2

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

/* Adds a fresh handler. With `isPinned` it is one that adopts: out of reach until it stands in its
 * place, and let go right after, or right before it is delivered. */
inline attach(self, handler, isPinned) {
  at_cell = self;
  d_step { before[handler] = attached; at_word = output[at_cell] };
  do
  :: true ->
    if
    :: at_word & LINKED ->
      root(at_cell, at_root);
      at_cell = at_root;
      at_word = output[at_cell];
      slot[handler] = at_cell;
      input[handler] = input[handler] | VIA_LINK;
      input[at_cell] = input[at_cell] | SHARED
    :: else -> skip
    fi;
    if
    :: (at_word & SETTLED) && (!(at_word & OWNED) || LATECOMERS_OVERTAKE) ->
      if
      :: isPinned -> unpin(handler)
      :: else -> skip
      fi;
      deliverInOrder(handler);
      break
    :: else -> skip
    fi;
    consumers[at_cell]++;
    do
    :: at_word & LINKED ->
      consumers[at_cell]--;
      at_word = output[at_cell];
      at_outcome = AGAIN;
      break
    :: !(at_word & LINKED) && (at_word & SETTLED) && (!(at_word & OWNED) || LATECOMERS_OVERTAKE) ->
      at_outcome = LATE;
      break
    :: else ->
      d_step {
        at_done = (output[at_cell] == at_word) || PUSH_IS_A_STORE;
        if
        :: at_done ->
          assert(!listed[handler]);
          listed[handler] = true;
          attached = attached | BIT(handler);
          next[handler] = POINTER(at_word);
          output[at_cell] = REF(handler) | (at_word & MASK)
        :: else -> at_word = output[at_cell]
        fi
      };
      if
      :: at_done -> at_outcome = PUSHED; break
      :: else -> skip
      fi
    od;
    if
    :: at_outcome == AGAIN -> skip
    :: at_outcome == LATE ->
      if
      :: isPinned -> unpin(handler)
      :: else -> skip
      fi;
      deliverInOrder(handler);
      break
    :: else ->
      if
      :: isPinned -> unpin(handler)
      :: else -> skip
      fi;
      reportAbandonment(at_cell);
      break
    fi
  od;
  at_cell = NONE; at_root = NONE; at_word = 0
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
  od
}

/* With SWEEP_AT dead observers and at least as many dead as living ones. */
#ifdef SWEEP_AT
inline noteDeadObserver(self) {
  d_step { dead[self]++; sw_must = dead[self] >= SWEEP_AT && dead[self] >= consumers[self] };
  if
  :: sw_must -> sweep(self)
  :: else -> skip
  fi
}
#else
inline noteDeadObserver(self) { skip }
#endif

/* HandlerList.partition. `detached` is read one node after the other: a handler that withdraws
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
      :: input[pt_node] & DETACHED ->
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

inline sweep(self) {
  sw_self = self;
  sw_word = output[sw_self];
  sw_done = false;
  do
  :: (sw_word & (OWNED | SETTLED | LINKED)) || POINTER(sw_word) == NONE -> break
  :: else ->
    cas(output[sw_self], sw_word, (sw_word & CLAIMED) | OWNED, sw_done);
    if
    :: sw_done -> break
    :: else -> skip
    fi
  od;
  if
  :: !sw_done -> skip
  :: else ->
    partition(POINTER(sw_word));
    sw_word = output[sw_self];
    do
    :: sw_word & SETTLED ->
      exchange(output[sw_self], SETTLED | OWNED, sw_word);
#ifdef MUTANT_SWEEP_LOSES_THE_LIVING
      pt_living = NONE;
#endif
      append(pt_living, POINTER(sw_word));
      sw_list = (POINTER(sw_word) != NONE -> POINTER(sw_word) : pt_living);
      if
      :: sw_list == NONE ->
        sw_word = SETTLED | OWNED;
        cas(output[sw_self], sw_word, SETTLED, sw_done);
        if
        :: !sw_done ->
          /* Somebody was attached since. */
          exchange(output[sw_self], SETTLED | OWNED, sw_word);
          sw_list = POINTER(sw_word)
        :: else -> skip
        fi
      :: else -> skip
      fi;
      if
      :: sw_list != NONE -> deliverAll(sw_self, sw_list)
      :: else -> skip
      fi;
      break
    :: else ->
      sw_list = POINTER(sw_word);
      append(pt_living, sw_list);
      sw_head = (sw_list != NONE -> sw_list : pt_living);
      cas(output[sw_self], sw_word, REF(sw_head) | (sw_word & CLAIMED), sw_done);
      if
      :: sw_done -> break
      :: else -> cut(sw_list, pt_living)
      fi
    od;
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
  sw_self = NONE; sw_list = NONE; sw_head = NONE; pt_living = NONE; pt_last = NONE; sw_word = 0
}

#define OBSERVERS_LOCALS \
  byte at_cell, at_root, at_word, at_outcome, ol_rest, ol_node, dl_batch, dl_node, dl_word; \
  byte dv_i, sw_self, sw_word, sw_list, sw_head, ap_node; \
  byte pt_rest, pt_node, pt_living, pt_last, pt_dead; \
  bool at_done, dl_done, sw_must, sw_done;
