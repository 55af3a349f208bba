// swift-tools-version: 6.1
import PackageDescription

// Scripts/publish replaces this line: what is published asks for a version.
let pledge = Package.Dependency.package(name: "Pledge", path: "../..")

/// Pledge, linked as the package's user asks for.
let pledgeProducts: [Target.Dependency] = [
  .product(name: "Pledge", package: "Pledge", condition: .when(traits: ["Static"])),
  .product(name: "Pledge-Dynamic", package: "Pledge", condition: .when(traits: ["Dynamic"])),
]

let package = Package(
  name: "Promises",
  platforms: [.macOS(.v12), .iOS(.v15), .tvOS(.v15), .watchOS(.v8), .visionOS(.v1)],
  products: [
    .library(name: "Promises", targets: ["Promises"]),
    .library(name: "PromisesTestHelpers", targets: ["PromisesTestHelpers"]),
    .library(name: "FBLPromises", targets: ["FBLPromises"]),
    .library(
      name: "Promises-Dynamic", type: .dynamic,
      targets: ["Promises", "PromisesTestHelpers", "FBLPromises"]),
  ],
  traits: [
    .default(enabledTraits: ["Static"]),
    .trait(name: "Static", description: "Links Pledge statically."),
    .trait(
      name: "Dynamic",
      description: "Links the dynamic library Pledge-Dynamic; for use with Promises-Dynamic."),
  ],
  dependencies: [pledge],
  targets: [
    .target(name: "FBLPromises"),
    .target(name: "Promises", dependencies: ["FBLPromises"] + pledgeProducts),
    .target(name: "PromisesTestHelpers", dependencies: ["Promises"]),
    .testTarget(
      name: "PromisesTests",
      dependencies: [
        "FBLPromises", "Promises", "PromisesTestHelpers",
        .product(name: "PledgeTesting", package: "Pledge"),
      ] + pledgeProducts,
      swiftSettings: [.swiftLanguageMode(.v5)]),
    .testTarget(name: "PromisesSwift6Tests", dependencies: ["Promises"]),
    .testTarget(
      name: "PromisesErrorStringTests", dependencies: ["Promises"],
      swiftSettings: [.swiftLanguageMode(.v5)]),
  ],
  swiftLanguageModes: [.v6]
)
