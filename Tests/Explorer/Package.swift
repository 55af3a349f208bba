// swift-tools-version: 6.1
import Foundation
import PackageDescription

// Under ThreadSanitizer, only the library, its platform layer, and the programs are instrumented.
// The sanitizer must not see the scheduler, because an order that only the baton imposes isn't an
// order in the library.
let isThreadSanitized = ProcessInfo.processInfo.environment["EXPLORER_TSAN"] != nil
let instrumentation = isThreadSanitized ? ["-sanitize=thread"] : []

let scheduler: [SwiftSetting] = [
  .unsafeFlags(["-Ounchecked", "-enforce-exclusivity=unchecked"], .when(configuration: .release))
]
let explored: [SwiftSetting] = [.unsafeFlags(instrumentation)]

// `Sources/Pledge` is a copy of the library's sources, which `prepare` creates.
let package = Package(
  name: "Explorer",
  targets: [
    .target(name: "CExplorer"),
    .target(name: "Exploration", dependencies: ["CExplorer"], swiftSettings: scheduler),
    .target(name: "VirtualPlatform", dependencies: ["Exploration"], swiftSettings: explored),
    .target(
      name: "Pledge", dependencies: ["VirtualPlatform", "CExplorer"], swiftSettings: explored),
    .executableTarget(
      name: "explore", dependencies: ["Pledge", "VirtualPlatform", "Exploration", "CExplorer"],
      swiftSettings: explored, linkerSettings: [.unsafeFlags(instrumentation)]),
  ],
  swiftLanguageModes: [.v6]
)
