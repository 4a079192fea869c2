import Foundation
import Testing

/// The command, run as a process.
enum Command {
  static let root: String = {
    var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    parts.removeLast(3)
    return parts.joined(separator: "/")
  }()
  static let samples = root + "/SampleStores"
  static let company = samples + "/Company/Company.xml"

  /// The executable that was built with these tests: it stands beside them.
  static let path: String? = built("atomicstore")

  static func built(_ name: String) -> String? {
    let folders = [
      (CommandLine.arguments.first.map { ($0 as NSString).deletingLastPathComponent }) ?? "", Bundle.main.bundlePath,
      root + "/.build/debug",
    ]
    return folders.map { $0 + "/" + name }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  struct Result {
    var code: Int32
    var output: String
    var errors: String
    var data: Data
    /// Standard output as JSON.
    func json() throws -> Any { try JSONSerialization.jsonObject(with: data, options: [.fragmentsAllowed]) }
  }

  static func run(_ arguments: String..., input: Data? = nil, in folder: String? = nil) throws -> Result {
    try run(arguments: arguments, input: input, in: folder)
  }

  static func run(
    arguments: [String], input: Data? = nil, in folder: String? = nil, environment: [String: String] = [:]
  ) throws -> Result {
    let process = Process()
    process.executableURL = URL(filePath: try #require(path, "the command was not built"))
    process.arguments = arguments
    if !environment.isEmpty {
      process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
    }
    if let folder { process.currentDirectoryURL = URL(filePath: folder) }
    let work = NSTemporaryDirectory() + "command-\(UUID().uuidString)"
    // Files rather than pipes: nobody has to read while the command writes.
    for name in ["in", "out", "err"] { _ = FileManager.default.createFile(atPath: work + name, contents: name == "in" ? input : nil) }
    defer { for name in ["in", "out", "err"] { try? FileManager.default.removeItem(atPath: work + name) } }
    process.standardInput = FileHandle(forReadingAtPath: work + "in")
    process.standardOutput = FileHandle(forWritingAtPath: work + "out")
    process.standardError = FileHandle(forWritingAtPath: work + "err")
    try process.run()
    process.waitUntilExit()
    let output = try Data(contentsOf: URL(filePath: work + "out"))
    let code = process.terminationReason == .uncaughtSignal ? 1000 + process.terminationStatus : process.terminationStatus
    return Result(
      code: code, output: String(decoding: output, as: UTF8.self),
      errors: String(decoding: try Data(contentsOf: URL(filePath: work + "err")), as: UTF8.self), data: output)
  }
}

/// A folder of its own for each test, gone afterwards.
struct Folder: ~Copyable {
  let path: String
  init() throws {
    path = NSTemporaryDirectory() + "command-tests-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }
  deinit { try? FileManager.default.removeItem(atPath: path) }
  func callAsFunction(_ name: String) -> String { path + "/" + name }
  var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
}
