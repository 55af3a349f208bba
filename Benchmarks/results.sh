#!/bin/bash
# Measures everything and writes RESULTS.md and Plots/. Takes an hour or so, on a machine that does
# nothing else meanwhile.
#
#   Benchmarks/results.sh [option of bench…]
set -euo pipefail
cd "$(dirname "$0")/.."
swift build -c release --package-path Benchmarks --product bench >&2
swift run -c release --package-path Benchmarks bench \
  --md Benchmarks/RESULTS.md --svg Benchmarks/Plots "$@"
{
  echo
  echo "## Code size"
  echo
  echo "What linking a library statically adds to a stripped program, by \`Benchmarks/size.sh\`."
  echo
  Benchmarks/size.sh
  echo
  echo "Why goals are met or missed: [PROFILES.md](PROFILES.md)."
} >> Benchmarks/RESULTS.md
# Those that the article on performance shows.
mkdir -p Sources/Pledge/Pledge.docc/Resources
for plot in fan-in deep-chain-memory recursive-loop-memory; do
  cp "Benchmarks/Plots/$plot.svg" Sources/Pledge/Pledge.docc/Resources/
done
