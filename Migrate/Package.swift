// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "pledge-migrate",
  platforms: [.macOS(.v13)],
  products: [
    .executable(name: "pledge-migrate", targets: ["pledge-migrate"]),
    .plugin(name: "MigratePlugin", targets: ["MigratePlugin"]),
  ],
  dependencies: [
    .package(url: "https://github.com/swiftlang/swift-syntax", exact: "603.0.1"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
  ],
  targets: [
    .target(name: "CIndexReader"),
    .target(
      name: "MigrateKit",
      dependencies: [
        "CIndexReader",
        .product(name: "SwiftSyntax", package: "swift-syntax"),
        .product(name: "SwiftParser", package: "swift-syntax"),
        .product(name: "SwiftOperators", package: "swift-syntax"),
        .product(name: "SwiftParserDiagnostics", package: "swift-syntax"),
      ]),
    .executableTarget(
      name: "pledge-migrate",
      dependencies: [
        "MigrateKit",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    .plugin(
      name: "MigratePlugin",
      capability: .command(
        intent: .custom(
          verb: "pledge-migrate",
          description: "Describes, checks, and writes conversions from promises to async/await."),
        permissions: [
          .writeToPackageDirectory(reason: "The rewrite command converts the package's sources.")
        ]),
      dependencies: ["pledge-migrate"]),
    .testTarget(name: "MigrateKitTests", dependencies: ["MigrateKit"], exclude: ["Pairs"]),
  ]
)
