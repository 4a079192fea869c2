import ArgumentParser
import AtomicStoreSPI
import CommandSupport
import FoundationEssentials
import Glibc

/// The names of the commands as typed by users.
enum CommandNames {
  /// Ends the program with a usage error if a word on the command line is not a command where one is expected: the
  /// argument parser would list all words as unexpected arguments.
  static func check() {
    let words = CommandLine.arguments.dropFirst()
    guard let message = problem(in: Array(words), of: AtomicStoreCommand.self) else { return }
    Diagnostics.error(CommandFailure(message, exitCode: 64, json: Arguments.askForJSON))
    Glibc.exit(64)
  }

  /// Returns what to say about the first word that is not a command; nil if there is none.
  static func problem(in words: [String], of root: any ParsableCommand.Type) -> String? {
    var command = root
    var words = words[...]
    if words.first == "help" { words = words.dropFirst() }
    while let word = words.popFirst() {
      let commands = command.configuration.subcommands
      // Without a name in this position, the parser prints the help, or says what is missing.
      guard !commands.isEmpty, !word.hasPrefix("-") else { return nil }
      if let next = commands.first(where: { names(of: $0).contains { ScalarString($0) == ScalarString(word) } }) {
        command = next
        continue
      }
      return unknown(word, of: command, isRoot: command == root)
    }
    return nil
  }

  /// What other programs call a command.
  private static let synonyms = [
    "query": "fetch", "select": "fetch", "find": "fetch", "list": "fetch", "count": "fetch --count", "cat": "dump",
    "show": "inspect", "print": "dump", "export": "convert", "info": "inspect", "ls": "inspect", "describe": "inspect",
    "update": "set", "add": "insert", "create": "insert", "remove": "delete", "rm": "delete", "compare": "diff",
    "validate": "check", "verify": "check", "upgrade": "migrate", "copy": "convert", "cp": "convert", "html": "report",
    "serve": "browse", "draw": "model diagram", "diagram": "model diagram", "lint": "model lint", "apply": "patch",
    "test": "conform", "types": "formats",
  ]

  private static func unknown(_ word: String, of command: any ParsableCommand.Type, isRoot: Bool) -> String {
    let commands = command.configuration.subcommands
    let start = isRoot ? "" : command._commandName + ": "
    if FileManager.default.fileExists(atPath: word) || word.contains("/") {
      // What one would look at first.
      let first = isRoot ? "inspect" : commands[0]._commandName
      return "\(start)'\(word)' is not a command; a command precedes it, such as "
        + "'atomicstore \(isRoot ? "" : command._commandName + " ")\(first) \(word)'"
    }
    let unknown = "\(start)unknown command '\(word)'"
    if isRoot, let other = synonyms[word.lowercased()] { return unknown + "; did you mean '\(other)'?" }
    let near = Suggestion.text(for: word, among: commands.flatMap(names) + (isRoot ? HelpTopic.names : []))
    let list = commands.map { $0._commandName }.joined(separator: ", ")
    return unknown + (near.isEmpty ? "; choose one of \(list)" : near)
  }

  private static func names(of command: any ParsableCommand.Type) -> [String] {
    [command._commandName] + command.configuration.aliases
  }
}
