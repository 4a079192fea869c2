import ArgumentParser
import AtomicStoreSPI
import FoundationEssentials

/// The argument parser's errors, in the words of the kit's own.
///
/// The parser offers its errors as texts only. One that is not known here is shown as it is.
struct UsageErrors {
  /// Returns what there is to choose from for an option, such as the entities of the store that the words name.
  typealias Choices = (_ option: String, _ words: [String]) -> (of: String, names: [String])?

  private let words: [String]
  private let path: String
  private let arguments: [CommandArgument]
  private let choices: Choices

  init(_ root: any ParsableCommand.Type, words: [String], choices: @escaping Choices) {
    var command = root
    var path = [root._commandName]
    var rest = words[...]
    while let word = rest.popFirst(),
      let next = command.configuration.subcommands.first(where: {
        ([$0._commandName] + $0.configuration.aliases).contains(word)
      })
    {
      command = next
      path.append(next._commandName)
    }
    while let next = command.configuration.defaultSubcommand { command = next }
    self.words = Array(words.prefix { $0 != "--" })
    self.path = path.joined(separator: " ")
    self.choices = choices
    arguments = CommandArgument.all(of: command)
  }

  /// - Parameters:
  ///   - message: The parser's message.
  ///   - help: What the parser says about the argument concerned; nil if it says nothing.
  func sentence(_ message: String, help: String?) -> String {
    // What is missing is perhaps there under a wrong name.
    if let unknown = words.first(where: isUnknown) { return unknownOption(unknown) + seeHelp }
    let quoted = Self.quoted(message)
    guard let subject = quoted.first else { return message }
    if message.hasPrefix("Missing expected argument") { return missing(subject, help) + seeHelp }
    if message.hasPrefix("Missing value for") { return noValue(subject, help) + seeHelp }
    if message.hasPrefix("Unexpected argument") || message.contains(" unexpected arguments: ") {
      return unexpected(subject) + seeHelp
    }
    if message.hasPrefix("Unknown option") { return unknownOption(subject) + seeHelp }
    if message.hasPrefix("The value '"), quoted.count > 1 { return invalid(subject, for: quoted[1], message) + seeHelp }
    return message.prefix(1).lowercased() + message.dropFirst()
  }

  private var seeHelp: String { "\n  ('\(path) --help' describes the arguments)" }

  /// The parts of a message that are in quotes.
  private static func quoted(_ message: String) -> [String] {
    message.split(separator: "'", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }.map {
      String($0.element)
    }
  }

  /// `--entity` of `--entity <entity>`.
  private static func name(of label: String) -> String { String(label.prefix { $0 != " " }) }

  private static func explained(_ help: String?) -> String {
    guard let help, !help.isEmpty else { return "" }
    let text = help.hasSuffix(".") ? String(help.dropLast()) : help
    // A name in capitals stays.
    let isName = text.dropFirst().first.map { $0.isUppercase } ?? false
    return ", " + (isName ? text : text.prefix(1).lowercased() + text.dropFirst())
  }

  // MARK: Missing arguments

  private func missing(_ label: String, _ help: String?) -> String {
    guard label.hasPrefix("-") else { return "missing argument: \(label)\(Self.explained(help))" }
    return "missing option: \(label)\(Self.explained(help))\(listed(Self.name(of: label)))"
  }

  private func noValue(_ label: String, _ help: String?) -> String {
    "\(Self.name(of: label)) needs a value\(Self.explained(help))\(listed(Self.name(of: label)))"
  }

  private func listed(_ option: String) -> String {
    let values = arguments.first { $0.spellings.contains(option) }?.allValues
    let found = values.map { ("the values", $0) } ?? choices(option, words).map { ($0.of, $0.names) }
    guard let (subject, names) = found, !names.isEmpty else { return "" }
    let more = names.count > 30 ? " and \(names.count - 30) more" : ""
    // A name without its option is the commonest mistake.
    let given = words.dropFirst().lazy.compactMap { word in names.first { $0.lowercased() == word.lowercased() } }.first
    return "\n  \(subject): \(names.prefix(30).joined(separator: ", "))\(more)"
      + (given.map { "; write \(option) \($0)" } ?? "")
  }

  // MARK: Unknown options

  private func isUnknown(_ word: String) -> Bool {
    guard word.hasPrefix("--"), word.count > 2 else { return false }
    let name = String(word.prefix { $0 != "=" })
    return !arguments.contains { $0.spellings.contains(name) } && !["--help", "--version"].contains(name)
      && !name.hasPrefix("--generate-completion-script") && !name.hasPrefix("--experimental-")
  }

  /// What other programs call an option.
  private static let synonyms = [
    "--type": ["--from", "--to"], "--table": ["--entity"], "--entities": ["--entity"], "--filter": ["--where"],
    "--predicate": ["--where"],
    "--order": ["--sort"], "--order-by": ["--sort"], "--select": ["--columns"], "--fields": ["--columns"],
    "--group-by": ["--group"], "--overwrite": ["--force"], "--yes": ["--force"], "--quiet": ["--count"],
    "--schema": ["--model"], "--format": ["--json", "--to"],
  ]

