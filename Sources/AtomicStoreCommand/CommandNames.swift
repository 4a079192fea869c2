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
      let known = commands.flatMap(names)
      let near = Suggestion.text(for: word, among: known + (command == root ? HelpTopic.names : []))
      let start = command == root ? "" : command._commandName + ": "
      let list = commands.map { $0._commandName }.joined(separator: ", ")
      return "\(start)unknown command '\(word)'" + (near.isEmpty ? "; there are \(list)" : near)
    }
    return nil
  }

  private static func names(of command: any ParsableCommand.Type) -> [String] {
    [command._commandName] + command.configuration.aliases
  }
}
