import Foundation
import TestSupport
import Testing

@testable import CommandSupport

@Suite("Text that a terminal would interpret") struct HostileTextTests {
  /// An operating system command, a control sequence in one byte, an override of the direction, isolates, marks, and
  /// plain controls.
  static let evil =
    "a\u{1B}]0;owned\u{7}\u{9B}31m\u{202E}txt-exe\u{202C}\u{2066}\u{2069}\u{200E}\u{200F}\u{61C}\u{7F}\u{8}\u{85}z"

  /// Stores whose names, entities, references, values, metadata keys and values are hostile.
  private final class Stores {
    let directory: TemporaryDirectory
    var plist: String { directory.path + "/\(HostileTextTests.evil).plist" }
    var csv: String { directory.path + "/\(HostileTextTests.evil).csv" }
    var target: String { directory.path + "/\(HostileTextTests.evil)2" }

    init() throws {
      directory = try TemporaryDirectory("hostile-text")
      try FileManager.default.copyItem(atPath: Command.samples + "/Company/Company.plist", toPath: plist)
      try #require(try Command.run("metadata", "set", plist, HostileTextTests.evil, HostileTextTests.evil).code == 0)
      let evil = HostileTextTests.evil
      let text = "id:Reference,\(evil):String,when:Date\n1,\(evil),1840-04-02\n"
      try Data(text.utf8).write(to: URL(filePath: csv))
    }

    func filledIn(_ word: String) -> String {
      [("@PLIST", plist), ("@CSV", csv), ("@TARGET", target), ("@EVIL", HostileTextTests.evil)].reduce(word) {
        $0.replacingOccurrences(of: $1.0, with: $1.1)
      }
    }
  }

  /// What of an output a terminal obeys, except for the command's own: a progress bar, and line ends.
  private static func obeyed(_ output: [UInt8]) -> [String] {
    let text = String(decoding: output, as: UTF8.self).replacingOccurrences(of: "\u{1B}[K", with: "")
      .replacingOccurrences(
        of: #"\r(\[[#.]+\][^\r\n]*|[0-9]+ of [^\r\n]*|\n|$)"#, with: "\n", options: .regularExpression)
    return text.unicodeScalars.filter(TerminalText.isUnsafe).map { "U+" + String($0.value, radix: 16) }
  }

  static let commands: [[String]] = [
    ["inspect", "@PLIST"], ["inspect", "@PLIST", "--json"], ["inspect", "@CSV"], ["inspect", "@CSV", "--json"],
    ["inspect", "@EVIL.missing"],
    ["inspect", "@EVIL.missing", "--json"], ["dump", "@PLIST"], ["dump", "@CSV"], ["dump", "@CSV", "--json"],
    ["dump", "@PLIST", "--json"],
    ["dump", "@CSV", "--entity", "@EVIL2"], ["metadata", "get", "@PLIST"], ["metadata", "get", "@PLIST", "@EVIL"],
    ["metadata", "get", "@PLIST", "@EVIL2"],
    ["metadata", "get", "@PLIST", "--json"], ["metadata", "get", "@PLIST", "@EVIL", "--json"],
    ["metadata", "get", "@PLIST", "--from", "@EVIL"],
    ["metadata", "set", "@PLIST", "@EVIL", "@EVIL", "--type", "@EVIL"],
    ["metadata", "set", "@PLIST", "@EVIL2", "--remove"],
    ["fetch", "@CSV", "--entity", "@EVIL"], ["fetch", "@CSV", "--entity", "@EVIL", "--format", "csv"],
    ["fetch", "@CSV", "--entity", "@EVIL", "--format", "json"],
    ["fetch", "@CSV", "--entity", "@EVIL", "--format", "ndjson"], ["fetch", "@CSV", "--entity", "@EVIL2"],
    ["fetch", "@CSV", "--entity", "@EVIL", "--sort", "@EVIL2"],
    ["fetch", "@CSV", "--entity", "@EVIL", "--where", "@EVIL == 1"],
    ["fetch", "@CSV", "--entity", "@EVIL", "--where", "#\"@EVIL2\" == 1"],
    ["fetch", "@CSV", "--entity", "@EVIL", "--columns", "@EVIL"],
    ["fetch", "@CSV", "--entity", "@EVIL", "--group", "@EVIL"],
    ["fetch", "@CSV", "--entity", "@EVIL", "--where", "#\"@EVIL\" == '@EVIL2'"],
    ["fetch", "@CSV", "--entity", "@EVIL", "--having", "@EVIL"],
    ["fetch", "@CSV", "--entity", "@EVIL", "--group", "when", "--columns", "when,count:(#\"@EVIL\")"],
    ["diff", "@PLIST", "@CSV"], ["diff", "@PLIST", "@CSV", "--json"], ["diff", "@PLIST", "@EVIL"],
    ["model", "show", "@CSV"], ["model", "show", "@CSV", "--json"],
    ["model", "show", "@EVIL"], ["convert", "@CSV", "@TARGET.plist", "--verbose"],
    ["convert", "@CSV", "@TARGET.plist", "--json"],
    ["convert", "@CSV", "-", "--to", "CSV"], ["convert", "@PLIST", "-", "--to", "BinaryPropertyList"],
    ["convert", "@PLIST", "@EVIL.@EVIL"],
    ["convert", "@PLIST", "@TARGET.csv"], ["convert", "@CSV", "@TARGET.xml", "--dry-run"],
    ["convert", "@CSV", "@TARGET.xml", "--write-option", "@EVIL=@EVIL"],
    ["convert", "@CSV", "@TARGET.plist", "--entity", "@EVIL2"],
    ["convert", "@CSV", "@TARGET.plist", "--entity", "@EVIL", "--where", "@EVIL"],
    ["formats", "--plugin", "@EVIL"], ["predicate", "@EVIL"], ["predicate", "name == '@EVIL'"],
    ["predicate", "name == '@EVIL'", "--json"],
    ["predicate", "--file", "@EVIL"], ["predicate", "--file", "@CSV"], ["conform", "explain", "@EVIL"],
    ["conform", "--type", "@EVIL"],
    ["conform", "--profile", "@EVIL"], ["new-format", "@EVIL"], ["@EVIL"], ["inspect", "@PLIST", "--@EVIL"],
    ["inspect", "@PLIST", "-@EVIL"], ["fetch", "@CSV", "--limit", "@EVIL"],
  ]

  @Test("no command passes a control character or a change of direction to a terminal", arguments: commands)
  func terminal(_ words: [String]) throws {
    let stores = try Stores()
    let (output, _) = try Terminal.run(words.map(stores.filledIn), columns: 200, hasErrors: true)
    #expect(!output.isEmpty)
    let obeyed = Self.obeyed(output)
    #expect(obeyed.isEmpty, "\(words): \(obeyed) in \(String(decoding: output, as: UTF8.self).debugDescription)")
  }

  @Test("messages are escaped on a pipe too")
  func messages() throws {
    for arguments in [
      ["inspect", Self.evil], ["fetch", Command.company, "--entity", Self.evil], ["conform", "--type", Self.evil],
      [Self.evil],
    ] {
      for more in [[], ["--json"]] {
        let result = try Command.run(arguments: arguments + more)
        #expect(
          result.code != 0 && !result.errors.isEmpty
            && !result.errors.unicodeScalars.contains(where: TerminalText.isUnsafe), "\(result.errors.debugDescription)"
        )
      }
    }
  }

