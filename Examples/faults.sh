#!/usr/bin/env bash
# The long form of fetch's fault tests: killed a hundred times, 10,000 files, a full disk.
set -euo pipefail
cd "$(dirname "$0")"
PLEDGE_FULL=1 swift test --filter FetchTests
