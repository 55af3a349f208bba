/* Adoption.swift: a handler's promise takes on the fate of the one that the handler returned.
 *
 * A handler that adopts stays out of reach until it stands in its place: from `taken` it goes to
 * `pinned` in one step, and it is let go when its inner promise is linked to it, or when it stands
 * among the inner promise's observers. So nobody can cancel it half way, and a consumer is counted
 * where it can be withdrawn.
 */

#ifdef MUTANT_REOPEN_BEFORE_LOOKING
#define REOPENS_ANYWAY true
#else
#define REOPENS_ANYWAY false
#endif

/* From `taken` to `pinned`, unless cancelled. */
inline reopen(self, done) {
  d_step {
    done = !(input[self] & CANCELLED) || REOPENS_ANYWAY;
    if
    :: done -> input[self] = (input[self] & ~TAKEN) | (REOPENS_ANYWAY -> 0 : PINNED)
    :: else -> skip
    fi
  }
}
/* `inner` as returned: linked only if it is not linked itself, and has no observers. */
inline tryLink(self, outer, done) {
  tl_word = 0;
  cas(output[self], tl_word, LINKED | REF(outer), done)
}

inline adopt(self, returned) {
  root(self, ad_outer);
  root(returned, ad_inner);
  if
  :: ad_inner == ad_outer -> settle(self, FAILED) /* returnedItself */
  :: ad_inner != ad_outer && isSettledRoot(ad_inner) ->
    readResult(ad_inner, ad_result);
    if
    :: input[self] & CANCELLED -> ad_result = DROPPED
    :: else -> skip
    fi;
    settle(self, ad_result)
  :: else ->
    ad_linked = false;
    ad_mustAttach = false;
    if
    :: ad_outer == self ->
      reopen(self, ad_pinned);
#ifdef MUTANT_REOPEN_BEFORE_LOOKING
      if
      :: input[self] & CANCELLED -> ad_pinned = false
      :: else -> pinUnlessTaken(self, ad_pinned)
      fi;
#endif
      if
      :: ad_pinned ->
        writeSlot(self, returned);
        tryLink(returned, self, ad_linked);
        if
        :: ad_linked -> waitBeyond(self, returned); unpin(self)
        :: else -> ad_mustAttach = true
        fi
      :: else -> cancelIfDeserted(returned); settle(self, DROPPED)
      fi
    :: else ->
      /* This cell is linked, and the root waits for it, or for what is linked in between. */
      pinUnlessTaken(ad_outer, ad_pinned);
      if
      :: !ad_pinned -> cancelIfDeserted(returned) /* the root has settled */
      :: else ->
        if
        :: (input[ad_outer] | input[self]) & CANCELLED ->
          unpin(ad_outer);
          cancelIfDeserted(returned);
          settle(self, DROPPED)
        :: else ->
          readSlot(ad_outer, ad_slot);
          if
          :: ad_slot == self -> tryLink(returned, ad_outer, ad_linked)
          :: else -> skip
          fi;
          if
          :: ad_linked ->
            writeSlot(ad_outer, returned);
            waitBeyond(ad_outer, returned);
            unpin(ad_outer)
          :: else ->
            unpin(ad_outer);
            /* This cell has run and stands in no list: it waits once more, and settles the root. */
            reopen(self, ad_mustAttach);
            if
            :: ad_mustAttach -> writeSlot(self, returned)
            :: else -> cancelIfDeserted(returned); settle(self, DROPPED)
            fi
          fi
        fi
      fi
    fi;
    if
    :: ad_mustAttach -> attachPinned(returned, self)
    :: else -> skip
    fi
  fi;
  ad_outer = NONE; ad_inner = NONE; ad_slot = NONE; ad_linked = false; ad_pinned = false
}

inline attachPinned(inner, handler) { attach(inner, handler, true) }

/* The caller has the pin of `self`. An inner handler whose own inner promise is linked to it: the
 * root waits for that one, and the cell in the middle may go. */
inline waitBeyond(self, inner) { skip }

#define ADOPTION_LOCALS \
  byte ad_outer, ad_inner, ad_result, ad_slot, tl_word; \
  bool ad_linked, ad_pinned, ad_mustAttach;
