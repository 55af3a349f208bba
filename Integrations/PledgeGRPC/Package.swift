// swift-tools-version: 6.1
import PackageDescription

// Scripts/publish replaces this line: what is published asks for a version.
let pledge = Package.Dependency.package(name: "Pledge", path: "../..", traits: ["Tracing"])

// A separate package, unlike the other integrations, which are traits of Pledge: gRPC Swift 2 requires
// macOS 15, Pledge supports macOS 12, and all targets of a package have the same minimum versions.
let package = Package(
  name: "PledgeGRPC",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [.library(name: "PledgeGRPC", targets: ["PledgeGRPC"])],
  dependencies: [
    pledge,
    .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.1.0"),
    .package(url: "https://github.com/apple/swift-service-context", from: "1.1.0"),
    // For the example, the benchmark, and the tests.
    .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.0"),
  ],
  targets: [
    .target(
      name: "PledgeGRPC",
      dependencies: [
        .product(name: "Pledge", package: "Pledge"),
        .product(name: "PledgeTracing", package: "Pledge"),
        .product(name: "GRPCCore", package: "grpc-swift-2"),
        .product(name: "Instrumentation", package: "swift-distributed-tracing"),
        .product(name: "ServiceContextModule", package: "swift-service-context"),
      ]),
    // An example: a call with a deadline.
    .executableTarget(
      name: "deadlines",
      dependencies: [
        "PledgeGRPC",
        .product(name: "GRPCNIOTransportHTTP2Posix", package: "grpc-swift-nio-transport"),
      ]),
    // A benchmark: calls through Pledge, and the same calls without it.
    .executableTarget(
      name: "remote-calls",
      dependencies: [
        "PledgeGRPC",
        .product(name: "GRPCInProcessTransport", package: "grpc-swift-2"),
        .product(name: "GRPCNIOTransportHTTP2Posix", package: "grpc-swift-nio-transport"),
      ]),
    .testTarget(
      name: "PledgeGRPCTests",
      dependencies: [
        "PledgeGRPC", "deadlines",
        .product(name: "PledgeDiagnostics", package: "Pledge"),
        .product(name: "PledgeTesting", package: "Pledge"),
        .product(name: "GRPCNIOTransportHTTP2Posix", package: "grpc-swift-nio-transport"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
