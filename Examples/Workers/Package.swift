// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "Workers",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "Pledge", path: "../.."),
    .package(name: "PledgeGRPC", path: "../../Integrations/PledgeGRPC"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    // A part of gRPC's transport anyway.
    .package(url: "https://github.com/apple/swift-crypto", "3.0.0"..<"5.0.0"),
    .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.0"),
    .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.0"),
  ],
  targets: [
    .executableTarget(
      name: "workers",
      dependencies: [
        .product(name: "Pledge", package: "Pledge"),
        .product(name: "PledgeFoundation", package: "Pledge"),
        .product(name: "PledgeGRPC", package: "PledgeGRPC"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "GRPCCore", package: "grpc-swift-2"),
        .product(name: "GRPCNIOTransportHTTP2Posix", package: "grpc-swift-nio-transport"),
      ]),
    .testTarget(
      name: "WorkersTests",
      dependencies: [
        "workers",
        .product(name: "PledgeTesting", package: "Pledge"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
