import CProcesses
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
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    let signal = status & 0x7F
    return Result(
      code: signal == 0 ? status >> 8 & 0xFF : 1000 + signal, data: try Data(contentsOf: URL(filePath: paths[1])),
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
    let flags = O_CLOEXEC | O_WRONLY | O_CREAT | O_TRUNC
    let descriptors = [
      open(standardPaths[0], O_CLOEXEC | O_RDONLY), open(standardPaths[1], flags, 0o600),
      open(standardPaths[2], flags, 0o600),
    ]
    defer { for descriptor in descriptors where descriptor >= 0 { close(descriptor) } }
    let process = cpr_spawn(program, words, variables, folder, descriptors, 3)
    guard process > 0 else {
      throw Failure(description: "\(program) cannot be started: \(String(cString: strerror(errno)))")
    }
    return process
  }
}
