/* Adoption.swift: a handler's promise takes on the fate of the one that the handler returned.
 *
 * A handler that adopts stays out of reach until it stands in its place: from `taken` it goes to
 * `pinned` in one step, and it is let go when its inner promise is linked to it, or when it stands
 * among the inner promise's observers. So nobody can cancel it half way, and a consumer is counted
 * where it can be withdrawn.
 */

#ifndef ADOPTS
inline adopt(self, inner, result) { assert(false) }
#else

/* Whether the returned cell, as the holder of its promise sees it, is settled already. */
inline adopt(self, inner, result) {
  result = UNSET;
  root(self, ad_outer);
  root(inner, ad_root);
  if
  :: ad_root == inner && (input[inner] & DISOWNED) -> ad_root = CANCELLATION
  :: else -> skip
  fi;
  if
  :: ad_root == ad_outer -> result = FAILED /* returnedItself */
  :: ad_root != ad_outer && isSettledRoot(ad_root) ->
    d_step { readResult(ad_root, result) };
    if
    :: input[self] & CANCELLED -> result = DROPPED
    :: else -> skip
    fi
  :: else ->
    if
    :: ad_outer != self ->
      /* The outer cell waits for this one, which is linked to it. */
      pinUnlessTaken(ad_outer, ad_pinned);
      if
      :: !ad_pinned -> ad_refused = true
      :: else ->
        if
        :: (input[ad_outer] | input[self]) & CANCELLED -> ad_refused = true
        :: else ->
          readSlot(ad_outer, ad_slot);
          if
          :: ad_slot == self -> link(inner, ad_outer, ad_linked)
          :: else -> skip
          fi
        fi;
        if
        :: ad_linked -> waitFor(ad_outer, inner)
        :: else -> skip
        fi;
        unpin(ad_outer)
      fi
    :: else -> skip
    fi;
    if
    :: ad_linked || ad_refused -> skip
    :: else ->
      becomePinned(self, ad_pinned);
      if
      :: !ad_pinned -> ad_refused = true
      :: else ->
        if
        :: ad_outer == self -> link(inner, self, ad_linked)
        :: else -> skip
        fi;
        if
        :: ad_linked -> waitFor(self, inner); unpin(self)
        :: else -> writeSlot(self, inner); attach(inner, self, true)
        fi
      fi
    fi;
    if
    :: ad_refused -> cancelIfDeserted(inner); result = DROPPED /* refuse */
    :: else -> skip
    fi
  fi;
  ad_outer = NONE; ad_root = NONE; ad_slot = NONE;
  ad_linked = false; ad_pinned = false; ad_refused = false
}

/* From `taken` to `pinned`; `done` is false if the handler was cancelled. */
inline becomePinned(self, done) {
#ifdef MUTANT_REOPEN_BEFORE_LOOKING
  input[self] = input[self] & ~TAKEN;
  if
  :: input[self] & CANCELLED -> done = false
  :: else -> pinUnlessTaken(self, done)
  fi
#else
  atomic {
    done = !(input[self] & CANCELLED);
    if
    :: done -> input[self] = (input[self] & ~TAKEN) | PINNED
    :: else -> skip
    fi
  }
#endif
}

/* The cell is linked if it is a root without observers and result. */
inline link(self, outer, done) {
  lk_word = 0;
#ifdef MUTANT_LINK_OBSERVED
  lk_word = output[self] & ~REF(15);
  output[self] = LINKED | REF(outer);
  done = true;
#else
  cas(output[self], lk_word, LINKED | REF(outer), done);
#endif
  lk_word = 0
}

/* The caller has the pin of `self`. */
inline waitFor(self, inner) {
  wf_next = inner;
  if
  :: isHandler(inner) ->
    pinUnlessTaken(inner, wf_pinned);
    if
    :: wf_pinned ->
      readSlot(inner, wf_source);
      if
      :: wf_source != NONE && (output[wf_source] & LINKED) ->
        wf_next = wf_source;
        writeSlot(inner, NONE)
      :: else -> skip
      fi;
      unpin(inner)
    :: else -> skip
    fi
  :: else -> skip
  fi;
  writeSlot(self, wf_next);
  wf_next = NONE; wf_source = NONE
}

#endif

#define ADOPTION_LOCALS \
  byte ad_outer, ad_root, ad_slot, lk_word, wf_next, wf_source; \
  bool ad_linked, ad_refused, ad_pinned, wf_pinned;
