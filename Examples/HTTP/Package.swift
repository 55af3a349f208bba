// swift-tools-version: 6.1
import PackageDescription

func products(_ names: String..., of package: String) -> [Target.Dependency] {
  names.map { .product(name: $0, package: package) }
}

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
      dependencies: products(
        "Pledge", "PledgeAsyncHTTPClient", "PledgeFoundation", "PledgeNIO", of: "Pledge")
        + products("ArgumentParser", of: "swift-argument-parser")
        + products("AsyncHTTPClient", of: "async-http-client")
        + products("Crypto", of: "swift-crypto")
        + products("NIOCore", "NIOPosix", "NIOHTTP1", of: "swift-nio")
        + products("NIOSSL", of: "swift-nio-ssl")),
    .executableTarget(
      name: "gateway",
      dependencies: products(
        "Pledge", "PledgeAsyncHTTPClient", "PledgeDiagnostics", "PledgeLifecycle", "PledgeLogging",
        "PledgeMetrics", "PledgeNIO", "PledgeTracing", of: "Pledge")
        + products("ArgumentParser", of: "swift-argument-parser")
        + products("AsyncHTTPClient", of: "async-http-client")
        + products("Hummingbird", of: "hummingbird")
        + products("InMemoryTracing", "Tracing", of: "swift-distributed-tracing")
        + products("Logging", of: "swift-log") + products("Metrics", of: "swift-metrics")
        + products("NIOCore", "NIOFoundationCompat", "NIOHTTP1", "NIOPosix", of: "swift-nio")
        + products("ServiceLifecycle", "UnixSignals", of: "swift-service-lifecycle"),
      resources: [.embedInCode("Serving/live.html")]),
    .testTarget(
      name: "FetchTests",
      dependencies: ["fetch"]
        + products("Pledge", "PledgeFoundation", "PledgeTesting", of: "Pledge")
        + products("NIOCore", "NIOPosix", of: "swift-nio") + products("NIOSSL", of: "swift-nio-ssl")
    ),
    .testTarget(
      name: "GatewayTests",
      dependencies: ["gateway"] + products("PledgeTesting", of: "Pledge")
        + products("InMemoryLogging", of: "swift-log")
        + products("NIOCore", "NIOPosix", of: "swift-nio")
        + products("AsyncHTTPClient", of: "async-http-client")),
  ],
  swiftLanguageModes: [.v6]
)
