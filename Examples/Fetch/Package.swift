// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "Fetch",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "Pledge", path: "../..", traits: ["NIO"]),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.100.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
  ],
  targets: [
    .executableTarget(
      name: "fetch",
      dependencies: [
        "FetchEngine",
        "FetchSupport",
        .product(name: "Pledge", package: "Pledge"),
        .product(name: "PledgeDiagnostics", package: "Pledge"),
        .product(name: "PledgeFoundation", package: "Pledge"),
        .product(name: "PledgeNIO", package: "Pledge"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ]),
    .target(
      name: "FetchEngine",
      dependencies: [
        "FetchSupport",
        .product(name: "Pledge", package: "Pledge"),
        .product(name: "PledgeFoundation", package: "Pledge"),
      ]),
    .target(name: "FetchSupport", dependencies: ["CSHA256"]),
    // Optimized in debug builds, too: computing a checksum must not take longer than the download.
    .target(name: "CSHA256", cSettings: [.unsafeFlags(["-O2"])]),
    .target(name: "FetchTestSupport", path: "Tests/FetchTestSupport"),
    .testTarget(
      name: "FetchSupportTests", dependencies: ["FetchSupport", "FetchTestSupport"]),
    .testTarget(
      name: "FetchEngineTests",
      dependencies: [
        "FetchEngine", "FetchSupport", "FetchTestSupport",
        .product(name: "PledgeTesting", package: "Pledge"),
      ]),
    .testTarget(
      name: "FetchTests",
      dependencies: [
        "fetch", "FetchEngine", "FetchSupport", "FetchTestSupport",
        .product(name: "PledgeTesting", package: "Pledge"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
