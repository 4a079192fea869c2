package import ArgumentParser
package import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// The options of all subcommands.
package struct CommonOptions: ParsableArguments {
  @Flag(help: "Print JSON instead of text, also for errors.") package var json = false
  @Option(
    name: .customLong("plugin"), help: "A plug-in with store formats: a library or a program. May be repeated.")
  package var plugins: [String] = []
  @Flag(
    name: .customLong("no-plugins"),
    help: "Do not look for plug-ins in ATOMICSTORE_PLUGIN_PATH and the user's directory.")
  package var ignoresInstalledPlugins = false
  @Option(help: "Colors: auto, always or never. auto is a terminal, unless NO_COLOR is set.")
  package var color = ColorMode.auto
  @Option(
    help:
      "The maximum number of threads; with --files-from that many stores are treated at the same time, each by one thread. Default: one for each core."
  )
  package var jobs: Int?

  package init() {}

  /// - Throws: A usage error for an invalid number of threads.
  func useJobs() throws {
    guard let jobs else { return }
    guard (1...256).contains(jobs) else {
      throw CommandFailure("--jobs must be 1 to 256, not \(jobs)", exitCode: 64)
    }
    ParallelWork.jobs = jobs
  }
}

/// The value of `--color`.
package enum ColorMode: String, ExpressibleByArgument, CaseIterable, Sendable { case auto, always, never }

/// The raw arguments, checked before they are parsed.
package enum Arguments {
  /// The hint for a word that begins with a dash and is not an option.
  package static let dashHint =
    "Write a file name that begins with '-' as ./-name, or after --; write such an option value as --option=-value."
  /// The options whose value may begin with a dash without that.
  private static let dashedValues: Set<String> = ["--sort", "--limit", "--offset", "-o", "--output"]

  /// Whether errors of parsing should be JSON too: options are not parsed at that point.
  package static var askForJSON: Bool { CommandLine.arguments.dropFirst().prefix { $0 != "--" }.contains("--json") }

  /// - Throws: An error for an argument that is not UTF-8. Swift's own list replaces its characters, so that the file
  ///   or value would be a different one.
  package static func check() throws {
    for place in 1..<max(1, Int(CommandLine.argc)) {
      guard let raw = CommandLine.unsafeArgv[place] else { return }
      let bytes = UnsafeBufferPointer(start: UnsafePointer<CChar>(raw), count: strlen(raw)).map {
        UInt8(bitPattern: $0)
      }
      guard String(validating: bytes, as: UTF8.self) == nil else { continue }
      let shown = bytes.map {
        $0 >= UInt8(ascii: " ") && $0 < 0x7F
          ? String(UnicodeScalar($0)) : "\\x" + ($0 < 16 ? "0" : "") + String($0, radix: 16)
      }
      throw CommandFailure("argument \(place) is not UTF-8: '\(shown.joined())'", exitCode: 64, json: askForJSON)
    }
    let words = CommandLine.arguments.dropFirst().prefix { $0 != "--" }
    try checkDashes(words)
    try checkOutputs(words)
  }

  /// A text in which paths below the current directory are relative to it, unless the command line contains that
  /// directory: a store knows its absolute path only.
  package static func asGiven(_ text: String) -> String {
    let folder = FileManager.default.currentDirectoryPath
    guard folder != "/", !CommandLine.arguments.dropFirst().contains(where: { $0.contains(folder) }) else {
      return text
    }
    let parts = text.split(separator: folder + "/", omittingEmptySubsequences: false)
    var shown = parts.first.map { String($0) } ?? ""
    for part in parts.dropFirst() {
      // Elsewhere, these are the last directories of another path.
      let beginsPath = shown.last.map { " '\"(:\n".contains($0) } ?? true
      shown += (beginsPath ? "" : folder + "/") + part
    }
    return shown
  }

  /// The options that name a file or directory to be written.
  private static let outputs = ["-o", "--output", "--report", "--reject", "--write-model", "--badge", "--into"]

  /// - Throws: An error for an empty path, such as an unset variable of a script: it would be the current directory, or
  ///   the root of the disk.
  private static func checkOutputs(_ words: ArraySlice<String>) throws {
    for place in words.indices {
      let isEmpty =
        words[place].isEmpty && place > words.startIndex && outputs.contains(words[place - 1])
        || outputs.contains { words[place] == $0 + "=" }
      guard isEmpty else { continue }
      throw CommandFailure("an empty path is not a file name", exitCode: 64, json: askForJSON)
    }
  }

  /// Whether a word with two dashes looks like a file name.
  package static var hasDashedName: Bool {
    CommandLine.arguments.dropFirst().prefix { $0 != "--" }.contains { word in
      word.hasPrefix("--") && word.prefix { $0 != "=" }.contains { $0 == "." || $0 == "/" }
    }
  }

  /// - Throws: An error for a word such as `-hash.xml`, which the parser takes for the flag `-h`: it would print the
  ///   help and succeed.
  private static func checkDashes(_ words: ArraySlice<String>) throws {
    for place in words.indices {
      let word = words[place]
      guard word.count > 1, word.hasPrefix("-"), !word.hasPrefix("--"), !["-h", "-help", "-o"].contains(word) else {
        continue
      }
      if place > words.startIndex, dashedValues.contains(words[place - 1]) { continue }
      throw CommandFailure("'\(word)' is not an option\n  \(dashHint)", exitCode: 64, json: askForJSON)
    }
  }
}

/// `name=value` pairs.
package func parseOptions(_ pairs: [String]) throws -> StoreOptions {
  var options: StoreOptions = [:]
  for pair in pairs {
    guard let equals = pair.firstIndex(of: "="), equals != pair.startIndex else {
      throw CommandFailure("'\(pair)' is not name=value", exitCode: 64)
    }
    let name = String(pair[..<equals])
    guard options[name] == nil else { throw CommandFailure("the option '\(name)' is specified twice", exitCode: 64) }
    options[name] = String(pair[pair.index(after: equals)...])
  }
  return options
}
