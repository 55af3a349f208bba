#!/usr/bin/env bash
# Runs the soak under ThreadSanitizer, and under AddressSanitizer with leak detection. Before the
# silence of a sanitizer counts, it has to notice a fault that was planted for it.
#
#   Stress/sanitize.sh                15 seconds each
#   Stress/sanitize.sh MINUTES        as many minutes each
#   Stress/sanitize.sh MINUTES SEED   with other programs
set -euo pipefail
cd "$(dirname "$0")"
minutes=${1:-0.25}
seed=${2:-1}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

step() { printf '\n=== %s (%ss)\n' "$*" "$SECONDS"; }

build() {
  # The linker has a line to say about each of the sanitizer's own symbols.
  swift build --sanitize="$1" --scratch-path "$2" --product soak 2>&1 \
    | { grep -v "Cannot export local symbol '__asan_" || true; }
}

# Fails unless the sanitizer reports $2 when the fault $1 is planted.
notices() {
  if "$soak" --plant "$1" >"$log" 2>&1 || ! grep -q "$2" "$log"; then
    head -n 20 "$log"
    echo "error: the planted $1 went unnoticed" >&2
    exit 1
  fi
  echo "The planted $1 was noticed."
}

# Not the memory: a sanitizer's own grows. Slow machines are slower with one, so with more patience.
soaks() { "$soak" --minutes "$minutes" --seed "$seed" --no-memory --patience 120; }

step "ThreadSanitizer"
build thread .build-tsan
soak=.build-tsan/debug/soak
export TSAN_OPTIONS="halt_on_error=1"
notices race "WARNING: ThreadSanitizer: .* race"
soaks

step "AddressSanitizer and LeakSanitizer"
build address .build-asan
soak=.build-asan/debug/soak
export ASAN_OPTIONS="detect_leaks=$([ "$(uname)" = Darwin ] && echo 0 || echo 1):quarantine_size_mb=64"
notices use-after-free "ERROR: AddressSanitizer: heap-use-after-free"
if [ "$(uname)" = Darwin ]; then
  echo "Apple's AddressSanitizer detects no leaks: the lifetime tests of the root package do."
else
  notices leak "ERROR: LeakSanitizer: detected memory leaks"
fi
soaks

step "Done"
