#!/bin/bash
# Fails if one of Pledge's hot paths costs more than costs.txt says, in instructions or allocations.
#
#   Benchmarks/check-costs.sh             compare
#   Benchmarks/check-costs.sh --update    rewrite costs.txt
#
# Takes valgrind; on Debian or Ubuntu: apt-get install valgrind.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if ! command -v valgrind > /dev/null; then
  echo "check-costs.sh: valgrind is not installed; on Debian or Ubuntu: apt-get install valgrind" >&2
  exit 1
fi
swift build -c release --package-path "$here" --product bench >&2
exec "$here/.build/release/bench" check --baseline "$here/costs.txt" "$@"
