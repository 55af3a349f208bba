/* Abandonment.swift: where nobody will ever settle a promise, its observers are dropped uncalled.
 *
 * The cells that are left to do are a set of bits here.
 */

#ifndef ABANDONS
inline abandonList(list) { assert(list == NONE) }
inline abandonUncalled(handler) { assert(false) }
#else

inline abandonList(list) {
  do
  :: list != NONE ->
    d_step {
      ab_node = list;
      list = next[ab_node];
      next[ab_node] = NONE;
      listed[ab_node] = false
    };
    abandonNode(ab_node)
  :: else -> break
  od;
  ab_node = NONE
}

/* Whoever gets at the slot first has the closure. A handler that has withdrawn is on its way to
 * its executor, and left alone with all that waits for it. */
inline dropClosure(handler, done) {
#ifdef MUTANT_LOOK_BEFORE_TAKING
  if
  :: input[handler] & DETACHED -> done = false
  :: else ->
    takeSlot(handler, ab_source);
    done = (ab_source != NONE)
  fi;
#else
  pinUnlessTaken(handler, done);
  if
  :: done ->
    atomic {
      done = !(input[handler] & (TAKEN | DETACHED));
      if
      :: done -> input[handler] = (input[handler] & ~PINNED) | TAKEN
      :: else -> skip
      fi
    };
    if
    :: done -> writeSlot(handler, NONE)
    :: else -> unpin(handler)
    fi
  :: else -> skip
  fi;
#endif
  if
  :: done -> hasBody[handler] = false
  :: else -> skip
  fi
}

inline abandonNode(handler) {
  dropClosure(handler, ab_done);
  if
  :: ab_done -> ab_cells = ab_cells | BIT(handler)
  :: else -> skip
  fi
}

inline abandonUncalled(handler) { ab_cells = 0; abandonNode(handler); abandonCells() }
inline abandon(self) { ab_cells = BIT(self); abandonCells() }

inline abandonCells() {
  ab_cell = 1;
  do
  :: ab_cells == 0 -> break
  :: ab_cells != 0 && !(ab_cells & BIT(ab_cell)) -> ab_cell = (ab_cell % (CELLS - 1)) + 1
  :: else ->
    ab_cells = ab_cells & ~BIT(ab_cell);
    root(ab_cell, ab_root);
    /* linkToNothing */
    ab_done = false;
    ab_word = output[ab_root];
    do
    :: ab_word & (LINKED | CLAIMED | SETTLED) -> break
    :: else ->
      cas(output[ab_root], ab_word, (ab_word & OWNED) | LINKED, ab_done);
      if
      :: ab_done -> break
      :: else -> skip
      fi
    od;
    if
    :: ab_done ->
      takeSlot(ab_root, ab_source); /* dropInput */
      oldestFirst(POINTER(ab_word), ab_list);
      abandonList(ab_list)
    :: else ->
      root(ab_root, ab_cell);
      if
      :: ab_cell != ab_root -> ab_cells = ab_cells | BIT(ab_cell)
      :: else -> skip
      fi
    fi
  od;
  ab_cell = NONE; ab_root = NONE; ab_word = 0; ab_source = NONE
}

#endif

#define ABANDONMENT_LOCALS \
  byte ab_cell, ab_root, ab_word, ab_source, ab_list, ab_node; \
  short ab_cells; \
  bool ab_done;
