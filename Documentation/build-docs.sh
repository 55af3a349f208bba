#!/usr/bin/env bash
# Builds the documentation of all modules as one static site; exits non-zero on any warning.
#
#   Documentation/build-docs.sh [output folder]    # default: .build/documentation
#   Documentation/build-docs.sh --serve            # builds it, and serves it on port 8000
#
# SCRATCH     a build folder to use for all packages (default: the folder `.build` of each)
# BASE_PATH   the path below which the site is hosted, such as `pledge`
# SOURCE_URL  where the repository's files can be read, such as `https://example.org/pledge/blob/main`;
#             without it, links to files outside of the articles become plain text
set -euo pipefail
cd "$(dirname "$0")/.."

serve=false
if [ "${1:-}" = --serve ]; then
  serve=true
  shift
fi
output=${1:-.build/documentation}
work=${SCRATCH:-.build}/documentation-work

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
target=$(swift -print-target-info | sed -n 's/^ *"triple": "\(.*\)",*$/\1/p' | head -1)

archives=()

# document PACKAGE MODULE [OPTION OF THE EXTRACTOR…]
#
# The symbols are extracted from the built modules rather than emitted by the build, because a build
# that has nothing to do emits nothing.
document() {
  local package=$1 module=$2 scratch=$1/.build modules
  shift 2
  # DocC's notes would ask for links to the extended modules, whose names differ among systems.
  local notes=(--analyze)
  [ $# -eq 0 ] || notes=()
  [ -z "${SCRATCH:-}" ] || scratch=$SCRATCH/$package
  swift build --package-path "$package" --scratch-path "$scratch" --target "$module"
  modules=$(swift build --package-path "$package" --scratch-path "$scratch" --show-bin-path)/Modules

  local graphs=$work/symbol-graphs/$module catalog=$work/catalogs/$module.docc
  local archive=$work/archives/$module.doccarchive
  rm -rf "$graphs" "$catalog" "$archive"
  mkdir -p "$graphs" "$(dirname "$catalog")" "$(dirname "$archive")"
  "${extract[@]}" -module-name "$module" -I "$modules" -target "$target" ${sdk[@]+"${sdk[@]}"} \
    -minimum-access-level public -output-dir "$graphs" "$@"
  Documentation/prepare-catalog "$package/Sources/$module/$module.docc" "$catalog"
  "${docc[@]}" convert "$catalog" \
    --additional-symbol-graph-dir "$graphs" \
    --fallback-display-name "$module" \
    --fallback-bundle-identifier "org.pledge.$module" \
    --transform-for-static-hosting ${BASE_PATH:+--hosting-base-path "$BASE_PATH"} \
    ${notes[@]+"${notes[@]}"} --warnings-as-errors \
    --output-path "$archive"
  archives+=("$archive")
}

document . Pledge
document . PledgeFoundation -emit-extension-block-symbols
document . PledgeTesting
document . PledgeDiagnostics
document DropIn/PromiseKit PromiseKit
document DropIn/Promises Promises

rm -rf "$output"
mkdir -p "$(dirname "$output")"
"${docc[@]}" merge "${archives[@]}" --synthesized-landing-page-name Pledge \
  --synthesized-landing-page-kind Package --synthesized-landing-page-topics-style list \
  --output-path "$output"

# The root of the site leads to the landing page.
cat > "$output/index.html" <<HTML
<!doctype html>
<meta charset="utf-8">
<title>Pledge</title>
<meta http-equiv="refresh" content="0; url=${BASE_PATH:+/$BASE_PATH}/documentation/">
<a href="${BASE_PATH:+/$BASE_PATH}/documentation/">Documentation of Pledge</a>
HTML

Documentation/check-symbols "$work"/symbol-graphs/*
Documentation/check-site "$output" ${BASE_PATH:+--base-path "$BASE_PATH"}
echo "Documentation: $output"
if $serve; then
  echo "Open http://localhost:8000/documentation/ (Ctrl-C ends the server)."
  python3 -m http.server --directory "$output" 8000
fi