  private func unknownOption(_ word: String) -> String {
    let name = String(word.prefix { $0 != "=" })
    let known = arguments.flatMap(\.spellings)
    if let option = Self.formatOption(name.dropFirst(2)) {
      let value =
        word.contains("=")
        ? word.drop { $0 != "=" }.dropFirst() : (words.drop { $0 != word }.dropFirst().first ?? "…")[...]
      return "\(name) is not an option of the command, but one of formats: write \(option.flag) \(option.name)=\(value)"
    }
    let start = "unknown option '\(name)'"
    if name == "-o" || name == "--output" {
      return start
        + (arguments.contains { $0.valueName == "target" }
          ? "; the target is an argument: \(usage)" : "; the result is written to standard output: add > FILE")
    }
    let near = Suggestion.text(for: name, among: known)
    guard near.isEmpty else { return start + near }
    let others = (Self.synonyms[name] ?? []).filter(known.contains)
    return start + (others.isEmpty ? "" : "; did you mean '\(others.joined(separator: "' or '"))'?")
      + (Arguments.hasDashedName ? "\n  \(Arguments.dashHint)" : "")
  }

  /// An option that is given as `--read-option` or `--write-option`.
  private static func formatOption(_ name: some StringProtocol) -> (flag: String, name: String)? {
    let all = InstalledFormats.registry.allTraits
    let ofEveryFormat = StoreLimits.options + RelationshipRules.options
    if (ofEveryFormat + all.flatMap(\.traits.readOptions)).contains(where: { $0.name == name }) {
      return ("--read-option", String(name))
    }
    guard all.contains(where: { $0.traits.writeOptions.contains { $0.name == name } }) else { return nil }
    return ("--write-option", String(name))
  }

  // MARK: Unexpected arguments

  private var usage: String {
    ([path] + arguments.filter { $0.kind == "positional" }.map(\.label)).joined(separator: " ")
  }

  /// The options whose values have blanks in them.
  private static let sentences = ["--where", "--having", "--columns", "--sort", "--group"]
  private static let comparisons = [
    "=", "==", "!=", "<", ">", "<=", ">=", "LIKE", "CONTAINS", "BEGINSWITH", "ENDSWITH", "MATCHES", "IN", "BETWEEN",
    "AND", "OR",
  ]

  private func unexpected(_ word: String) -> String {
    let start = "unexpected argument '\(word)'"
    guard let index = words.lastIndex(of: word), index > 0 else { return "\(start): \(usage)" }
    if index > 1, Self.sentences.contains(words[index - 2]) {
      let option = words[index - 2]
      let parts = Array(words[(index - 1)...].prefix { !$0.hasPrefix("--") })
      return "\(start); put the value of \(option) in quotes: \(option) \(quotedValue(parts, of: option))"
    }
    if Self.comparisons.contains(word.uppercased()) {
      return
        "\(start); put the predicate in quotes: \(quotedValue(Array(words[(index - 1)...].prefix { !$0.hasPrefix("--") }), of: "--where"))"
    }
    if let equals = word.firstIndex(of: "="), let option = Self.formatOption(word[..<equals]),
      arguments.contains(where: { $0.spellings.contains(option.flag) })
    {
      return "\(start); write \(option.flag) \(word)"
    }
    return "\(start): \(usage)"
  }

  /// The words as one, with the quotes that the shell has removed from a text.
  private func quotedValue(_ parts: [String], of option: String) -> String {
    var parts = parts
    guard ["--where", "--having"].contains(option) else {
      return "\"\(parts.map { $0.hasSuffix(",") ? String($0.dropLast()) : $0 }.joined(separator: ","))\""
    }
    if parts.count == 3, Double(parts[2]) == nil, !parts[2].contains("'"), !parts[2].contains("\"") {
      parts[2] = "'\(parts[2])'"
    }
    return "\"\(parts.joined(separator: " "))\""
  }

  // MARK: Invalid values

  private func invalid(_ value: String, for label: String, _ message: String) -> String {
    let name = Self.name(of: label)
    if let values = arguments.first(where: { $0.spellings.contains(name) || $0.label == label })?.allValues,
      !values.isEmpty
    {
      return "\(name): '\(value)' is not one of \(values.joined(separator: ", "))"
        + Suggestion.text(for: value, among: values)
    }
    // The reason of an option that has its own, such as a rule of `check --fix`.
    if let reason = message.firstRange(of: "': ") { return "\(name): \(message[reason.upperBound...])" }
    return "\(name): '\(value)' is not a whole number, or too large"
  }
}

/// An argument of a command, as the parser describes it.
private struct CommandArgument: Decodable {
  struct Name: Decodable {
    var kind: String
    var name: String
  }
  private struct Tool: Decodable {
    struct Command: Decodable { var arguments: [CommandArgument]? }
    var command: Command
  }

  var kind: String
  var names: [Name]?
  var valueName: String?
  var isOptional: Bool
  var isRepeating: Bool
  var allValues: [String]?

  var spellings: [String] { (names ?? []).map { ($0.kind == "long" ? "--" : "-") + $0.name } }
  /// As in a usage line.
  var label: String {
    let name = "<\(valueName ?? "value")>" + (isRepeating ? " ..." : "")
    return isOptional ? "[\(name)]" : name
  }

  static func all(of command: any ParsableCommand.Type) -> [CommandArgument] {
    (try? JSONDecoder().decode(Tool.self, from: Data(command._dumpHelp().utf8)))?.command.arguments ?? []
  }
}
