// swift-tools-version: 6.2

import PackageDescription

// Programs as users of Pledge would write them, in each language mode. They must compile without a
// warning, and check when they run that their handlers ran where they were written.

/// The features that new Xcode projects turn on.
let upcoming: [SwiftSetting] = [
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// A program in one mode; programs of one `folder` are the same in several modes.
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
    // In the Swift 5 mode, too, functions may be passed by name.
    client(
      "Swift5UpcomingClient",
      // The feature is part of Swift 6.
      [.swiftLanguageMode(.v5), .enableUpcomingFeature("InferSendableFromCaptures")] + upcoming),
    // The same programs with upcoming features, and the one of the main actor in Swift 5 mode.
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
