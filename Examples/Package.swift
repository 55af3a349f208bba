// swift-tools-version: 6.1

import PackageDescription

let package = Package(
  name: "Examples",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "Pledge", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-crypto", from: "3.12.3"),
    .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
  ],
  targets: [
    .executableTarget(
      name: "fetch",
      dependencies: [
        "FetchSupport",
        "UnreliableServer",
        .product(name: "Pledge", package: "Pledge"),
        .product(name: "PledgeDiagnostics", package: "Pledge"),
        .product(name: "PledgeFoundation", package: "Pledge"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]
    ),
    .target(
      name: "FetchSupport",
      dependencies: [.product(name: "Crypto", package: "swift-crypto")]
    ),
    .target(
      name: "UnreliableServer",
      dependencies: [
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "FlyingFox", package: "FlyingFox"),
        .product(name: "FlyingSocks", package: "FlyingFox"),
      ]
    ),
    .testTarget(name: "FetchSupportTests", dependencies: ["FetchSupport"]),
    .testTarget(
      name: "FetchTests",
      dependencies: ["fetch", "FetchSupport", "UnreliableServer"]
    ),
    .testTarget(
      name: "UnreliableServerTests",
      dependencies: [
        "UnreliableServer",
        .product(name: "Crypto", package: "swift-crypto"),
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)
