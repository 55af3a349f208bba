// swift-tools-version: 6.1
import Foundation
import PackageDescription

// Inside Pledge's repository Pledge is taken from there, elsewhere from its home.
let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
  .appendingPathComponent("../..")
let isInsideRepository =
  FileManager.default.fileExists(atPath: root.appendingPathComponent("Package.swift").path)
  && FileManager.default.fileExists(atPath: root.appendingPathComponent("Sources/Pledge").path)

let pledge: Package.Dependency =
  isInsideRepository
  ? .package(name: "Pledge", path: "../..")
  : .package(url: "https://github.com/pledge-swift/pledge", from: "1.0.0")
let pledgeName = isInsideRepository ? "Pledge" : "pledge"

let package = Package(
  name: "PromiseKit",
  platforms: [.macOS(.v12), .iOS(.v15), .tvOS(.v15), .watchOS(.v8), .visionOS(.v1)],
  products: [
    .library(name: "PromiseKit", targets: ["PromiseKit"]),
    .library(name: "PMKFoundation", targets: ["PMKFoundation"]),
  ],
  traits: [
    .trait(
      name: "Deprecations",
      description: "Also the deprecated names, which PromiseKit has outside of SwiftPM only.")
  ],
  dependencies: [pledge],
  targets: [
    .target(
      name: "PromiseKit",
      dependencies: [.product(name: "Pledge", package: pledgeName)]),
    .target(name: "PMKFoundation", dependencies: ["PromiseKit"]),
    .testTarget(
      name: "PromiseKitTests", dependencies: ["PromiseKit"],
      swiftSettings: [.swiftLanguageMode(.v5)]),
    .testTarget(name: "PromiseKitSwift6Tests", dependencies: ["PromiseKit"]),
    .testTarget(
      name: "PMKFoundationTests",
      dependencies: [
        "PMKFoundation", .product(name: "PledgeFoundation", package: pledgeName),
      ],
      swiftSettings: [.swiftLanguageMode(.v5)]),
  ],
  swiftLanguageModes: [.v6]
)
