#!/usr/bin/env bash
# Builds and runs the clients, compiles the mistakes, measures type checking, and checks that
# closures that race do not compile.
set -euo pipefail
cd "$(dirname "$0")"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
swift build 2>&1 | tee "$log"
if grep -q "warning:" "$log"; then
  echo "error: a client compiles with warnings" >&2
  exit 1
fi
bin=$(swift build --show-bin-path)
for client in Sources/*; do
  "$bin/$(basename "$client")"
done

Racing/races.py "$bin/Modules"
Mistakes/messages.py "$bin/Modules"
TypeChecking/measure.py "$bin/Modules"
