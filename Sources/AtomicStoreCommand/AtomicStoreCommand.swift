import ArgumentParser
import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation

struct AtomicStoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "atomicstore",
    abstract: "Convert, inspect, compare and edit atomic stores: XML, binary property list, CSV.",
    discussion: """
      atomicstore convert old.xml new.csvstore      # to CSV, nothing lost, the source untouched
      atomicstore inspect new.csvstore --json       # what is in it
      atomicstore diff old.xml new.csvstore         # 0 the same, 1 different, 2 trouble

      Exit codes: 0 yes, 1 no (differences), 2 trouble in diff, 64 usage, 65 bad data, 66 no such input,
      70 internal, 73 cannot create, 74 input or output, 77 permission, 129, 130 and 143 stopped by a signal.
      """,
    version: StorePlugin.kitVersion,
    subcommands: [
      Formats.self, Inspect.self, Convert.self, Diff.self, Dump.self, Fetch.self, PredicateCommand.self, Metadata.self,
      Model.self, Conform.self, NewFormat.self,
    ])

  static func run() {
    Interrupt.watch()
    do {
      try Arguments.check()
      var command = try parseAsRoot()
      try command.run()
    } catch let error as ExitCode {
      Foundation.exit(error.rawValue)
    } catch let error as CommandFailure {
      end(with: error)
    } catch {
      end(withParserError: error)
    }
  }

  private static func end(with failure: CommandFailure) -> Never {
    Talk.error(failure)
    Foundation.exit(failure.exitCode)
  }

  /// Help and version, which go to standard output, and usage errors, which exit with 64.
  private static func end(withParserError error: any Error) -> Never {
    let code = exitCode(for: error).rawValue
    var text = fullMessage(for: error)
    guard code == 0 else {
      if Arguments.askForJSON {
        let message = Self.message(for: error)
        end(with: CommandFailure(message.isEmpty ? text : message, exitCode: code, json: true))
      }
      if Arguments.hasDashedName { text += "\n  " + Arguments.dashHint }
      Talk.say(text)
      Foundation.exit(code)
    }
    if text == helpMessage(for: Conform.self) { text = Conform.completed(help: text) }
    do {
      try Talk.put(text + "\n")
    } catch let error as CommandFailure {
      end(with: error)
    } catch {}
    Foundation.exit(0)
  }
}

/// Options that all subcommands have.
struct CommonOptions: ParsableArguments {
  @Flag(help: "Print JSON instead of text; errors too.") var json = false
  @Option(name: .customLong("plugin"), help: "A plug-in with store formats. May be repeated.") var plugins: [String] = []
}

/// What the shell handed over, looked at before it is parsed.
enum Arguments {
  /// What is said about a word that begins with a dash and is not an option.
  static let dashHint = "A file whose name begins with '-' is written as ./-name, or after --; a value that does as --option=-value."
  /// The options whose value may begin with a dash without that.
  private static let dashedValues: Set<String> = ["--sort", "--limit", "--offset"]

  /// Whether errors of parsing are asked for as JSON too: nobody has parsed that yet.
  static var askForJSON: Bool { CommandLine.arguments.dropFirst().prefix { $0 != "--" }.contains("--json") }

  /// - Throws: for an argument that is not UTF-8. Swift's own list has other characters there, and the file or the value would be
  ///   another one than was asked for.
  static func check() throws {
    for place in 1..<max(1, Int(CommandLine.argc)) {
      guard let raw = CommandLine.unsafeArgv[place] else { return }
      let bytes = UnsafeBufferPointer(start: UnsafePointer<CChar>(raw), count: strlen(raw)).map { UInt8(bitPattern: $0) }
      guard String(validating: bytes, as: UTF8.self) == nil else { continue }
      let shown = bytes.map { $0 >= 0x20 && $0 < 0x7F ? String(UnicodeScalar($0)) : "\\x" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }
      throw CommandFailure("argument \(place) is not UTF-8: '\(shown.joined())'", exitCode: 64, json: askForJSON)
    }
    try checkDashes(CommandLine.arguments.dropFirst().prefix { $0 != "--" })
  }

  /// Whether a word with two dashes looks like the name of a file.
  static var hasDashedName: Bool {
    CommandLine.arguments.dropFirst().prefix { $0 != "--" }.contains { word in
      word.hasPrefix("--") && word.prefix { $0 != "=" }.contains { $0 == "." || $0 == "/" }
    }
  }

  /// - Throws: for a word such as `-hash.xml`, which the parser takes for the flag `-h`: it would print the help and succeed.
  private static func checkDashes(_ words: ArraySlice<String>) throws {
    for place in words.indices {
      let word = words[place]
      guard word.count > 1, word.hasPrefix("-"), !word.hasPrefix("--"), word != "-h", word != "-help" else { continue }
      if place > words.startIndex, dashedValues.contains(words[place - 1]) { continue }
      throw CommandFailure("'\(word)' is not an option\n  \(dashHint)", exitCode: 64, json: askForJSON)
    }
  }
}

extension ParsableCommand {
  /// Runs what may fail and gives the failure its exit code.
  func guarded(_ common: CommonOptions, _ body: () throws -> Void) throws {
    try guarded(json: common.json) {
      try Tool.load(common.plugins)
      try body()
    }
  }

  func guarded(json: Bool, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch let code as ExitCode {
      throw code
    } catch {
      throw CommandFailure(error, json: json)
    }
  }
}
