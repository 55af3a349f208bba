#!/usr/bin/env bash
# Builds the documentation of Pledge, PledgeDiagnostics and PledgeTesting; exits non-zero on any warning.
#
#   Documentation/build-docs.sh [output folder]
#
# SCRATCH names the build folder (default: .build-docs).
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=${SCRATCH:-.build-docs}
output=${1:-$scratch}

# On a Mac the tools come from Xcode, elsewhere from the toolchain that `swift` belongs to.
sdk=()
if [ "$(uname)" = Darwin ]; then
  docc=(xcrun docc)
  extract=(xcrun swift-symbolgraph-extract)
  sdk=(-sdk "$(xcrun --show-sdk-path)")
else
  toolchain=$(dirname "$(readlink -f "$(command -v swift)")")
  docc=("$toolchain/docc")
  extract=("$toolchain/swift-symbolgraph-extract")
fi

swift build --scratch-path "$scratch" --target PledgeTesting

# Extracted from the built modules, and not emitted by the build: a build that has nothing to do
# emits nothing.
target=$(swift -print-target-info | sed -n 's/^ *"triple": "\(.*\)",*$/\1/p' | head -1)
modules=$(swift build --scratch-path "$scratch" --show-bin-path)/Modules
mkdir -p "$output"

for module in Pledge PledgeDiagnostics PledgeTesting; do
  graphs=$scratch/symbol-graphs/$module
  archive=$output/$module.doccarchive
  rm -rf "$graphs" "$archive"
  mkdir -p "$graphs"
  "${extract[@]}" -module-name "$module" -I "$modules" -target "$target" ${sdk[@]+"${sdk[@]}"} \
    -minimum-access-level public -output-dir "$graphs"
  "${docc[@]}" convert "Sources/$module/$module.docc" \
    --additional-symbol-graph-dir "$graphs" \
    --fallback-display-name "$module" \
    --fallback-bundle-identifier "org.pledge.$module" \
    --analyze --warnings-as-errors \
    --output-path "$archive"
  echo "Documentation: $archive"
done
