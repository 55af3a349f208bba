#!/bin/bash
# Tells how many bytes linking a library statically adds to a stripped program.
#
#   Benchmarks/size.sh [name…]
#
# Each name has a program Size/<name>.swift that does the same few things with that library. It is
# compared with Size/Baseline.swift, which does what can be done with closures alone. Release builds
# remove code that cannot be reached, but in Swift that is next to nothing: it is all of the library.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
scratch=$here/.build/size

# Sets `dependency` and `products` for a name.
look_up() {
  local local_package=""
  case $1 in
    NIO)
      dependency='.package(url: "https://github.com/apple/swift-nio", from: "2.101.2")'
      products='.product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio")'
      ;;
    OpenCombine)
      dependency='.package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0")'
      products='.product(name: "OpenCombine", package: "OpenCombine"),
        .product(name: "OpenCombineDispatch", package: "OpenCombine")'
      ;;
    Pledge) local_package=$root ;;
    PromiseKit | Promises) local_package=$root/DropIn/$1 ;;
    *)
      echo "size.sh: do not know how to get $1" >&2
      exit 2
      ;;
  esac
  if [ -n "$local_package" ]; then
    dependency=".package(name: \"$1\", path: \"$local_package\")"
    products=".product(name: \"$1\", package: \"$1\")"
  fi
}

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  for program in "$here"/Size/*.swift; do
    name=$(basename "$program" .swift)
    [ "$name" = Baseline ] || names+=("$name")
  done
fi

# A package of its own for each, so that one library's dependencies weigh on no other.
build() {
  local name=$1 dependency=$2 products=$3
  local package=$scratch/Size$name
  mkdir -p "$package/Sources/Size$name"
  cp "$here/Size/$name.swift" "$package/Sources/Size$name/main.swift"
  cat > "$package/Package.swift" <<MANIFEST
// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "Size$name",
  platforms: [.macOS(.v15)],
  dependencies: [$dependency],
  targets: [
    .executableTarget(name: "Size$name", dependencies: [$products])
  ]
)
MANIFEST
  swift build -c release --package-path "$package" --product "Size$name" >&2
  strip -o "$package/program" "$package/.build/release/Size$name"
}

size_of() { wc -c < "$scratch/Size$1/program"; }

build Baseline "" ""
for name in "${names[@]}"; do
  look_up "$name"
  build "$name" "$dependency" "$products"
done

echo "| library | bytes added |"
echo "| --- | ---: |"
for name in "${names[@]}"; do
  echo "| $name | $(($(size_of "$name") - $(size_of Baseline))) |"
done
