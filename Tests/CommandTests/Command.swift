import Foundation
import TestSupport
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

  /// The executable that was built with these tests.
  static let path: String? = built("atomicstore")

  static func built(_ name: String) -> String? { TestEnvironment.built(name) }

  struct Result {
    var code: Int32
    var output: String
    var errors: String
    var data: Data
    /// Standard output as JSON.
    func json() throws -> Any { try JSONSerialization.jsonObject(with: data, options: [.fragmentsAllowed]) }
    /// The error as JSON on standard error.
    func error() throws -> [String: Any] {
      let all = try #require(try JSONSerialization.jsonObject(with: Data(errors.utf8)) as? [String: Any], "\(errors)")
      #expect(all["exitCode"] as? Int == Int(code))
      return try #require(all["error"] as? [String: Any])
    }
  }

  static func run(_ arguments: String..., input: Data? = nil, in folder: String? = nil) throws -> Result {
    try run(arguments: arguments, input: input, in: folder)
  }

  /// A line for the shell, which has the command as `"$0"` and the arguments as `"$1"` and so on.
  static func shell(_ line: String, _ arguments: String..., in folder: String? = nil) throws -> Result {
    try run(arguments: arguments, in: folder, shell: line)
  }

  static func run(
    arguments: [String], input: Data? = nil, in folder: String? = nil, environment: [String: String] = [:],
    shell: String? = nil,
    program: String? = path
  ) throws -> Result {
    let path = try #require(program, "the command was not built")
    let work = try Folder()
    let result = try ChildProcess.run(
      shell == nil ? path : "/bin/sh", shell.map { ["-c", $0, path] + arguments } ?? arguments, input: input,
      in: folder, environment: environment.merging(["TMPDIR": work.path]) { asked, _ in asked })
    // Whatever its end, the command leaves nothing; the files of checks that failed are there to be looked at.
    let left = work.names.filter { $0.hasPrefix("atomicstore-") && !$0.hasPrefix("atomicstore-conformance-") }
    #expect(left.isEmpty, "\(shell ?? "") \(arguments) left \(left)")
    return Result(code: result.code, output: result.output, errors: result.errors, data: result.data)
  }
}

/// A separate folder for each test, gone afterwards.
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

/// The command while it runs: it waits for its input.
final class RunningCommand {
  let process = Process()
  let input = Pipe()

  init(_ arguments: String..., temporaryFolder: String, shell: String? = nil) throws {
    let path = try #require(Command.path, "the command was not built")
    process.executableURL = URL(filePath: shell == nil ? path : "/bin/sh")
    process.arguments = shell.map { ["-c", $0, path] + arguments } ?? arguments
    process.environment = TestEnvironment.variables(["TMPDIR": temporaryFolder])
    process.standardInput = input
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
  }

  /// Until something is in a folder: then the command is at its work.
  func waitForFile(in folder: String) throws {
    for _ in 0..<1000 {
      if try !FileManager.default.contentsOfDirectory(atPath: folder).isEmpty { return }
      Thread.sleep(forTimeInterval: 0.01)
    }
    Issue.record("nothing was written into \(folder)")
  }

  /// - Returns: The exit code, or 1000 and the signal that ended it.
  func end(_ signal: Int32? = nil) -> Int32 {
    if let signal { kill(process.processIdentifier, signal) }
    process.waitUntilExit()
    return ChildProcess.code(of: process)
  }
}
