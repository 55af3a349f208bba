// swift-tools-version: 6.2

import PackageDescription

// Programs as users of Pledge write them, in each language mode. They must compile without a
// warning, and they check at run time that each handler ran on the isolation in which it was
// written.

/// The upcoming features that new Xcode projects enable.
let upcoming: [SwiftSetting] = [
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// Returns a program in one mode; programs with the same `folder` have the same sources.
func client(_ name: String, folder: String? = nil, _ settings: [SwiftSetting]) -> Target {
  .executableTarget(
    name: name, dependencies: [.product(name: "Pledge", package: "Pledge")],
    path: "Sources/\(folder ?? name)", swiftSettings: settings)
}

let package = Package(
  name: "Clients",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Pledge", path: "../..")],
  targets: [
    client("Swift6Client", [.swiftLanguageMode(.v6)]),
    client("Swift5Client", [.swiftLanguageMode(.v5)]),
    client("MainActorClient", [.swiftLanguageMode(.v6), .defaultIsolation(MainActor.self)]),
    // In Swift 5 mode, functions can be passed by name, too.
    client(
      "Swift5UpcomingClient",
      // This feature is part of Swift 6.
      [.swiftLanguageMode(.v5), .enableUpcomingFeature("InferSendableFromCaptures")] + upcoming),
    // The same programs with upcoming features, and the main actor program in Swift 5 mode.
    client("Swift6UpcomingClient", [.swiftLanguageMode(.v6)] + upcoming),
    client("MainActorSwift5Client", [.swiftLanguageMode(.v5), .defaultIsolation(MainActor.self)]),
    client(
      "MainActorUpcomingClient",
      [.swiftLanguageMode(.v6), .defaultIsolation(MainActor.self)] + upcoming),
    client(
      "MainActorSwift5UpcomingClient",
      [
        .swiftLanguageMode(.v5), .defaultIsolation(MainActor.self),
        // Part of Swift 6.
        .enableUpcomingFeature("InferSendableFromCaptures"),
      ] + upcoming),
  ]
)
