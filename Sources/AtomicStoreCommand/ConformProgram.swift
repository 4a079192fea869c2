import ArgumentParser
import CommandSupport
import Foundation
import Glibc

/// The subcommand for the list of subcommands. It runs a separate program: see ``ConformProgram``.
struct Conform: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "conform", abstract: "Check a store format.",
    discussion: "Runs the program atomicstore-conform, in which system calls are replaced. It prints its own help.")
  @Argument(parsing: .captureForPassthrough, help: "The arguments of that program.") var arguments: [String] = []
}

/// `atomicstore-conform`, the program that runs conformance checks. Only there are system calls replaced.
struct ConformProgram {
  /// The exit code if it is missing: EX_UNAVAILABLE of sysexits.h, a support program that does not exist.
  static let missing: Int32 = 69

  let name: String
  /// The paths that are tried, in order.
  let candidates: [String]

  /// - Parameters:
  ///   - executable: The path of this program, without symbolic links.
  ///   - searchPath: The value of `PATH`. Entries that depend on the current directory are ignored.
  ///   - hasOwnFormats: Whether formats are compiled into this program, which then requires a program that has them
  ///     too.
  init(executable: String, searchPath: String, hasOwnFormats: Bool) {
    let directory = (executable as NSString).deletingLastPathComponent
    let name = hasOwnFormats ? (executable as NSString).lastPathComponent + "-conform" : "atomicstore-conform"
    self.name = name
    candidates =
      ["\(directory)/\(name)", "\((directory as NSString).deletingLastPathComponent)/libexec/atomicstore/\(name)"]
      + searchPath.split(separator: ":").filter { $0.hasPrefix("/") }.map { "\($0)/\(name)" }
  }

  /// The first of the paths that exists.
  var path: String? {
    candidates.first { path in
      var status = stat()
      return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }
  }

  /// Replaces this process by the program, if this one was started as `… conform` or `… help conform`, with all other
  /// arguments unchanged. Exit codes, signals and the terminal are then that program's.
  static func takeOverIfAsked(hasOwnFormats: Bool) {
    let words = CommandLine.arguments.dropFirst()
    let isHelp = words.prefix(2) == ["help", "conform"]
    guard isHelp || words.first == "conform" else { return }
    let environment = ProcessInfo.processInfo.environment
    let executable = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
    let program = ConformProgram(
      executable: executable, searchPath: environment["PATH"] ?? "", hasOwnFormats: hasOwnFormats)
    let failure = program.takeOver(skipping: isHelp ? 3 : 2, adding: isHelp ? ["--help"] : [], hasOwnFormats)
    Diagnostics.error(failure)
    exit(failure.exitCode)
  }

  /// - Returns: The reason if it could not be started. Otherwise this does not return.
  private func takeOver(skipping count: Int, adding more: [String], _ hasOwnFormats: Bool) -> CommandFailure {
    guard let path else {
      var text = "the program \(name), which runs conformance checks, is missing; these paths were tried:"
      for candidate in candidates { text += "\n  \(candidate)" }
      if hasOwnFormats {
        text +=
          "\nA program with formats of its own needs a conform program that has them too: see AtomicStoreConformTool"
      } else {
        text += "\nIn a checkout of the kit, 'swift build --product \(name)' builds it"
      }
      return CommandFailure(text, exitCode: Self.missing, json: Arguments.askForJSON)
    }
    // Unchanged, because an argument need not be UTF-8.
    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(path)]
    for index in stride(from: count, to: Int(CommandLine.argc), by: 1) {
      arguments.append(CommandLine.unsafeArgv[index])
    }
    for text in more { arguments.append(strdup(text)) }
    arguments.append(nil)
    execv(path, arguments)
    return CommandFailure(
      "\(path) cannot be started: \(Descriptor.text(errno))", exitCode: Self.missing, json: Arguments.askForJSON)
  }
}
