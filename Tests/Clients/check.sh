#!/usr/bin/env bash
# Builds and runs the clients, compiles the mistakes, measures type checking, and checks that the
# racing client does not compile.
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

if swiftc -swift-version 6 -typecheck -parse-as-library -I "$bin/Modules" Racing/Races.swift 2>"$log"; then
  echo "error: the racing client compiles" >&2
  exit 1
fi
expected=$(grep -cE "^(@MainActor )?func .*\) (async throws )?\{$" Racing/Races.swift)
errors=$(grep -oE "^[^ ]*Races.swift:[0-9]+:[0-9]+: error: .*" "$log" | sort -u | wc -l)
if [ "$errors" -lt "$expected" ]; then
  cat "$log" >&2
  echo "error: expected $expected errors about races, got $errors" >&2
  exit 1
fi
echo "Racing client: rejected, with $errors errors"

Mistakes/messages.py "$bin/Modules"
TypeChecking/measure.py "$bin/Modules"
