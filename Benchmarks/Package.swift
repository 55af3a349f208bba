// swift-tools-version: 6.1

import PackageDescription

let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "Pledge", path: "..", traits: ["NIO"]),
    .package(path: "../DropIn/PromiseKit"),
    .package(path: "../DropIn/Promises"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
  ],
  targets: [
    .target(name: "MallocCounter"),
    .target(name: "OneCore"),
    .executableTarget(
      name: "bench",
      dependencies: [
        "MallocCounter",
        "OneCore",
        .product(name: "Pledge", package: "Pledge"),
        .product(name: "PledgeNIO", package: "Pledge"),
        .product(name: "PromiseKit", package: "PromiseKit"),
        .product(name: "Promises", package: "Promises"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "OpenCombine", package: "OpenCombine"),
        .product(name: "OpenCombineDispatch", package: "OpenCombine"),
      ]
    ),
    .executableTarget(
      name: "tracing",
      dependencies: [
        .product(name: "Pledge", package: "Pledge"),
        .product(name: "PledgeDiagnostics", package: "Pledge"),
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)
