import AtomicStoreSPI
import FoundationEssentials
import Glibc
import StorePrograms
import Synchronization

/// Tries a plug-in in a separate process, so that one that crashes, ends its process or never answers is refused by
/// name and takes nothing along.
///
/// The process is this program once more: the plug-in is loaded there as it would be here, its formats are asked for
/// their names and traits, and whether they recognize a file. An ordinary refusal is repeated here, where it is
/// reported.
enum PluginTrial {
  private static let option = "--try-plugin"
  private static let answer = Array("tried".utf8)
  /// How many lines a plug-in may print before.
  private static let maximumLines = 1_000
  /// Whether this process is a command's: only that program can be started once more.
  private static let isCommand = Atomic(false)

  /// Tries the plug-in that the arguments name, and exits the program, if they ask for a trial.
  static func runIfAsked() {
    isCommand.store(true, ordering: .relaxed)
    let arguments = CommandLine.arguments
    guard arguments.count > 2, arguments[1] == option else { return }
    if let types = try? StorePlugin(loading: arguments[2]).types {
      let probe = arguments.count > 3 ? try? StorePath.inspect(arguments[3]).probe() : nil
      for type in types {
        _ = type.traits
        if let probe { _ = type.recognize(probe) }
      }
    }
    // What the plug-in printed last may have no line feed.
    let said = Array("\n".utf8) + answer + Array("\n".utf8)
    _ = write(STDOUT_FILENO, said, said.count)
    _exit(0)
  }

  /// Why a plug-in cannot be used; nil if the trial came to its end.
  ///
  /// - Parameter file: What its formats are asked to recognize.
  static func problem(of path: String, recognizing file: String? = nil) -> PersistentStoreError? {
    guard isCommand.load(ordering: .relaxed) else { return nil }
    var limits = ProgramLimits()
    limits.message = 1 << 16
    // A trap says why first, and then shows its stack.
    limits.shownNoise = limits.noise
    // No debugger's report of a crash is wanted.
    var environment = ProcessInfo.processInfo.environment
    environment["SWIFT_BACKTRACE"] = "enable=no"
    // Where no process can be started, the plug-in is loaded untried.
    guard
      let process = try? ProgramConnection(
        starting: "/proc/self/exe", [option, path] + (file.map { [$0] } ?? []), as: path, kind: "plug-in",
        environment: environment, limits: limits)
    else { return nil }
    do throws(PersistentStoreError) {
      process.begin(file.map { "whether it recognizes \($0)" } ?? "for its formats")
      for _ in 0..<maximumLines where try process.message() == answer { return nil }
      throw process.failure("printed more than \(maximumLines) lines")
    } catch {
      return error
    }
  }
}
