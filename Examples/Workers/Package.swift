// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "Workers",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "Pledge", path: "../.."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-crypto", "3.0.0"..<"5.0.0"),
  ],
  targets: [
    .systemLibrary(
      name: "CPostgreSQL", pkgConfig: "libpq",
      providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    .target(
      name: "PostgreSQL",
      dependencies: ["CPostgreSQL", .product(name: "Pledge", package: "Pledge")]),
    .executableTarget(
      name: "workers",
      dependencies: [
        "PostgreSQL",
        .product(name: "Pledge", package: "Pledge"),
        .product(name: "PledgeFoundation", package: "Pledge"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Crypto", package: "swift-crypto"),
      ]),
    .testTarget(
      name: "WorkersTests",
      dependencies: [
        "PostgreSQL", "workers", .product(name: "PledgeTesting", package: "Pledge"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
