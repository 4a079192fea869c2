package import ArgumentParser
import AtomicStoreSPI
import FoundationEssentials
import Glibc

extension ParsableCommand {
  /// Runs the command with the program's arguments, and exits the program if it fails.
  ///
  /// - Parameter completingHelp: Called with a help text before it is printed.
  package static func runAsProgram(completingHelp: (String) -> String = { $0 }) {
    do {
      try Arguments.check()
      var command = try parseAsRoot()
      try command.run()
    } catch {
      Interrupt.waitForEnd()
      switch error {
      case let error as ExitCode: Glibc.exit(error.rawValue)
      case let error as CommandFailure: end(with: error)
      default: end(withParserError: error, completingHelp)
      }
    }
  }

  private static func end(with failure: CommandFailure) -> Never {
    var failure = failure
    if failure.isUnknownType {
      failure.message += InstalledFormats.omissions.map { "\n  left out: \($0.from): \($0.reason)" }.joined()
    }
    Diagnostics.error(failure)
    Glibc.exit(failure.exitCode)
  }

  /// Prints help and version to standard output, and exits with 64 for usage errors.
  private static func end(withParserError error: any Error, _ completingHelp: (String) -> String) -> Never {
    let code = exitCode(for: error).rawValue
    var text = fullMessage(for: error)
    guard code == 0 else {
      if Arguments.askForJSON {
        let message = Self.message(for: error)
        end(with: CommandFailure(message.isEmpty ? text : message, exitCode: code, json: true))
      }
      if Arguments.hasDashedName { text += "\n  " + Arguments.dashHint }
      Diagnostics.say(text)
      Glibc.exit(code)
    }
    // Version, completion scripts and JSON are not laid out.
    if text.hasPrefix("OVERVIEW:") || text.hasPrefix("USAGE:") {
      text = HelpText.laidOut(completingHelp(fullMessage(for: error, columns: 100_000)), width: Diagnostics.helpWidth)
    }
    do {
      try Diagnostics.put(text + "\n")
    } catch let error as CommandFailure {
      end(with: error)
    } catch {}
    Glibc.exit(0)
  }
}

extension ParsableCommand {
  /// Runs `body` and exits with the exit code of its failure.
  package func guarded(_ common: CommonOptions, _ body: () throws -> Void) throws {
    Diagnostics.use(common.color)
    try guarded(json: common.json) {
      try common.useJobs()
      try InstalledFormats.load(common.plugins, searches: !common.ignoresInstalledPlugins)
      try body()
    }
  }

  package func guarded(json: Bool, _ body: () throws -> Void) throws {
    if json { Diagnostics.holdNotes() }
    do {
      try body()
      Diagnostics.releaseNotes()
    } catch let code as ExitCode {
      Diagnostics.releaseNotes()
      throw code
    } catch {
      throw CommandFailure(error, json: json)
    }
  }
}
