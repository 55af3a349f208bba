// swift-tools-version: 6.1

import PackageDescription

/// Returns a program whose size `write-results` measures.
func size(_ name: String, _ products: [Target.Dependency]? = nil) -> Target {
  .executableTarget(
    name: "Size\(name)", dependencies: products ?? [.product(name: name, package: name)],
    path: "Size/\(name)")
}

let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "Pledge", path: ".."),
    .package(path: "../DropIn/PromiseKit"),
    .package(path: "../DropIn/Promises"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
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
        .product(name: "PromiseKit", package: "PromiseKit"),
        .product(name: "Promises", package: "Promises"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ]
    ),
    .executableTarget(
      name: "tracing",
      dependencies: [
        .product(name: "Pledge", package: "Pledge"),
        .product(name: "PledgeDiagnostics", package: "Pledge"),
      ]
    ),
  ] + [size("Baseline", []), size("Pledge"), size("PromiseKit"), size("Promises")],
  swiftLanguageModes: [.v6]
)
