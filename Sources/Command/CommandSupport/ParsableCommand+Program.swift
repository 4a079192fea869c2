package import ArgumentParser
import AtomicStoreSPI
import FoundationEssentials
import Glibc

extension ParsableCommand {
  /// Runs the command with the program's arguments, and exits the program if it fails.
  ///
  /// - Parameters:
  ///   - completingHelp: Called with a help text before it is printed.
  ///   - choices: What there is to choose from where the value of an option is missing: the option, and the words of
  ///     the command line.
  package static func runAsProgram(
    completingHelp: (String) -> String = { $0 },
    choices: @escaping (_ option: String, _ words: [String]) -> (of: String, names: [String])? = { _, _ in nil }
  ) {
    PluginTrial.runIfAsked()
    do {
      try Arguments.check()
      var command = try parseAsRoot()
      try command.run()
      Interrupt.removeFiles()
    } catch {
      Interrupt.waitForEnd()
      Interrupt.removeFiles()
      switch error {
      case let error as ExitCode: Glibc.exit(error.rawValue)
      case let error as CommandFailure: end(with: error)
      default: end(withParserError: error, completingHelp, choices)
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
  private static func end(
    withParserError error: any Error, _ completingHelp: (String) -> String, _ choices: @escaping UsageErrors.Choices
  ) -> Never {
    let code = exitCode(for: error).rawValue
    var text = fullMessage(for: error, columns: 100_000)
    guard code == 0 else {
      let message = Self.message(for: error)
      // `Help:  --entity <entity>  The entity.`
      let help = text.split(separator: "\n").first { $0.hasPrefix("Help:  ") }?.dropFirst(7)
      let explanation = help.flatMap { help in help.firstRange(of: "  ").map { String(help[$0.upperBound...]) } }
      let words = Array(CommandLine.arguments.dropFirst())
      let sentence = UsageErrors(Self.self, words: words, choices: choices)
        .sentence(message.isEmpty ? text : message, help: explanation)
      end(with: CommandFailure(sentence, exitCode: code, json: Arguments.askForJSON))
    }
    // Version, completion scripts and JSON are not laid out.
    if text.hasPrefix("OVERVIEW:") || text.hasPrefix("USAGE:") {
      text = HelpText.laidOut(completingHelp(text), width: Diagnostics.helpWidth)
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

  /// As ``guarded(_:_:)``, for a list of the formats: plug-ins that cannot be used are errors, which are reported after
  /// the body has run with the others.
  package func guardedWithoutUnusablePlugins(_ common: CommonOptions, _ body: () throws -> Void) throws {
    Diagnostics.use(common.color)
    try guarded(json: common.json) {
      try common.useJobs()
      let searches = !common.ignoresInstalledPlugins
      try InstalledFormats.load([], searches: searches)
      let failures = common.plugins.compactMap { path -> (any Error)? in
        do {
          try InstalledFormats.load([path], searches: searches)
          return nil
        } catch { return error }
      }
      // A type that is not there may be one of theirs.
      do { try body() } catch  where !failures.isEmpty {}
      for failure in failures.dropFirst() { Diagnostics.error(CommandFailure(failure, json: common.json)) }
      if let failure = failures.first { throw failure }
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
