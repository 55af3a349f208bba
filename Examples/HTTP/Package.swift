// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "HTTP",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(
      name: "Pledge", path: "../..",
      traits: ["AsyncHTTPClient", "Logging", "Metrics", "NIO", "ServiceLifecycle", "Tracing"]),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-crypto", "3.0.0"..<"5.0.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.100.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    .executableTarget(
      name: "fetch",
      dependencies: [
        .product(name: "Pledge", package: "Pledge"),
        .product(name: "PledgeAsyncHTTPClient", package: "Pledge"),
        .product(name: "PledgeFoundation", package: "Pledge"),
        .product(name: "PledgeNIO", package: "Pledge"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ]),
    .executableTarget(
      name: "gateway",
      dependencies: [
        .product(name: "Pledge", package: "Pledge"),
        .product(name: "PledgeAsyncHTTPClient", package: "Pledge"),
        .product(name: "PledgeDiagnostics", package: "Pledge"),
        .product(name: "PledgeLifecycle", package: "Pledge"),
        .product(name: "PledgeLogging", package: "Pledge"),
        .product(name: "PledgeMetrics", package: "Pledge"),
        .product(name: "PledgeNIO", package: "Pledge"),
        .product(name: "PledgeTracing", package: "Pledge"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOFoundationCompat", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ], resources: [.embedInCode("Serving/live.html")]),
    .testTarget(
      name: "FetchTests",
      dependencies: [
        "fetch",
        .product(name: "Pledge", package: "Pledge"),
        .product(name: "PledgeFoundation", package: "Pledge"),
        .product(name: "PledgeTesting", package: "Pledge"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ]),
    .testTarget(
      name: "GatewayTests",
      dependencies: [
        "gateway",
        .product(name: "PledgeTesting", package: "Pledge"),
        .product(name: "InMemoryLogging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
