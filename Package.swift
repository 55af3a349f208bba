// swift-tools-version: 6.1
import PackageDescription

// The products of other packages, each behind the trait that needs it.

func nio(_ products: String...) -> [Target.Dependency] {
  products.map { .product(name: $0, package: "swift-nio", condition: .when(traits: ["NIO"])) }
}

func logging(_ product: String) -> Target.Dependency {
  .product(name: product, package: "swift-log", condition: .when(traits: ["Logging"]))
}

func tracing(_ product: String) -> Target.Dependency {
  .product(
    name: product, package: "swift-distributed-tracing", condition: .when(traits: ["Tracing"]))
}

let serviceContext: Target.Dependency = .product(
  name: "ServiceContextModule", package: "swift-service-context",
  condition: .when(traits: ["Tracing"]))

func metrics(_ product: String) -> Target.Dependency {
  .product(name: product, package: "swift-metrics", condition: .when(traits: ["Metrics"]))
}

func lifecycle(_ product: String) -> Target.Dependency {
  .product(
    name: product, package: "swift-service-lifecycle",
    condition: .when(traits: ["ServiceLifecycle"]))
}

func httpClient(_ product: String, in package: String) -> Target.Dependency {
  .product(name: product, package: package, condition: .when(traits: ["AsyncHTTPClient"]))
}

let openCombine: Target.Dependency = .product(
  name: "OpenCombine", package: "OpenCombine", condition: .when(traits: ["OpenCombine"]))