  @Test("on a pipe data is exact, and JSON escapes are read back")
  func pipes() throws {
    let stores = try Stores()
    let (plist, csv) = (stores.plist, stores.csv)
    defer { withExtendedLifetime(stores) {} }
    #expect(try Command.run("metadata", "get", plist, Self.evil).output == Self.evil + "\n")
    let cells = try Command.run(
      "fetch", csv, "--entity", Self.evil, "--format", "csv", "--columns", "#\"\(Self.evil)\""
    ).output
    #expect(cells.hasSuffix("\n\(Self.evil)\n"), "\(cells.debugDescription)")
    let metadata = try Command.run("metadata", "get", plist, "--json")
    #expect(!metadata.output.unicodeScalars.contains(where: TerminalText.isUnsafe))
    #expect(
      metadata.output.contains(
        "\\u001b]0;owned\\u0007\\u009b31m\\u202etxt-exe\\u202c\\u2066\\u2069\\u200e\\u200f\\u061c\\u007f\\u0008\\u0085z"
      ))
    #expect((try metadata.json() as? [String: Any])?[Self.evil] as? String == Self.evil)
    for arguments in [
      ["dump", csv, "--json"], ["inspect", csv, "--json"], ["fetch", csv, "--entity", Self.evil, "--format", "json"],
      ["model", "show", csv, "--json"],
    ] {
      let result = try Command.run(arguments: arguments)
      #expect(!result.output.unicodeScalars.contains(where: TerminalText.isUnsafe), "\(arguments[0])")
      _ = try result.json()
    }
  }

  @Test("output in pieces is escaped like the whole, wherever it is cut")
  func pieces() {
    let bytes = Array("é\u{1B}[m\u{9B}\u{202E}€\u{1F600}\u{61C}\n\tz".utf8) + [0xFF, 0x9B, 0xE2, 0x80]
    func filtered(_ pieces: [ArraySlice<UInt8>]) -> String {
      let filter = TerminalFilter()
      var result: [UInt8] = []
      for piece in pieces { result += Array(piece).withUnsafeBytes { filter.filtered($0) } }
      return String(decoding: result + filter.finish(), as: UTF8.self)
    }
    let whole = "é\\u001b[m\\u009b\\u202e€\u{1F600}\\u061c\n\tz\\xff\\x9b\\xe2\\x80"
    for place in 0...bytes.count { #expect(filtered([bytes[..<place], bytes[place...]]) == whole) }
    #expect(filtered(bytes.indices.map { bytes[$0...$0] }) == whole)
  }
}
