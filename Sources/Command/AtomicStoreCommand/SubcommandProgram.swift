import ArgumentParser
import CommandSupport
import FoundationEssentials
import Glibc

/// The subcommand for the list of subcommands. It runs a separate program: see ``SubcommandProgram``.
struct Conform: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "conform", abstract: "Check a store format.",
    discussion: "Runs the program atomicstore-conform, in which system calls are replaced. It prints its own help.")
  @Argument(parsing: .captureForPassthrough, help: "The arguments of that program.") var arguments: [String] = []
}

/// As ``Conform``.
struct BrowseCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "browse", abstract: "Look at a whole store in a browser, with predicates.",
    discussion: "Runs the program atomicstore-browse, which serves a page on this machine. It prints its own help.")
  @Argument(parsing: .captureForPassthrough, help: "The arguments of that program.") var arguments: [String] = []
}

/// A subcommand that is a separate program: `atomicstore-conform`, in which alone system calls are replaced, and
/// `atomicstore-browse`, which brings a web server.
struct SubcommandProgram {
  /// The subcommands that are programs, and what each does, for an error where it is missing.
  static let all = ["conform": "runs conformance checks", "browse": "shows a store in a browser"]

  /// The exit code if it is missing: EX_UNAVAILABLE of sysexits.h, a support program that does not exist.
  static let missing: Int32 = 69

  /// The word on the command line.
  let subcommand: String
  let name: String
  /// The paths that are tried, in order.
  let candidates: [String]

  /// - Parameters:
  ///   - subcommand: The word on the command line.
  ///   - executable: The path of this program, without symbolic links.
  ///   - searchPath: The value of `PATH`. Entries that depend on the current directory are ignored.
  ///   - hasOwnFormats: Whether formats are compiled into this program, which then requires a program that has them
  ///     too.
  init(_ subcommand: String, executable: String, searchPath: String, hasOwnFormats: Bool) {
    self.subcommand = subcommand
    let directory = PathParts.directory(of: executable)
    let command = hasOwnFormats ? PathParts.name(of: executable) : "atomicstore"
    let name = "\(command)-\(subcommand)"
    self.name = name
    candidates =
      ["\(directory)/\(name)", "\(PathParts.directory(of: directory))/libexec/atomicstore/\(name)"]
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
    let isHelp = words.first == "help"
    guard let subcommand = isHelp ? words.dropFirst().first : words.first, all[subcommand] != nil else { return }
    let environment = ProcessInfo.processInfo.environment
    let executable = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
    let program = SubcommandProgram(
      subcommand, executable: executable, searchPath: environment["PATH"] ?? "", hasOwnFormats: hasOwnFormats)
    let failure = program.takeOver(skipping: isHelp ? 3 : 2, adding: isHelp ? ["--help"] : [], hasOwnFormats)
    Diagnostics.error(failure)
    exit(failure.exitCode)
  }

  /// - Returns: The reason if it could not be started. Otherwise this does not return.
  private func takeOver(skipping count: Int, adding more: [String], _ hasOwnFormats: Bool) -> CommandFailure {
    guard let path else {
      var text =
        "the program \(name), which \(Self.all[subcommand] ?? "is needed"), was not found; searched:"
      for candidate in candidates { text += "\n  \(candidate)" }
      if hasOwnFormats {
        text +=
          "\nA program with its own formats needs a program for '\(subcommand)' that has them too: see AtomicStore\(subcommand.capitalized)Tool"
      } else {
        text +=
          "\nThe Debian package \(name) and the tarball contain it; in a checkout of the kit, 'swift build --product \(name)' builds it"
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
