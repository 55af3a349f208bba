// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "Pledge",
  platforms: [.macOS(.v12), .iOS(.v15), .tvOS(.v15), .watchOS(.v8), .visionOS(.v1)],
  products: [
    .library(name: "Pledge", targets: ["Pledge"]),
    .library(name: "PledgeFoundation", targets: ["PledgeFoundation"]),
    .library(name: "PledgeTesting", targets: ["PledgeTesting"]),
    .library(name: "PledgeDiagnostics", targets: ["PledgeDiagnostics"]),
    // All modules in one dynamic library: two libraries would each have a copy of Pledge.
    .library(
      name: "Pledge-Dynamic", type: .dynamic,
      targets: ["Pledge", "PledgeFoundation", "PledgeTesting", "PledgeDiagnostics"]),
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
    .testTarget(name: "PledgeTestingTests", dependencies: ["PledgeTesting"]),
    .testTarget(name: "PledgeTests", dependencies: ["Pledge", "PledgeTesting"]),
    .testTarget(
      name: "PledgeFoundationTests", dependencies: ["PledgeFoundation", "PledgeTesting"]),
    .testTarget(
      name: "PledgeDiagnosticsTests", dependencies: ["PledgeDiagnostics", "PledgeTesting"]),
    .testTarget(
      name: "DocumentationTests",
      dependencies: ["Pledge", "PledgeDiagnostics", "PledgeFoundation", "PledgeTesting"]),
  ],
  swiftLanguageModes: [.v6]
)
