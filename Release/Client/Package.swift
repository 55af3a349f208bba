// swift-tools-version: 5.9
import PackageDescription

// An app that is older than Swift 6, and takes the drop-in packages by version. Release/check puts
// the addresses of local repositories in place of the published ones, and builds and runs it.
let package = Package(
  name: "Client",
  platforms: [.macOS(.v12), .iOS("16.4"), .watchOS(.v9)],
  dependencies: [
    .package(url: "https://git.example/pledge", from: "0.9.0"),
    .package(url: "https://git.example/PromiseKit", from: "0.9.0"),
    .package(url: "https://git.example/promises", from: "0.9.0"),
  ],
  targets: [
    .executableTarget(
      name: "Client",
      dependencies: [
        .product(name: "Pledge", package: "pledge"),
        .product(name: "PromiseKit", package: "PromiseKit"),
        .product(name: "PMKFoundation", package: "PromiseKit"),
        .product(name: "Promises", package: "promises"),
      ])
  ],
  swiftLanguageVersions: [.v5]
)
