import Foundation

/// What the command line says.
enum Options {
  static let help = """
    benchmarks [--objects 10000,100000,1000000] [--rounds 3] [--only NAME,…] [--keep FOLDER] [--json | --markdown]
               [--command ATOMICSTORE] [--python PYTHON3]
    """

  static func value(_ name: String) -> String? {
    let arguments = CommandLine.arguments
    return arguments.firstIndex(of: name).flatMap { arguments.indices.contains($0 + 1) ? arguments[$0 + 1] : nil }
  }

  static func has(_ name: String) -> Bool { CommandLine.arguments.contains(name) }

  static func names(_ name: String) -> [String]? { value(name)?.split(separator: ",").map(String.init) }

  static let executable = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()

  /// The kit's command: the one that was built beside this program, or another.
  static let command = existing(
    value("--command") ?? executable.deletingLastPathComponent().appending(path: "atomicstore").path)

  static let python: String? = {
    if let path = value("--python") { return existing(path) }
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return folders.lazy.compactMap { existing("\($0)/python3") }.first
  }()

  private static func existing(_ path: String) -> String? {
    FileManager.default.isExecutableFile(atPath: path) ? path : nil
  }
}
