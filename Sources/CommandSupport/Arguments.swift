package import ArgumentParser
import AtomicStoreSPI
import Foundation

/// Options that all subcommands have.
package struct CommonOptions: ParsableArguments {
  @Flag(help: "Print JSON instead of text; errors too.") package var json = false
  @Option(name: .customLong("plugin"), help: "A plug-in with store formats. May be repeated.") package var plugins:
    [String] = []
  @Flag(
    name: .customLong("no-plugins"),
    help: "Do not look for plug-ins in ATOMICSTORE_PLUGIN_PATH and the user's directory.")
  package var ignoresInstalledPlugins = false

  package init() {}
}

/// What the shell handed over, looked at before it is parsed.
package enum Arguments {
  /// What is said about a word that begins with a dash and is not an option.
  package static let dashHint =
    "A file whose name begins with '-' is written as ./-name, or after --; a value that does as --option=-value."
  /// The options whose value may begin with a dash without that.
  private static let dashedValues: Set<String> = ["--sort", "--limit", "--offset"]

  /// Whether errors of parsing are asked for as JSON too: nobody has parsed that yet.
  package static var askForJSON: Bool { CommandLine.arguments.dropFirst().prefix { $0 != "--" }.contains("--json") }

  /// - Throws: for an argument that is not UTF-8. Swift's own list has other characters there, and the file or the
  ///   value would be another one than was asked for.
  package static func check() throws {
    for place in 1..<max(1, Int(CommandLine.argc)) {
      guard let raw = CommandLine.unsafeArgv[place] else { return }
      let bytes = UnsafeBufferPointer(start: UnsafePointer<CChar>(raw), count: strlen(raw)).map {
        UInt8(bitPattern: $0)
      }
      guard String(validating: bytes, as: UTF8.self) == nil else { continue }
      let shown = bytes.map {
        $0 >= 0x20 && $0 < 0x7F ? String(UnicodeScalar($0)) : "\\x" + ($0 < 16 ? "0" : "") + String($0, radix: 16)
      }
      throw CommandFailure("argument \(place) is not UTF-8: '\(shown.joined())'", exitCode: 64, json: askForJSON)
    }
    try checkDashes(CommandLine.arguments.dropFirst().prefix { $0 != "--" })
  }

  /// Whether a word with two dashes looks like the name of a file.
  package static var hasDashedName: Bool {
    CommandLine.arguments.dropFirst().prefix { $0 != "--" }.contains { word in
      word.hasPrefix("--") && word.prefix { $0 != "=" }.contains { $0 == "." || $0 == "/" }
    }
  }

  /// - Throws: for a word such as `-hash.xml`, which the parser takes for the flag `-h`: it would print the help and
  ///   succeed.
  private static func checkDashes(_ words: ArraySlice<String>) throws {
    for place in words.indices {
      let word = words[place]
      guard word.count > 1, word.hasPrefix("-"), !word.hasPrefix("--"), word != "-h", word != "-help" else { continue }
      if place > words.startIndex, dashedValues.contains(words[place - 1]) { continue }
      throw CommandFailure("'\(word)' is not an option\n  \(dashHint)", exitCode: 64, json: askForJSON)
    }
  }
}
