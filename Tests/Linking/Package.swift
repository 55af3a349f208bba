// swift-tools-version: 6.1
import PackageDescription

// A program and two dynamic libraries that use Pledge and both drop-in modules, as an app and its
// frameworks do. They share one copy of each module, and one promise passes through all of them.
let modules: [Target.Dependency] = [
  .product(name: "Pledge-Dynamic", package: "Pledge"),
  .product(name: "PromiseKit-Dynamic", package: "PromiseKit"),
  .product(name: "Promises-Dynamic", package: "Promises"),
]

let package = Package(
  name: "Linking",
  platforms: [.macOS(.v12)],
  products: [
    .library(name: "First", type: .dynamic, targets: ["First"]),
    .library(name: "Second", type: .dynamic, targets: ["Second"]),
  ],
  dependencies: [
    .package(name: "Pledge", path: "../.."),
    .package(path: "../../DropIn/PromiseKit", traits: ["Dynamic"]),
    .package(path: "../../DropIn/Promises", traits: ["Dynamic"]),
  ],
  targets: [
    .target(name: "First", dependencies: modules),
    // The same source: Sources/Second is a symbolic link to Sources/First.
    .target(name: "Second", dependencies: modules),
    // Opens the libraries at run time, so that it doesn't link any part of them.
    .executableTarget(name: "program", dependencies: modules),
    .testTarget(name: "TogetherTests", dependencies: modules),
  ],
  swiftLanguageModes: [.v6]
)
