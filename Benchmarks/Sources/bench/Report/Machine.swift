import Foundation

/// The properties of the machine and the toolchain that affect the numbers.
enum Machine {
  /// The compiler's version and target architecture, as in `Swift 6.3.1, x86_64`.
  static var toolchain: String { "\(compiler), \(architecture)" }

  static var summary: String {
    var facts = ["\(ProcessInfo.processInfo.activeProcessorCount) cores"]
    let information = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
    let model = information.split(separator: "\n").first { $0.hasPrefix("model name") }
    if let name = model?.split(separator: ":").last {
      facts.append(name.trimmingCharacters(in: .whitespaces))
    }
    facts.append(ProcessInfo.processInfo.operatingSystemVersionString)
    return (facts + [compiler]).joined(separator: ", ")
  }

  /// The version of the installed compiler, which is the one that built this program.
  private static var compiler: String {
    let output = (try? runTool("swift", ["--version"])) ?? ""
    guard let match = output.firstMatch(of: /Swift version ([0-9.]+)/) else { return "Swift" }
    return "Swift \(match.1)"
  }

  private static var architecture: String {
    #if arch(x86_64)
      "x86_64"
    #elseif arch(arm64)
      "arm64"
    #else
      "another architecture"
    #endif
  }
}
