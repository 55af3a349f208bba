#!/usr/bin/env bash
# Checks the model of the engine with SPIN: every scenario exhaustively, and that every mutant is
# refuted. Needs `spin` and `gcc`; takes about a minute on one core.
set -euo pipefail
cd "$(dirname "$0")"

for tool in spin gcc; do
  command -v "$tool" >/dev/null || { echo "error: $tool is not installed" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# verify SCENARIO [DEFINE]: leaves the verifier's report in $work/report.
verify() {
  local folder="$work/$1${2-}"
  mkdir -p "$folder"
  cp -r Engine "$folder/"
  mkdir "$folder/Scenarios"
  cp "Scenarios/$1.pml" "$folder/Scenarios/"
  (
    cd "$folder/Scenarios"
    spin ${2:+"-D$2"} -a "$1.pml" >spin.log || { cat spin.log >&2; exit 1; }
    gcc -O2 -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -w -o pan pan.c
    ./pan -m100000
  ) >"$work/report" || { cat "$work/report" >&2; echo "error: $1 ${2-} did not run" >&2; exit 1; }
  rm -rf "$folder"
  if grep -qE "max search depth too small|out of memory" "$work/report"; then
    echo "error: the search of $1 ${2-} was not exhaustive" >&2
    exit 1
  fi
  grep -q "errors:" "$work/report" || { echo "error: no report on $1 ${2-}" >&2; exit 1; }
}

states() { awk '/states, stored/ { print $1 }' "$work/report"; }
has_errors() { ! grep -q "errors: 0" "$work/report"; }

for file in Scenarios/*.pml; do
  scenario=$(basename "$file" .pml)
  verify "$scenario"
  if has_errors; then
    printf '%-14s FAILED\n' "$scenario"
    grep "pan:1" "$work/report" || true
    failures=$((failures + 1))
  else
    printf '%-14s %10s states, no error\n' "$scenario" "$(states)"
  fi
done

while read -r scenario mutant; do
  verify "$scenario" "MUTANT_$mutant"
  if has_errors; then
    printf '%-14s %-26s refuted\n' "$scenario" "$mutant"
  else
    printf '%-14s %-26s NOT REFUTED\n' "$scenario" "$mutant"
    failures=$((failures + 1))
  fi
done <<'END'
Settling CLAIM_TWICE
Settling PUSH_BY_STORE
Settling NEWEST_FIRST
Settling LEAVE_LATECOMERS
Settling LATECOMERS_OVERTAKE
Sweeping IGNORE_OWNER
Sweeping SWEEP_LOSES_THE_LIVING
Withdrawing TELL_TWICE
OwnObservers RELEASE_BEFORE_DELIVERY
Disowning LOOK_IF_SHARED
Adopting REOPEN_BEFORE_LOOKING
Adopting LINK_OBSERVED
Abandoning ABANDON_DETACHED
Ordering PLAIN_LOAD
END

if [ "$failures" -gt 0 ]; then
  echo "error: $failures checks failed" >&2
  exit 1
fi
