// swift-tools-version: 6.1
import PackageDescription

// A product of another package, which only a trait of this package turns on.
func product(_ name: String, _ package: String, _ trait: String) -> Target.Dependency {
  .product(name: name, package: package, condition: .when(traits: [trait]))
}

let nio = ["NIOCore", "NIOPosix"].map { product($0, "swift-nio", "NIO") }
let openCombine = product("OpenCombine", "OpenCombine", "OpenCombine")
let logging = product("Logging", "swift-log", "Logging")
let tracing = product("Tracing", "swift-distributed-tracing", "Tracing")
let serviceContext = product("ServiceContextModule", "swift-service-context", "Tracing")
let metrics = product("Metrics", "swift-metrics", "Metrics")
let metricsTestKit = product("MetricsTestKit", "swift-metrics", "Metrics")
let lifecycle = product("ServiceLifecycle", "swift-service-lifecycle", "ServiceLifecycle")
let httpClient = [
  product("AsyncHTTPClient", "async-http-client", "AsyncHTTPClient"),
  product("NIOHTTP1", "swift-nio", "AsyncHTTPClient"),
]

// Modules for other packages, each of which is empty unless its trait is on.
let integrations: [(name: String, dependencies: [Target.Dependency])] = [
  ("PledgeNIO", nio),
  ("PledgeCombine", [openCombine]),
  ("PledgeLogging", [logging]),
  ("PledgeTracing", [serviceContext, tracing]),
  ("PledgeMetrics", [metrics]),
  ("PledgeLifecycle", [lifecycle]),
  (
    "PledgeAsyncHTTPClient",
    ["PledgeNIO", product("Logging", "swift-log", "AsyncHTTPClient")] + httpClient + nio
  ),
]
let integrationModules = integrations.map { Target.Dependency(stringLiteral: $0.name) }

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
    // All modules in one dynamic library: two libraries would each have a copy of Pledge. All but
    // PledgeTestingTraits, since Swift Testing is there in tests only.
    .library(
      name: "Pledge-Dynamic", type: .dynamic,
      targets: ["Pledge", "PledgeFoundation", "PledgeTesting", "PledgeDiagnostics"]
        + integrations.map(\.name)),
  ] + integrations.map { .library(name: $0.name, targets: [$0.name]) },
  // Each turns on an integration. Without them no dependency is fetched.
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
    .target(
      name: "PledgeDiagnostics", dependencies: ["Pledge"],
      resources: [.embedInCode("Export/timeline.html")]),
    .target(name: "PledgeTesting", dependencies: ["Pledge", "PledgeDiagnostics"]),
    .target(name: "PledgeTestingTraits", dependencies: ["Pledge", "PledgeDiagnostics"]),
    .testTarget(name: "PledgeTests", dependencies: ["Pledge", "PledgeTesting"]),
    .testTarget(name: "PledgeTestingTests", dependencies: ["PledgeTesting"]),
    .testTarget(
      name: "PledgeTestingTraitsTests", dependencies: ["PledgeTestingTraits", "PledgeTesting"]),
    .testTarget(
      name: "PledgeFoundationTests", dependencies: ["PledgeFoundation", "PledgeTesting"]),
    .testTarget(
      name: "PledgeDiagnosticsTests", dependencies: ["PledgeDiagnostics", "PledgeTesting"]),
    .testTarget(
      name: "PledgeNIOTests",
      dependencies: ["PledgeNIO", "PledgeTesting", product("NIOEmbedded", "swift-nio", "NIO")]
        + nio),
    .testTarget(
      name: "PledgeCombineTests", dependencies: ["PledgeCombine", "PledgeTesting", openCombine]),
    .testTarget(
      name: "PledgeContextTests",
      dependencies: [
        "PledgeLogging", "PledgeTracing", "PledgeNIO", "PledgeTesting", serviceContext, logging,
        product("InMemoryLogging", "swift-log", "Logging"), tracing,
        product("InMemoryTracing", "swift-distributed-tracing", "Tracing"),
      ] + nio),
    .testTarget(
      name: "PledgeMetricsTests",
      dependencies: ["PledgeMetrics", "PledgeTesting", metrics, metricsTestKit]),
    .testTarget(
      name: "PledgeLifecycleTests",
      dependencies: [
        "PledgeLifecycle", "PledgeTesting", lifecycle,
        product("ServiceLifecycleTestKit", "swift-service-lifecycle", "ServiceLifecycle"),
      ]),
    .testTarget(
      name: "PledgeAsyncHTTPClientTests",
      dependencies: ["PledgeAsyncHTTPClient", "PledgeTesting"] + httpClient + nio),
    .testTarget(
      name: "DocumentationTests",
      dependencies: [
        "PledgeDiagnostics", "PledgeFoundation", "PledgeTesting", "PledgeTestingTraits",
        openCombine, logging, tracing, metrics, lifecycle,
        product("NIOEmbedded", "swift-nio", "NIO"),
      ] + integrationModules + httpClient + nio,
      // The examples of the documents must compile for users.
      packageAccess: false, plugins: ["CompileExamples"]),
    // Adds the examples of the documents to the target above.
    .plugin(
      name: "CompileExamples", capability: .buildTool(), dependencies: ["extract-examples"],
      path: "Documentation/Examples", exclude: ["main.swift"]),
    .executableTarget(
      name: "extract-examples", path: "Documentation/Examples", exclude: ["plugin.swift"]),
  ]
    + integrations.map { name, dependencies in
      .target(
        name: name, dependencies: ["Pledge"] + dependencies, path: "Integrations/\(name)")
    },
  swiftLanguageModes: [.v6]
)
