// swift-tools-version: 6.1

import PackageDescription

// One program that uses Pledge and both drop-in modules at once.
let package = Package(
  name: "Together",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "Pledge", path: "../.."),
    .package(path: "../PromiseKit"),
    .package(path: "../Promises"),
  ],
  targets: [
    .testTarget(
      name: "TogetherTests",
      dependencies: [
        .product(name: "Pledge", package: "Pledge"),
        .product(name: "PromiseKit", package: "PromiseKit"),
        .product(name: "Promises", package: "Promises"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
