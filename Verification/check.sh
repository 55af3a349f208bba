#!/usr/bin/env bash
# Checks the model of the engine with SPIN: every scenario exhaustively, and that every mutant is
# refuted. Needs `spin` and `gcc`; two checks run at a time.
set -euo pipefail
cd "$(dirname "$0")"

for tool in spin gcc; do
  command -v "$tool" >/dev/null || { echo "error: $tool is not installed" >&2; exit 1; }
done

# check SCENARIO [MUTANT]: prints one line; fails if it is not what it should be.
check() {
  local scenario=$1 mutant=${2-} folder states
  folder=$work/$scenario${mutant:+.$mutant}
  mkdir -p "$folder/Scenarios"
  cp -r Engine "$folder/"
  cp "Scenarios/$scenario.pml" "$folder/Scenarios/"
  (
    cd "$folder/Scenarios"
    spin ${mutant:+"-DMUTANT_$mutant"} -a "$scenario.pml"
    # A verifier takes longer to optimise than it saves.
    gcc -O0 -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -w -o pan pan.c
    ./pan -m100000
  ) >"$folder/report" 2>&1 || { cat "$folder/report"; echo "error: $scenario $mutant did not run"; return 1; }
  if ! grep -q "errors:" "$folder/report" ||
    grep -qE "max search depth too small|out of memory" "$folder/report"; then
    echo "error: the search of $scenario $mutant was not exhaustive"
    return 1
  fi
  states=$(awk '/states, stored/ { print $1 }' "$folder/report")
  if grep -q "errors: 0" "$folder/report"; then
    printf '%-18s %-26s %9s states, no error\n' "$scenario" "$mutant" "$states"
    [ -z "$mutant" ] || { echo "error: $scenario does not refute $mutant"; return 1; }
  else
    printf '%-18s %-26s refuted\n' "$scenario" "$mutant"
    [ -n "$mutant" ] || { grep "pan:1" "$folder/report"; echo "error: $scenario failed"; return 1; }
  fi
}

if [ "${1-}" = --one ]; then
  shift
  check "$@"
  exit
fi
work=$(mktemp -d)
export work
trap 'rm -rf "$work"' EXIT
xargs -P 2 -L 1 ./check.sh --one <checks.txt
