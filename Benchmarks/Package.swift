// swift-tools-version: 6.1

import PackageDescription

/// A product of a library that is compared with Pledge.
func peer(_ name: String, _ package: String? = nil) -> Target.Dependency {
  .product(name: name, package: package ?? name, condition: .when(traits: ["Peers"]))
}

/// Returns a program whose size `write-results` measures.
func size(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(name: "Size\(name)", dependencies: dependencies, path: "Size/\(name)")
}

let pledge = Target.Dependency.product(name: "Pledge", package: "Pledge")

let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  traits: [
    .trait(
      name: "Peers",
      description: "The other libraries. check-costs, which measures only Pledge, does without."),
    .default(enabledTraits: ["Peers"]),
  ],
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
        "MallocCounter", "OneCore", pledge, peer("PromiseKit"), peer("Promises"),
        peer("NIOCore", "swift-nio"), peer("NIOEmbedded", "swift-nio"),
        peer("NIOPosix", "swift-nio"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    .executableTarget(
      name: "tracing",
      dependencies: [pledge, .product(name: "PledgeDiagnostics", package: "Pledge")]),
    size("Baseline", []), size("Pledge", [pledge]), size("PromiseKit", [peer("PromiseKit")]),
    size("Promises", [peer("Promises")]),
  ],
  swiftLanguageModes: [.v6]
)
