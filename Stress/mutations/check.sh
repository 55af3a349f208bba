#!/usr/bin/env bash
# Breaks the engine on purpose, one way at a time, in a copy of the repository, and requires that
# each break is noticed. Prints who noticed what. Slow, and so not part of CI.
#
#   Stress/mutations/check.sh              the soak, and the root package's tests if it misses one
#   Stress/mutations/check.sh --tests      both for each
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$here/../.." && pwd)
source "$here/mutants.sh"

with_tests=0
case "${1:-}" in
  "") ;;
  --tests) with_tests=1 ;;
  *)
    echo "usage: $0 [--tests]" >&2
    exit 64
    ;;
esac

# Always the same folder, so that only what a mutant changes is built again.
copy="${TMPDIR:-/tmp}/pledge-mutants-$(id -u)/Pledge"
mkdir -p "$copy"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

refresh() {
  # The names of what is under version control or new, and not ignored; same files stay untouched.
  (cd "$repository" && git ls-files -z --cached --others --exclude-standard) \
    | (cd "$repository" && tar --null -T - --ignore-failed-read -cf - 2>/dev/null) | tar -C "$copy" -xf -
  # What was deleted or renamed since the last time.
  (cd "$copy" && find Sources Tests Stress/Sources -name '*.swift') | while read -r file; do
    [ -e "$repository/$file" ] || rm "$copy/$file"
  done
}

# Prints what noticed something, or nothing.
verdict() {
  local soaked
  soaked=$(soak)
  [ -z "$soaked" ] || echo "$soaked"
  case "$soaked" in "BUILD FAILED"*) return ;; esac
  if [ "$with_tests" = 1 ] || [ -z "$soaked" ]; then test_root; fi
}

soak() {
  if ! (cd "$copy/Stress" && swift build -c release --product soak) >"$log" 2>&1; then
    echo "BUILD FAILED: $(grep -m1 error: "$log")"
    return
  fi
  # A mutant may crash or hang, too: the time is limited from outside as well.
  (cd "$copy/Stress" && timeout 150 .build/release/soak --minutes 0.2 --patience 15) \
    >"$log" 2>&1 && return
  local why
  why=$(grep -A 30 -m1 -E '^FAILED|Fatal error|crashed' "$log" | grep -v '^FAILED' | head -n 1)
  echo "soak: ${why:-crashed or hung}"
}

test_root() {
  if ! (cd "$copy" && swift build --build-tests) >"$log" 2>&1; then
    echo "BUILD FAILED: $(grep -m1 error: "$log")"
    return
  fi
  # Not by way of `swift test`, whose tests go on when it is ended.
  (cd "$copy" && timeout 180 .build/debug/PledgePackageTests.xctest \
    --testing-library swift-testing --no-parallel --filter '^PledgeTests\.' \
    --skip 'Depth|Races|LongLived') >"$log" 2>&1 && return
  local tests
  tests=$(grep -oE 'Test "?[A-Za-z0-9_]+.*recorded an issue' "$log" | awk '{print $2}' \
    | sort -u | head -n 4 | paste -sd ' ')
  echo "tests: ${tests:-crashed or hung}"
}

refresh
echo "== no mutation"
clean=$(verdict)
if [ -n "$clean" ]; then
  echo "error: the engine as it is was found wrong: $clean" >&2
  exit 1
fi

missed=0
for mutant in "${mutants[@]}"; do
  read -r name file edit <<<"$mutant"
  cp "$copy/$file" "$copy/$file.original"
  perl -0pi -e "$edit" "$copy/$file"
  if cmp -s "$copy/$file" "$copy/$file.original"; then
    result="NOT APPLICABLE: the text that the edit looks for is not in $file"
    missed=1
  else
    result=$(verdict)
    case "$result" in
      "") result="MISSED" missed=1 ;;
      "BUILD FAILED"*) missed=1 ;;
    esac
  fi
  mv "$copy/$file.original" "$copy/$file"
  touch "$copy/$file"
  printf '%-14s %s\n' "$name" "${result//$'\n'/; }"
done
exit "$missed"
