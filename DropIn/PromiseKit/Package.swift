// swift-tools-version: 6.1
import PackageDescription

// Scripts/publish replaces this line: what is published asks for a version.
let pledge = Package.Dependency.package(name: "Pledge", path: "../..")

/// Pledge, linked as the package's user asks for.
let pledgeProducts: [Target.Dependency] = [
  .product(name: "Pledge", package: "Pledge", condition: .when(traits: ["Static"])),
  .product(name: "Pledge-Dynamic", package: "Pledge", condition: .when(traits: ["Dynamic"])),
]
let pledgeTesting = Target.Dependency.product(name: "PledgeTesting", package: "Pledge")

let package = Package(
  name: "PromiseKit",
  platforms: [.macOS(.v12), .iOS(.v15), .tvOS(.v15), .watchOS(.v8), .visionOS(.v1)],
  products: [
    .library(name: "PromiseKit", targets: ["PromiseKit"]),
    .library(name: "PMKFoundation", targets: ["PMKFoundation"]),
    .library(name: "PromiseKit-Dynamic", type: .dynamic, targets: ["PromiseKit", "PMKFoundation"]),
  ],
  traits: [
    .default(enabledTraits: ["Static"]),
    .trait(name: "Static", description: "Links Pledge statically."),
    .trait(
      name: "Dynamic",
      description: "Links the dynamic library Pledge-Dynamic; for use with PromiseKit-Dynamic."),
    .trait(
      name: "Deprecations",
      description: "Adds the deprecated names, which the original has only outside of SwiftPM."),
  ],
  dependencies: [pledge],
  targets: [
    .target(name: "PromiseKit", dependencies: pledgeProducts),
    .target(name: "PMKFoundation", dependencies: ["PromiseKit"]),
    .testTarget(
      name: "PromiseKitTests", dependencies: ["PromiseKit", pledgeTesting],
      swiftSettings: [.swiftLanguageMode(.v5)]),
    .testTarget(name: "PromiseKitSwift6Tests", dependencies: ["PromiseKit"]),
    .testTarget(
      name: "PMKFoundationTests",
      dependencies: [
        "PMKFoundation", .product(name: "PledgeFoundation", package: "Pledge"), pledgeTesting,
      ],
      swiftSettings: [.swiftLanguageMode(.v5)]),
  ],
  swiftLanguageModes: [.v6]
)
