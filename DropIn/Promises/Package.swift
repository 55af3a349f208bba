// swift-tools-version: 6.1
import Foundation
import PackageDescription

/// Pledge: the one around this package, or the published one.
let pledge: Package.Dependency = {
  let manifest = "\(Context.packageDirectory)/../../Package.swift"
  if FileManager.default.fileExists(atPath: manifest) {
    return .package(name: "Pledge", path: "../..")
  }
  return .package(url: "https://github.com/pledge-swift/pledge", from: "1.0.0")
}()

let package = Package(
  name: "Promises",
  platforms: [.macOS(.v12), .iOS(.v15), .tvOS(.v15), .watchOS(.v8), .visionOS(.v1)],
  products: [
    .library(name: "Promises", targets: ["Promises"]),
    .library(name: "PromisesTestHelpers", targets: ["PromisesTestHelpers"]),
    .library(name: "FBLPromises", targets: ["FBLPromises"]),
  ],
  dependencies: [pledge],
  targets: [
    .target(name: "FBLPromises"),
    .target(
      name: "Promises", dependencies: ["FBLPromises", .product(name: "Pledge", package: "Pledge")]),
    .target(name: "PromisesTestHelpers", dependencies: ["Promises"]),
    .testTarget(
      name: "PromisesTests",
      dependencies: [
        "FBLPromises", "Promises", "PromisesTestHelpers",
        .product(name: "Pledge", package: "Pledge"),
      ],
      swiftSettings: [.swiftLanguageMode(.v5)]),
    .testTarget(
      name: "PromisesErrorStringTests", dependencies: ["Promises"],
      swiftSettings: [.swiftLanguageMode(.v5)]),
  ],
  swiftLanguageModes: [.v6]
)
