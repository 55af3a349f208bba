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
  name: "PromiseKit",
  platforms: [.macOS(.v12), .iOS(.v15), .tvOS(.v15), .watchOS(.v8), .visionOS(.v1)],
  products: [
    .library(name: "PromiseKit", targets: ["PromiseKit"]),
    .library(name: "PMKFoundation", targets: ["PMKFoundation"]),
    .library(
      name: "PromiseKit-Dynamic", type: .dynamic, targets: ["PromiseKit", "PMKFoundation"]),
  ],
  traits: [
    .default(enabledTraits: ["Static"]),
    .trait(name: "Static", description: "Pledge becomes a part of what links this package."),
    .trait(
      name: "Dynamic",
      description: "Pledge is the dynamic library Pledge-Dynamic. Goes with PromiseKit-Dynamic."),
    .trait(
      name: "Deprecations",
      description: "Also the deprecated names, which PromiseKit has outside of SwiftPM only."),
  ],
  dependencies: [pledge],
  targets: [
    .target(name: "PromiseKit", dependencies: pledgeProducts),
    .target(name: "PMKFoundation", dependencies: ["PromiseKit"]),
    .testTarget(
      name: "PromiseKitTests", dependencies: ["PromiseKit"],
      swiftSettings: [.swiftLanguageMode(.v5)]),
    .testTarget(name: "PromiseKitSwift6Tests", dependencies: ["PromiseKit"]),
    .testTarget(
      name: "PMKFoundationTests",
      dependencies: ["PMKFoundation", .product(name: "PledgeFoundation", package: "Pledge")],
      swiftSettings: [.swiftLanguageMode(.v5)]),
  ],
  swiftLanguageModes: [.v6]
)
