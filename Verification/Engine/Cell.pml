/* Cell.swift: the two state words, claiming, settling, and the slot.
 *
 * A cell is a number from 1 up; 0 is nil. A scenario defines CELLS (one more than the highest
 * number) before it includes the engine, and of LINKS (cells are linked), ADOPTS (handlers return
 * promises), and ABANDONS what it has, which keeps the verifier small. Each Swift function is an
 * inline of the same name. Each atomic access of the Swift code is one step here; a plain access to
 * a `slot` is one step that nobody else's may fall into.
 */

#define NONE 0
/* `Cancellation.source`, a cell born settled. */
#define CANCELLATION (CELLS - 1)
/* What lies in the slot of a rejected cell: anything but a cell. */
#define REJECTION CELLS

/* The flags of `output`; the rest of the word is a pointer. */
#define CLAIMED 1
#define SETTLED 2
#define OWNED 4
#define LINKED 8
#define MASK 15
#define POINTER(word) ((word) >> 4)
#define REF(cell) ((cell) << 4)

/* The flags of `input`. Its two counts are arrays of their own, as nothing depends on reading
 * them in the same access as the flags, but for `sweep`, where they are a hint. */
#define PINNED 1
#define TAKEN 2
#define CANCELLED 4
#define HANDLER 8
#define DETACHED 16
#define VIA_LINK 32
#define SHARED 64
#define DISOWNED 128

byte output[CELLS];
byte input[CELLS];
short consumers[CELLS]; /* a cell is made with one: see `push` */
byte slot[CELLS];

/* The outcome, the `value` and the kind of rejection in one. */
#define UNSET 0
#define FULFILLED 1
#define FAILED 2
#define DROPPED 3 /* CancellationError */
byte outcome[CELLS];

/* What the model watches, and the engine does not have. */
bool inSlot[CELLS];      /* the one who has `taken` is at the slot */
byte settlements[CELLS]; /* how often the cell was settled */

/* compareExchange: `expected` becomes what was found. */
inline cas(word, expected, desired, done) {
  atomic {
    done = (word == expected);
    if
    :: done -> word = desired
    :: else -> expected = word
    fi
  }
}

/* bitwiseOr and bitwiseAnd, with the old value. */
inline fetchOr(word, bits, old) { atomic { old = word; word = word | (bits) } }
inline fetchAnd(word, bits, old) { atomic { old = word; word = word & (bits) } }

inline exchange(word, desired, old) { atomic { old = word; word = desired } }

/* A plain access to a slot, by whoever has the pin or the claim. */
inline readSlot(cell, content) { d_step { assert(!inSlot[cell]); content = slot[cell] } }
inline writeSlot(cell, new) { d_step { assert(!inSlot[cell]); slot[cell] = new } }

/* -- Reading -- */

/* Links, once made, stay: the walk to the root ends as if it had been made at its last step, and is
 * one. A cell that is linked to nothing is abandoned, and its own root. */
#ifndef LINKS
inline root(self, result) { result = self }
#else
inline root(self, result) {
  d_step {
    result = self;
    do
    :: (output[result] & LINKED) && POINTER(output[result]) != NONE ->
      result = POINTER(output[result])
    :: else -> break
    od
  }
}
#endif

#define IS_ABANDONED(word) (((word) & LINKED) && POINTER(word) == NONE)
#define isSettledRoot(cell) (output[cell] & SETTLED)
#define isHandler(cell) (input[cell] & HANDLER)

/* Whoever reads a result must find one. */
inline readResult(cell, result) {
  assert(isSettledRoot(cell));
  assert(outcome[cell] != UNSET);
  result = outcome[cell]
}

/* -- The slot -- */

inline takeSlot(self, content) {
  content = NONE;
  fetchOr(input[self], TAKEN, ts_old);
  if
  :: ts_old & TAKEN -> ts_old = 0
  :: else ->
    /* waitForUnpin. Then the access takes time: nobody else may be at the slot meanwhile. */
    atomic { !(input[self] & PINNED) -> assert(!inSlot[self]); inSlot[self] = true };
    d_step { content = slot[self]; slot[self] = NONE; inSlot[self] = false; ts_old = 0 }
  fi
}

inline pinUnlessTaken(self, done) {
  do
  :: atomic { (input[self] & TAKEN) -> done = false; break }
  :: atomic {
      !(input[self] & (TAKEN | PINNED)) -> input[self] = input[self] | PINNED;
      done = true;
      break
    }
  od; /* blocks while another has the pin */
  skip
}

inline unpin(self) { input[self] = input[self] & ~PINNED }

/* -- Settling -- */

#ifdef MUTANT_CLAIM_TWICE
#define CLAIM_BLOCKERS SETTLED
#else
#define CLAIM_BLOCKERS (CLAIMED | SETTLED)
#endif

#ifdef MUTANT_IGNORE_OWNER
#define OWNER_IS_RESPECTED false
#else
#define OWNER_IS_RESPECTED true
#endif

/* claim, with the way to the root; `won` is the cell claimed, or NONE. */
inline claim(self, won) {
  won = self;
  cl_word = output[won];
  do
  :: IS_ABANDONED(cl_word) -> won = NONE; break
  :: (cl_word & LINKED) && POINTER(cl_word) != NONE ->
    won = POINTER(cl_word);
    cl_word = output[won]
  :: !(cl_word & LINKED) && (cl_word & CLAIM_BLOCKERS) -> won = NONE; break
  :: else ->
    cas(output[won], cl_word, cl_word | CLAIMED, cl_done);
    if
    :: cl_done -> break
    :: else -> skip
    fi
  od;
  cl_word = 0; cl_done = false
}

/* The caller has claimed the cell, or is its handler and nobody else can settle it. `pb_done` says
 * whether that was done; not if the unclaimed cell was linked or abandoned meanwhile. */
inline publish(self, result) {
  d_step { assert(!(output[self] & SETTLED)); outcome[self] = result };
  takeSlot(self, pb_source);
  if
  :: result != FULFILLED -> writeSlot(self, REJECTION)
  :: else -> skip
  fi;
  pb_word = output[self];
  pb_list = NONE;
  do
  :: pb_word & LINKED -> writeSlot(self, NONE); pb_done = false; break
  :: else ->
    if
    :: (pb_word & OWNED) && OWNER_IS_RESPECTED ->
      pb_list = NONE;
      pb_next = (pb_word & ~CLAIMED) | SETTLED
    :: else ->
      pb_list = POINTER(pb_word);
      pb_next = SETTLED | (pb_list == NONE -> 0 : OWNED)
    fi;
    cas(output[self], pb_word, pb_next, pb_done);
    if
    :: pb_done -> d_step { settlements[self]++; assert(settlements[self] == 1) }; break
    :: else -> skip
    fi
  od;
  if
  :: pb_done && pb_list != NONE -> deliverAll(self, pb_list)
  :: else -> skip
  fi;
  pb_list = NONE; pb_source = NONE; pb_word = 0; pb_next = 0
}

/* fulfill, reject and copy: claim, write the result, publish, let go of the own input. */
inline settle(self, result) {
  claim(self, st_cell);
  if
  :: st_cell != NONE ->
    publish(st_cell, result);
    assert(pb_done);
    pb_done = false;
    if
    :: st_cell != self -> takeSlot(self, pb_source); pb_source = NONE /* dropInput */
    :: else -> skip
    fi
  :: else -> skip
  fi;
  st_cell = NONE
}

#define CELL_LOCALS \
  byte ts_old, cl_word, pb_source, pb_word, pb_next, pb_list, st_cell; \
  bool cl_done, pb_done;