let package = Package(
  name: "Pledge",
  platforms: [.macOS(.v12), .iOS(.v15), .tvOS(.v15), .watchOS(.v8), .visionOS(.v1)],
  products: [
    .library(name: "Pledge", targets: ["Pledge"]),
    .library(name: "PledgeFoundation", targets: ["PledgeFoundation"]),
    .library(name: "PledgeTesting", targets: ["PledgeTesting"]),
    // Apart from PledgeTesting, which works with any test framework, and in apps' previews.
    .library(name: "PledgeTestingTraits", targets: ["PledgeTestingTraits"]),
    .library(name: "PledgeDiagnostics", targets: ["PledgeDiagnostics"]),
    .library(name: "PledgeNIO", targets: ["PledgeNIO"]),
    .library(name: "PledgeCombine", targets: ["PledgeCombine"]),
    .library(name: "PledgeLogging", targets: ["PledgeLogging"]),
    .library(name: "PledgeTracing", targets: ["PledgeTracing"]),
    .library(name: "PledgeMetrics", targets: ["PledgeMetrics"]),
    .library(name: "PledgeLifecycle", targets: ["PledgeLifecycle"]),
    .library(name: "PledgeAsyncHTTPClient", targets: ["PledgeAsyncHTTPClient"]),
    // All modules in one dynamic library: two libraries would each have a copy of Pledge. All but
    // PledgeTestingTraits, since Swift Testing is there in tests only.
    .library(
      name: "Pledge-Dynamic", type: .dynamic,
      targets: [
        "Pledge", "PledgeFoundation", "PledgeTesting", "PledgeDiagnostics", "PledgeNIO",
        "PledgeCombine", "PledgeLogging", "PledgeTracing", "PledgeMetrics", "PledgeLifecycle",
        "PledgeAsyncHTTPClient",
      ]),
  ],
  // Each turns on the integration with a library. Without them no dependency is fetched, and the
  // integrations' modules are empty.
  traits: [
    .trait(name: "NIO", description: "PledgeNIO: event loops, their futures and promises."),
    .trait(
      name: "OpenCombine", description: "PledgeCombine with OpenCombine in place of Combine."),
    .trait(name: "Logging", description: "PledgeLogging: swift-log's loggers in handlers."),
    .trait(name: "Tracing", description: "PledgeTracing: service contexts in handlers, and spans."),
    .trait(name: "Metrics", description: "PledgeMetrics: what the policies do, for swift-metrics."),
    .trait(
      name: "ServiceLifecycle",
      description: "PledgeLifecycle: work that ends within a deadline on graceful shutdown."),
    .trait(
      name: "AsyncHTTPClient",
      description: "PledgeAsyncHTTPClient: requests and streamed bodies as promises; turns on NIO.",
      enabledTraits: ["NIO"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-nio", from: "2.81.0"),
    .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-service-context", from: "1.1.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.1.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.25.0"),
  ],
  targets: [
    .target(
      name: "Pledge",
      // For atomics that are stored in line: see Platform/Atomics.swift.
      swiftSettings: [
        .enableExperimentalFeature("BuiltinModule"), .enableExperimentalFeature("RawLayout"),
        .enableExperimentalFeature("StaticExclusiveOnly"),
      ]),
    .target(name: "PledgeFoundation", dependencies: ["Pledge"]),
    .target(name: "PledgeDiagnostics", dependencies: ["Pledge"], exclude: ["Export/Page"]),
    .target(name: "PledgeTesting", dependencies: ["Pledge", "PledgeDiagnostics"]),
    .target(name: "PledgeTestingTraits", dependencies: ["Pledge", "PledgeDiagnostics"]),
    .target(name: "PledgeNIO", dependencies: ["Pledge"] + nio("NIOCore", "NIOPosix")),
    .target(name: "PledgeCombine", dependencies: ["Pledge", openCombine]),
    .target(name: "PledgeLogging", dependencies: ["Pledge", logging("Logging")]),
    .target(
      name: "PledgeTracing", dependencies: ["Pledge", serviceContext, tracing("Tracing")]),
    .target(name: "PledgeMetrics", dependencies: ["Pledge", metrics("Metrics")]),
    .target(name: "PledgeLifecycle", dependencies: ["Pledge", lifecycle("ServiceLifecycle")]),
    .target(
      name: "PledgeAsyncHTTPClient",
      dependencies: [
        "Pledge", "PledgeNIO", httpClient("AsyncHTTPClient", in: "async-http-client"),
        httpClient("NIOHTTP1", in: "swift-nio"), httpClient("Logging", in: "swift-log"),
      ] + nio("NIOCore", "NIOPosix")),
    .testTarget(name: "PledgeTestingTests", dependencies: ["PledgeTesting"]),
    .testTarget(
      name: "PledgeTestingTraitsTests", dependencies: ["PledgeTestingTraits", "PledgeTesting"]),
    .testTarget(name: "PledgeTests", dependencies: ["Pledge", "PledgeTesting"]),
    .testTarget(
      name: "PledgeFoundationTests", dependencies: ["PledgeFoundation", "PledgeTesting"]),
    .testTarget(
      name: "PledgeDiagnosticsTests", dependencies: ["PledgeDiagnostics", "PledgeTesting"]),
    .testTarget(
      name: "PledgeNIOTests",
      dependencies: ["PledgeNIO", "PledgeTesting"] + nio("NIOCore", "NIOPosix", "NIOEmbedded")),
    .testTarget(
      name: "PledgeCombineTests", dependencies: ["PledgeCombine", "PledgeTesting", openCombine]),
    .testTarget(
      name: "PledgeContextTests",
      dependencies: [
        "PledgeLogging", "PledgeTracing", "PledgeNIO", "PledgeTesting", serviceContext,
        logging("Logging"), logging("InMemoryLogging"), tracing("Tracing"),
        tracing("InMemoryTracing"),
      ] + nio("NIOPosix")),
    .testTarget(
      name: "PledgeMetricsTests",
      dependencies: [
        "PledgeMetrics", "PledgeTesting", metrics("Metrics"), metrics("MetricsTestKit"),
      ]),
    .testTarget(
      name: "PledgeLifecycleTests",
      dependencies: [
        "PledgeLifecycle", "PledgeTesting", lifecycle("ServiceLifecycle"),
        lifecycle("ServiceLifecycleTestKit"),
      ]),
    .testTarget(
      name: "PledgeAsyncHTTPClientTests",
      dependencies: [
        "PledgeAsyncHTTPClient", "PledgeFoundation", "PledgeLifecycle", "PledgeMetrics",
        "PledgeTesting", "PledgeTestingTraits",
        httpClient("AsyncHTTPClient", in: "async-http-client"),
        httpClient("NIOHTTP1", in: "swift-nio"), metrics("MetricsTestKit"),
      ] + nio("NIOCore", "NIOEmbedded", "NIOPosix")),
    .testTarget(
      name: "DocumentationTests",
      dependencies: [
        "Pledge", "PledgeDiagnostics", "PledgeFoundation", "PledgeTesting", "PledgeTestingTraits",
        "PledgeNIO", "PledgeCombine", "PledgeLogging", "PledgeTracing", "PledgeMetrics",
        "PledgeLifecycle", "PledgeAsyncHTTPClient", openCombine, logging("Logging"),
        tracing("Tracing"), metrics("Metrics"), lifecycle("ServiceLifecycle"),
        httpClient("AsyncHTTPClient", in: "async-http-client"),
      ] + nio("NIOCore", "NIOPosix")),
  ],
  swiftLanguageModes: [.v6]
)
