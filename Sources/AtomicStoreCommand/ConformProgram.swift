import ArgumentParser
import CommandSupport
import Foundation
import Glibc

/// The subcommand as the list of subcommands has it. What runs is a program of its own: see ``ConformProgram``.
struct Conform: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "conform", abstract: "Find out whether a store format is right.",
    discussion: "Runs the program atomicstore-conform, in which system calls are replaced; it prints its own help.")
  @Argument(parsing: .captureForPassthrough, help: "The arguments of that program.") var arguments: [String] = []
}

/// `atomicstore-conform`, the program that runs conformance checks. In it alone system calls are replaced.
struct ConformProgram {
  /// The exit code where it is missing: EX_UNAVAILABLE of sysexits.h, a support program that does not exist.
  static let missing: Int32 = 69

  let name: String
  /// The paths that are tried, in this order.
  let candidates: [String]

  /// - Parameters:
  ///   - executable: The path of this program, without symbolic links.
  ///   - searchPath: The value of `PATH`. Entries that depend on the current directory are left out.
  ///   - hasOwnFormats: Whether formats are compiled into this program, which then needs a program that has them too.
  init(executable: String, searchPath: String, hasOwnFormats: Bool) {
    let directory = (executable as NSString).deletingLastPathComponent
    let name = hasOwnFormats ? (executable as NSString).lastPathComponent + "-conform" : "atomicstore-conform"
    self.name = name
    candidates =
      ["\(directory)/\(name)", "\((directory as NSString).deletingLastPathComponent)/libexec/atomicstore/\(name)"]
      + searchPath.split(separator: ":").filter { $0.hasPrefix("/") }.map { "\($0)/\(name)" }
  }

  /// The program that is there.
  var path: String? {
    candidates.first { path in
      var status = stat()
      return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }
  }

  /// Becomes the program, where this one was started as `… conform` or `… help conform`, with all other arguments as
  /// they are. Exit codes, signals and the terminal are that program's then.
  static func takeOverIfAsked(hasOwnFormats: Bool) {
    let words = CommandLine.arguments.dropFirst()
    let isHelp = words.prefix(2) == ["help", "conform"]
    guard isHelp || words.first == "conform" else { return }
    let environment = ProcessInfo.processInfo.environment
    let executable = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
    let program = ConformProgram(
      executable: executable, searchPath: environment["PATH"] ?? "", hasOwnFormats: hasOwnFormats)
    let failure = program.takeOver(skipping: isHelp ? 3 : 2, adding: isHelp ? ["--help"] : [], hasOwnFormats)
    Talk.error(failure)
    exit(failure.exitCode)
  }

  /// - Returns: Why it could not be started. Otherwise this does not return.
  private func takeOver(skipping count: Int, adding more: [String], _ hasOwnFormats: Bool) -> CommandFailure {
    guard let path else {
      var text = "the program \(name), which runs conformance checks, is missing; it was looked for at"
      for candidate in candidates { text += "\n  \(candidate)" }
      if hasOwnFormats {
        text += "\nA program with formats of its own comes with one that has them too: see AtomicStoreConformTool"
      } else {
        text += "\nIn a checkout of the kit, 'swift build --product \(name)' makes it"
      }
      return CommandFailure(text, exitCode: Self.missing, json: Arguments.askForJSON)
    }
    // As they came: an argument need not be UTF-8.
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
