/* Resolver.swift: what happens when the last reference to a resolver goes. */

inline dropResolver(self) {
  root(self, rs_root);
  if
  :: isSettledRoot(rs_root) || IS_ABANDONED(output[rs_root]) -> skip
  :: else -> breakPromise(self)
  fi;
  rs_root = NONE
}

inline breakPromise(self) {
#ifdef MUTANT_LOOK_AT_OWN_MARK_FIRST
  /* A canceller that has marked this very cell tells the producer, then rejects. */
  if
  :: input[self] & CANCELLED -> skip
  :: else ->
    isCancellationRequested(self, rs_flags);
    settle(self, (rs_flags -> DROPPED : FAILED))
  fi;
#else
  isCancellationRequested(self, rs_flags);
  if
#ifdef MUTANT_REJECT_BEFORE_TELLING
  :: rs_flags -> settle(self, DROPPED)
#else
  :: rs_flags -> cancelInput(self)
#endif
  :: else -> settle(self, FAILED) /* rejectBroken */
  fi;
#endif
  rs_flags = 0
}

inline isCancellationRequested(self, flags) {
  root(self, rs_root);
  flags = input[rs_root] & (rs_root == self -> CANCELLED | DISOWNED : CANCELLED);
  flags = flags | (input[self] & CANCELLED)
}

#define RESOLVER_LOCALS byte rs_root, rs_flags;
