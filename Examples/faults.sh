#!/usr/bin/env bash
# What users and the world do to fetch: it is killed, interrupted, its server goes away, the disk is
# full. Nothing may be lost, and nothing half-written.
#
#   Examples/faults.sh            less than a minute, once it is built
#   Examples/faults.sh --long     killed 100 times, interrupted 30 times, 10,000 files
#
# The full disk is a small file system of its own, which only root may mount; others leave it out.
set -euo pipefail
cd "$(dirname "$0")"
case "${1:-}" in
  "") ;;
  --long) export PLEDGE_FULL=1 ;;
  *)
    echo "usage: $0 [--long]" >&2
    exit 64
    ;;
esac
swift test --filter FetchTests
