import AtomicStoreSPI
import CProcesses
import FoundationEssentials
import Glibc
import Synchronization

/// Tries a plug-in in a separate process, so that one that crashes, ends its process or never answers is refused by
/// name and takes nothing along.
///
/// The process is this program once more: the plug-in is loaded there as it would be here, its formats are asked for
/// their names and traits, and whether they recognize a file. An ordinary refusal is repeated here, where it is
/// reported.
enum PluginTrial {
  private static let option = "--try-plugin"
  private static let answer = "tried"
  private static let seconds = 30
  /// Whether this process is a command's: only that program can be started once more.
  private static let isCommand = Atomic(false)

  /// Tries the plug-in that the arguments name, and exits the program, if they ask for a trial.
  static func runIfAsked() {
    isCommand.store(true, ordering: .relaxed)
    let arguments = CommandLine.arguments
    guard arguments.count > 2, arguments[1] == option else { return }
    // It ends with the command that started it.
    if let types = try? StorePlugin(loading: arguments[2]).types {
      let probe = arguments.count > 3 ? try? StorePath.inspect(arguments[3]).probe() : nil
      for type in types {
        _ = type.traits
        if let probe { _ = type.recognize(probe) }
      }
    }
    let said = Array((answer + "\n").utf8)
    _ = write(STDOUT_FILENO, said, said.count)
    _exit(0)
  }

  /// Why a plug-in cannot be used; nil if the trial came to its end.
  ///
  /// - Parameter file: What its formats are asked to recognize.
  static func problem(of path: String, recognizing file: String? = nil) -> String? {
    guard isCommand.load(ordering: .relaxed) else { return nil }
    var (output, errors): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
    defer { for end in output + errors where end >= 0 { close(end) } }
    guard cpr_pipe(&output) == 0, cpr_pipe(&errors) == 0, cpr_never_wait(output[0]) == 0, cpr_never_wait(errors[0]) == 0
    else { return nil }
    let program = "/proc/self/exe"
    let words = [CommandLine.arguments[0], option, path] + (file.map { [$0] } ?? [])
    var arguments = words.map { strdup($0) } + [nil]
    // Neither a debugger's report of a crash nor the plug-ins of the search path are wanted.
    let variables = ProcessInfo.processInfo.environment.filter { $0.key != "SWIFT_BACKTRACE" }
    var environment = variables.map { strdup("\($0.key)=\($0.value)") } + [strdup("SWIFT_BACKTRACE=enable=no"), nil]
    defer { for text in arguments + environment { free(text) } }
    let process = cpr_spawn(program, &arguments, &environment, nil, [-1, output[1], errors[1]], 3)
    // Where no process can be started, the plug-in is loaded untried.
    guard process > 0 else { return nil }
    var (said, noise): ([UInt8], [UInt8]) = ([], [])
    var code: Int32 = 0
    var end: Int32 = 0
    let deadline = ContinuousClock.now + .seconds(seconds)
    while end == 0, ContinuousClock.now < deadline {
      end = cpr_wait(process, 20, &code)
      read(output[0], into: &said)
      read(errors[0], into: &noise)
    }
    if end == 0 {
      kill(-process, SIGKILL)
      kill(process, SIGKILL)
      _ = cpr_wait(process, 2_000, &code)
    }
    let isTried = String(decoding: said, as: UTF8.self).split(separator: "\n").last.map(String.init) == answer
    if end == 1, code == 0, isTried { return nil }
    let what = file.map { "when it was asked about \($0)" } ?? "when it was tried"
    let how =
      switch end {
      case 0: "it did not answer within \(seconds) seconds \(what)"
      case 2: "it ended its process by signal \(code) (\(String(cString: strsignal(code)))) \(what)"
      default: "it ended its process with exit code \(code) \(what)"
      }
    // A trap says why first, and then shows its stack.
    let why = String(decoding: noise, as: UTF8.self).split(separator: "\n")
      .first { !$0.hasPrefix("atomicstore: the plug-in ") }
    return how + (why.map { ": \($0.prefix(500))" } ?? "")
  }

  private static func read(_ stream: Int32, into bytes: inout [UInt8]) {
    var buffer = [UInt8](repeating: 0, count: 4096)
    // A plug-in may write without end.
    for _ in 0..<32 {
      let count = Glibc.read(stream, &buffer, buffer.count)
      guard count > 0 else { return }
      bytes.append(contentsOf: buffer[..<count])
      // What matters comes first, or last.
      if bytes.count > 1 << 16 { bytes.removeSubrange(1 << 12..<bytes.count - 1 << 12) }
    }
  }
}
