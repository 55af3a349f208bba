// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that the other benchmarks don't build gRPC.
let package = Package(
  name: "RemoteCalls",
  platforms: [.macOS(.v15)],
  traits: [
    .trait(
      name: "HTTP2",
      description: "Also measures calls over HTTP/2; its transport takes long to build."),
    .default(enabledTraits: ["HTTP2"]),
  ],
  dependencies: [
    .package(name: "Pledge", path: "../.."),
    .package(name: "PledgeGRPC", path: "../../Integrations/PledgeGRPC"),
    .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.0"),
    .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.0"),
  ],
  targets: [
    .executableTarget(
      name: "remote-calls",
      dependencies: [
        .product(name: "Pledge", package: "Pledge"),
        .product(name: "PledgeGRPC", package: "PledgeGRPC"),
        .product(name: "GRPCCore", package: "grpc-swift-2"),
        .product(name: "GRPCInProcessTransport", package: "grpc-swift-2"),
        .product(
          name: "GRPCNIOTransportHTTP2Posix", package: "grpc-swift-nio-transport",
          condition: .when(traits: ["HTTP2"])),
      ])
  ],
  swiftLanguageModes: [.v6]
)
