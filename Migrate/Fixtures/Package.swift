// swift-tools-version: 6.1
import PackageDescription

// Chains and their conversions, which `Migrate/check-fixtures` runs both ways. `After` contains what
// `pledge-migrate rewrite` makes of `Before`.
let promiseKit = Target.Dependency.product(name: "PromiseKit", package: "PromiseKit")
let promises = Target.Dependency.product(name: "Promises", package: "Promises")

let package = Package(
  name: "Fixtures",
  platforms: [.macOS(.v13)],
  dependencies: [
    .package(name: "PromiseKit", path: "../../DropIn/PromiseKit"),
    .package(name: "Promises", path: "../../DropIn/Promises"),
  ],
  targets: [
    .executableTarget(name: "generator"),
    .target(name: "Support", dependencies: [promiseKit, promises]),
    .target(
      name: "Before", dependencies: ["Support", promiseKit, promises],
      swiftSettings: [.swiftLanguageMode(.v5)]),
    .target(
      name: "After", dependencies: ["Support", promiseKit, promises],
      swiftSettings: [.swiftLanguageMode(.v5)]),
    .executableTarget(name: "compare", dependencies: ["Support", "Before", "After"]),
  ]
)
