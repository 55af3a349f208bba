// swift-tools-version: 6.1
import PackageDescription

/// Products of swift-nio, for the trait that needs them.
func nio(_ products: String...) -> [Target.Dependency] {
  products.map { .product(name: $0, package: "swift-nio", condition: .when(traits: ["NIO"])) }
}

let package = Package(
  name: "Pledge",
  platforms: [.macOS(.v12), .iOS(.v15), .tvOS(.v15), .watchOS(.v8), .visionOS(.v1)],
  products: [
    .library(name: "Pledge", targets: ["Pledge"]),
    .library(name: "PledgeFoundation", targets: ["PledgeFoundation"]),
    .library(name: "PledgeTesting", targets: ["PledgeTesting"]),
    .library(name: "PledgeDiagnostics", targets: ["PledgeDiagnostics"]),
    .library(name: "PledgeNIO", targets: ["PledgeNIO"]),
  ],
  // Each turns on the integration with a library. Without them no dependency is fetched, and the
  // integrations' modules are empty.
  traits: [
    .trait(name: "NIO", description: "PledgeNIO: event loops, their futures and promises.")
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-nio", from: "2.81.0")
  ],
  targets: [
    .target(
      name: "Pledge",
      // For atomics that are stored in line: see Platform/Atomics.swift.
      swiftSettings: [
        .enableExperimentalFeature("BuiltinModule"), .enableExperimentalFeature("RawLayout"),
        .enableExperimentalFeature("StaticExclusiveOnly"),
      ]),
    .target(name: "PledgeFoundation", dependencies: ["Pledge"]),
    .target(name: "PledgeDiagnostics", dependencies: ["Pledge"], exclude: ["Export/Page"]),
    .target(name: "PledgeTesting", dependencies: ["Pledge", "PledgeDiagnostics"]),
    .target(name: "PledgeNIO", dependencies: ["Pledge"] + nio("NIOCore", "NIOPosix")),
    .testTarget(name: "PledgeTestingTests", dependencies: ["PledgeTesting"]),
    .testTarget(name: "PledgeTests", dependencies: ["Pledge", "PledgeTesting"]),
    .testTarget(
      name: "PledgeFoundationTests", dependencies: ["PledgeFoundation", "PledgeTesting"]),
    .testTarget(
      name: "PledgeDiagnosticsTests", dependencies: ["PledgeDiagnostics", "PledgeTesting"]),
    .testTarget(
      name: "PledgeNIOTests",
      dependencies: ["PledgeNIO", "PledgeTesting"] + nio("NIOCore", "NIOPosix", "NIOEmbedded")),
    .testTarget(
      name: "DocumentationTests",
      dependencies: ["Pledge", "PledgeDiagnostics", "PledgeTesting", "PledgeNIO"]
        + nio("NIOCore", "NIOPosix")),
  ],
  swiftLanguageModes: [.v6]
)
