// swift-tools-version: 5.9
import PackageDescription

// An app that is older than Swift 6, and depends on versions of the drop-in packages. Scripts/check-release
// replaces the published addresses with those of local repositories, and builds and runs the app.
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
