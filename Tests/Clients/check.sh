#!/usr/bin/env bash
# Builds and runs the clients, and checks that the racing one does not compile.
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
for client in Swift6Client Swift5Client MainActorClient; do
  "$bin/$client"
done

if swiftc -swift-version 6 -typecheck -I "$bin/Modules" Racing/main.swift 2>"$log"; then
  echo "error: the racing client compiles" >&2
  exit 1
fi
errors=$(grep -cE "^.*main.swift:[0-9]+:[0-9]+: error: .*(Sendable|captured var|main actor-isolated)" "$log" || true)
if [ "$errors" -ne 3 ]; then
  cat "$log" >&2
  echo "error: expected 3 errors about races, got $errors" >&2
  exit 1
fi
echo "Racing client: rejected, with $errors errors"
