import CTestSupport
public import Foundation

/// A program that a test runs to its end.
///
/// It is started and awaited with system calls: Foundation's `Process` looks for the end of a program every 50 ms only,
/// which is longer than most programs of the tests run.
public enum ChildProcess {
  public struct Result: Sendable {
    /// The exit code, or 1000 and the signal that ended the program.
    public var code: Int32
    public var data: Data
    public var errors: String
    public var output: String { String(decoding: data, as: UTF8.self) }
  }

  public struct Failure: Error, CustomStringConvertible {
    public var description: String
    public init(description: String) { self.description = description }
  }

  /// Runs a program.
  ///
  /// Its output goes to files rather than to pipes: nothing has to read while the program writes, and programs that it
  /// leaves running keep nothing open that the test waits for.
  ///
  /// - Parameters:
  ///   - program: A path, or a name that is looked for in `PATH`.
  ///   - input: What it reads from standard input; nothing by default.
  ///   - folder: Where it runs.
  ///   - environment: What is added to ``TestEnvironment/variables(_:)``.
  /// - Throws: ``Failure`` if it cannot be started. How it ended is in the result.
  public static func run(
    _ program: String, _ arguments: [String], input: Data? = nil, in folder: String? = nil,
    environment: [String: String] = [:]
  ) throws -> Result {
    let work = try TemporaryDirectory("child")
    let paths = ["in", "out", "err"].map { work.path + "/" + $0 }
    try (input ?? Data()).write(to: URL(filePath: paths[0]))
    let process = try start(
      program, arguments, standardPaths: paths, in: folder, environment: TestEnvironment.variables(environment))
    let code = test_wait(process)
    return Result(
      code: code, data: try Data(contentsOf: URL(filePath: paths[1])),
      errors: String(decoding: try Data(contentsOf: URL(filePath: paths[2])), as: UTF8.self))
  }

  /// Runs a program that has to succeed.
  ///
  /// - Returns: What it wrote to standard output.
  /// - Throws: ``Failure`` if it cannot be started, or ends with anything but 0; it contains what it wrote to standard
  ///   error.
  @discardableResult public static func output(
    of program: String, _ arguments: [String], input: Data? = nil, in folder: String? = nil,
    environment: [String: String] = [:]
  ) throws -> String {
    let result = try run(program, arguments, input: input, in: folder, environment: environment)
    guard result.code == 0 else {
      throw Failure(description: "\(program) \(arguments) ended with \(result.code): \(result.errors)")
    }
    return result.output
  }

  /// The same for both ways in which Foundation says how a process ended.
  public static func code(of process: Process) -> Int32 {
    process.terminationReason == .uncaughtSignal ? 1000 + process.terminationStatus : process.terminationStatus
  }

  private static func start(
    _ program: String, _ arguments: [String], standardPaths: [String], in folder: String?,
    environment: [String: String]
  ) throws -> pid_t {
    var words = ([program] + arguments).map { strdup($0) }
    var variables = environment.sorted { $0.key < $1.key }.map { strdup("\($0.key)=\($0.value)") }
    defer { for text in words + variables { free(text) } }
    words.append(nil)
    variables.append(nil)
    var process: pid_t = 0
    let error = test_spawn(
      &process, program, words, variables, folder, standardPaths[0], standardPaths[1], standardPaths[2])
    guard error == 0 else {
      throw Failure(description: "\(program) cannot be started: \(String(cString: strerror(error)))")
    }
    return process
  }
}
