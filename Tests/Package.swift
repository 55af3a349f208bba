// swift-tools-version: 6.2
import PackageDescription

// What verifies Pledge from outside, as a package that depends on it. The folders whose names end in
// `Tests` are targets of the root package.

func product(_ name: String, of package: String = "Pledge") -> Target.Dependency {
  .product(name: name, package: package)
}
let argumentParser = product("ArgumentParser", of: "swift-argument-parser")

// Random programs, the soak, and a simulation of overload.
let stress: [Target] = [
  .target(name: "CHeap", path: "Stress/Sources/CHeap"),
  .target(
    name: "StressKit", dependencies: ["CHeap", product("Pledge"), product("PledgeTesting")],
    path: "Stress/Sources/StressKit"),
  .executableTarget(
    name: "soak", dependencies: ["StressKit", product("PledgeDiagnostics"), argumentParser],
    path: "Stress/Sources/soak"),
  .executableTarget(
    name: "overload",
    dependencies: ["StressKit", product("Pledge"), product("PledgeTesting"), argumentParser],
    path: "Stress/Sources/overload"),
  .testTarget(
    name: "StressKitTests", dependencies: ["StressKit"], path: "Stress/Tests/StressKitTests"),
]

// A program and two dynamic libraries that use Pledge and both drop-in modules, as an app and its
// frameworks do. They share one copy of each module, and one promise passes through all of them.
let dynamicModules = [
  product("Pledge-Dynamic"), product("PromiseKit-Dynamic", of: "PromiseKit"),
  product("Promises-Dynamic", of: "Promises"),
]
let linking: [Target] = [
  .target(name: "First", dependencies: dynamicModules, path: "Linking/Sources/First"),
  // The same source: Sources/Second is a symbolic link to Sources/First.
  .target(name: "Second", dependencies: dynamicModules, path: "Linking/Sources/Second"),
  // Opens the libraries at run time, so that it doesn't link any part of them.
  .executableTarget(
    name: "program", dependencies: dynamicModules, path: "Linking/Sources/program"),
]

// Programs as users of Pledge write them, in each language mode. They must compile without a
// warning, and they check at run time that each handler ran on the isolation in which it was
// written.

/// The upcoming features that new Xcode projects enable.
let upcoming: [SwiftSetting] = [
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("MemberImportVisibility"),
]
// Part of Swift 6.
let inference = SwiftSetting.enableUpcomingFeature("InferSendableFromCaptures")
let onMainActor = SwiftSetting.defaultIsolation(MainActor.self)

/// Returns a program in a language mode; its folder can be a symbolic link to another program's.
func client(_ name: String, _ mode: SwiftLanguageMode, _ settings: [SwiftSetting] = []) -> Target {
  .executableTarget(
    name: name, dependencies: [product("Pledge")], path: "Clients/Sources/\(name)",
    swiftSettings: [.swiftLanguageMode(mode)] + settings)
}
let clients: [Target] = [
  client("Swift6Client", .v6),
  client("Swift5Client", .v5),
  client("MainActorClient", .v6, [onMainActor]),
  // In Swift 5 mode, functions can be passed by name, too.
  client("Swift5UpcomingClient", .v5, [inference] + upcoming),
  client("Swift6UpcomingClient", .v6, upcoming),
  client("MainActorSwift5Client", .v5, [onMainActor]),
  client("MainActorUpcomingClient", .v6, [onMainActor] + upcoming),
  client("MainActorSwift5UpcomingClient", .v5, [onMainActor, inference] + upcoming),
]

// The explorer compiles its own copy of the library, `Explorer/Sources/Pledge`, which `Explorer/prepare`
// creates. Two modules of one name can't be in one build, so with EXPLORER in the environment, which
// `Explorer/check` sets, this package consists of the explorer alone.
//
// With `EXPLORER=thread`, ThreadSanitizer instruments the library, its platform layer, and the
// programs only. It must not see the scheduler, because an order that only the baton imposes isn't an
// order in the library.
let exploring = Context.environment["EXPLORER"]
let instrumentation = exploring == "thread" ? ["-sanitize=thread"] : []
let explored: [SwiftSetting] = [.unsafeFlags(instrumentation)]
let scheduler: [SwiftSetting] = [
  .unsafeFlags(["-Ounchecked", "-enforce-exclusivity=unchecked"], .when(configuration: .release))
]

/// Returns a module of the explorer.
func explorer(
  _ name: String, _ dependencies: [Target.Dependency] = [], _ settings: [SwiftSetting] = []
) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Explorer/Sources/\(name)",
    swiftSettings: settings)
}
let explorerTargets: [Target] = [
  explorer("CExplorer"),
  explorer("Exploration", ["CExplorer"], scheduler),
  explorer("VirtualPlatform", ["Exploration"], explored),
  explorer(
    "Pledge", ["VirtualPlatform", "CExplorer"],
    explored + ["BuiltinModule", "RawLayout"].map { .enableExperimentalFeature($0) }),
  .executableTarget(
    name: "explore", dependencies: ["Pledge", "VirtualPlatform", "Exploration", "CExplorer"],
    path: "Explorer/Sources/explore", swiftSettings: explored,
    linkerSettings: [.unsafeFlags(instrumentation)]),
]

let package = Package(
  name: "Tests",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "First", type: .dynamic, targets: ["First"]),
    .library(name: "Second", type: .dynamic, targets: ["Second"]),
  ],
  dependencies: [
    .package(name: "Pledge", path: ".."),
    .package(path: "../DropIn/PromiseKit", traits: ["Dynamic"]),
    .package(path: "../DropIn/Promises", traits: ["Dynamic"]),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
  ],
  targets: stress + linking + clients,
  swiftLanguageModes: [.v6]
)
if exploring != nil {
  package.products = []
  package.dependencies = []
  package.targets = explorerTargets
}
