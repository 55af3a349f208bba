// swift-tools-version: 6.1

import PackageDescription

let package = Package(
  name: "Stress",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "Pledge", path: "../.."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
  ],
  targets: [
    .target(
      name: "StressKit",
      dependencies: [
        "CHeap",
        .product(name: "Pledge", package: "Pledge"),
        .product(name: "PledgeTesting", package: "Pledge"),
      ]
    ),
    .target(name: "CHeap"),
    .executableTarget(
      name: "soak",
      dependencies: [
        "StressKit",
        .product(name: "PledgeDiagnostics", package: "Pledge"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]
    ),
    .executableTarget(
      name: "overload",
      dependencies: [
        "StressKit",
        .product(name: "Pledge", package: "Pledge"),
        .product(name: "PledgeTesting", package: "Pledge"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]
    ),
    .testTarget(name: "StressKitTests", dependencies: ["StressKit"]),
  ],
  swiftLanguageModes: [.v6]
)
