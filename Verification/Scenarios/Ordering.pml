/* Store, then load another word, on both sides (Dekker's pattern), in the C++ memory model's
 * release and acquire alone.
 *
 * One side is `attach` (pushes onto `output`, then looks for `disowned` in `input`) or `publish`
 * (settles `output`, looks for `kept`); the other one `cancel` or `keep` (sets the flag in `input`,
 * then looks at `output`). At least one must see the other. A word is its list of writes; a thread
 * sees no older write than its view, a load takes any of the newer ones and joins the writer's
 * view, a read-modify-write takes the newest. One side looks by a read-modify-write (`publish`,
 * `cancel`), the other one by an acquiring load. MUTANT_PLAIN_LOAD has both look by loads.
 */
#define OUTPUT 0
#define INPUT 1

typedef Write { byte sees[2] }
typedef Word { Write at[4]; byte newest }
Word word[2];
bool saw[2];

#define join(mine, theirs) mine = (theirs > mine -> theirs : mine)

proctype Side(byte mine; byte other; bool looksByRMW) {
  byte view[2], found;
  /* A read-modify-write that acquires and releases. */
  d_step {
    join(view[0], word[mine].at[word[mine].newest].sees[0]);
    join(view[1], word[mine].at[word[mine].newest].sees[1]);
    word[mine].newest++;
    view[mine] = word[mine].newest;
    word[mine].at[word[mine].newest].sees[0] = view[0];
    word[mine].at[word[mine].newest].sees[1] = view[1]
  };
  if
  :: looksByRMW ->
    d_step {
      found = word[other].newest;
      join(view[0], word[other].at[found].sees[0]);
      join(view[1], word[other].at[found].sees[1]);
      word[other].newest++;
      view[other] = word[other].newest;
      word[other].at[word[other].newest].sees[0] = view[0];
      word[other].at[word[other].newest].sees[1] = view[1]
    }
  :: else ->
    atomic { select(found : view[other] .. word[other].newest) }
  fi;
  saw[mine] = found > 0
}

init {
  atomic {
#ifdef MUTANT_PLAIN_LOAD
    run Side(OUTPUT, INPUT, false);
#else
    run Side(OUTPUT, INPUT, true);
#endif
    run Side(INPUT, OUTPUT, false)
  };
  _nr_pr == 1;
  assert(saw[OUTPUT] || saw[INPUT])
}
