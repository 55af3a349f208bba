// swift-tools-version: 6.2

import PackageDescription

// Programs as users of Pledge would write them, in each language mode. They must compile without a
// warning, and check when they run that their handlers ran where they were written.
let package = Package(
  name: "Clients",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Pledge", path: "../..")],
  targets: [
    .executableTarget(
      name: "Swift6Client", dependencies: [.product(name: "Pledge", package: "Pledge")],
      swiftSettings: [.swiftLanguageMode(.v6)]),
    .executableTarget(
      name: "Swift5Client", dependencies: [.product(name: "Pledge", package: "Pledge")],
      swiftSettings: [.swiftLanguageMode(.v5)]),
    .executableTarget(
      name: "MainActorClient", dependencies: [.product(name: "Pledge", package: "Pledge")],
      swiftSettings: [.swiftLanguageMode(.v6), .defaultIsolation(MainActor.self)]),
  ]
)
