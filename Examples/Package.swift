// swift-tools-version: 6.2
import PackageDescription

// The small examples. They depend on nothing but Pledge, so the package builds in less than a
// minute; the large examples are packages of their own.

/// A program and its tests.
func example(
  _ name: String, _ modules: [String] = [], servers: [String] = [], settings: [SwiftSetting] = []
) -> [Target] {
  var dependencies: [Target.Dependency] = []
  for module in ["Pledge"] + modules {
    dependencies.append(.product(name: module, package: "Pledge"))
  }
  dependencies += servers.map { .target(name: $0) }
  let program: Target = .executableTarget(
    name: name, dependencies: dependencies, swiftSettings: settings)
  dependencies.append(.target(name: name))
  dependencies.append(.product(name: "PledgeTesting", package: "Pledge"))
  return [program, .testTarget(name: name + "Tests", dependencies: dependencies)]
}

var targets: [Target] = [
  .target(
    name: "LoopbackServer", dependencies: [.product(name: "Pledge", package: "Pledge")]),
  .target(name: "UnreliableMirror", dependencies: ["LoopbackServer"]),
]
targets += example(
  "downloads", ["PledgeFoundation", "PledgeDiagnostics"],
  servers: ["LoopbackServer", "UnreliableMirror"])
targets += example("checkout", ["PledgeFoundation"])
targets += example("photos", settings: [.defaultIsolation(MainActor.self)])
targets += example("crawler", ["PledgeFoundation"], servers: ["LoopbackServer"])
targets += example("dashboard", ["PledgeFoundation"], servers: ["LoopbackServer"])
targets += example("importer")

let package = Package(
  name: "Examples",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Pledge", path: "..")],
  targets: targets,
  swiftLanguageModes: [.v6]
)
