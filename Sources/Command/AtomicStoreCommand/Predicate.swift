import ArgumentParser
import AtomicStoreKit
import CommandSupport
import FoundationEssentials

struct PredicateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "predicate", abstract: "Check predicates: print their tree and their complete text.",
    discussion: """
        atomicstore predicate "name BEGINSWITH[c] 'a' AND age > 30"
        atomicstore predicate --file predicates.txt        # one JSON string on each line
        atomicstore predicate "nmae == 'x'" --model Company.xcdatamodeld --entity Person

      With --model and --entity, keys and the types of compared values are checked against the entity; write keys
      explicitly then, instead of %K.
      Arguments such as %@ and %K may have any type. Exit code 1 if a text is refused.
      """)
  @Argument(help: "The predicate.") var text: String?
  @Option(help: "A file with one JSON string on each line; - for standard input.") var file: String?
  @Option(help: "The model that the predicate is checked against.") var model: String?
  @Option(help: "The entity of the model that the predicate is evaluated on.", completion: Completions.entities)
  var entity: String?
  @OptionGroup(title: "Common options") var common: CommonOptions

  func run() throws {
    try guarded(common) {
      let entity = try checkedEntity()
      switch (text, file) {
      case (let text?, nil): try one(text, entity)
      case (nil, let file?): try all(file, entity)
      default: throw CommandFailure("specify a predicate, or --file", exitCode: 64, json: common.json)
      }
    }
  }

  private func checkedEntity() throws -> Entity? {
    guard model != nil || entity != nil else { return nil }
    guard let model, let entity else {
      throw CommandFailure("--model and --entity must be used together", exitCode: 64, json: common.json)
    }
    return try ModelChoice(model).model().entity(asked: entity)
  }

  /// Parses the predicate, and checks it against the entity if there is one.
  private static func read(_ text: String, _ entity: Entity?) throws(PredicateFormatError) -> FetchPredicate {
    guard let entity else { return try FetchPredicate(format: text, arguments: arguments(text)) }
    // Arguments of any type are replaced by variables, which are not checked.
    let anything: [Any?] = arguments(text).enumerated().map { place, value in
      switch value {
      case is [Any]: FetchExpression.aggregate([.variable("argument\(place + 1)"), .variable("argument\(place + 1)")])
      case let word as String where word == "argument": FetchExpression.variable("argument\(place + 1)")
      default: value
      }
    }
    return try FetchPredicate(format: text, arguments: anything, for: entity)
  }

  private func one(_ text: String, _ entity: Entity?) throws {
    let predicate: FetchPredicate
    do throws(PredicateFormatError) {
      predicate = try Self.read(text, entity)
    } catch {
      if common.json {
        try Diagnostics.put(Self.refusal(error).text + "\n")
      } else {
        Diagnostics.say("atomicstore: \(error)")
      }
      throw ExitCode(1)
    }
    if common.json {
      try Diagnostics.put(
        JSONValue.object([
          ("format", .string(predicate.predicateFormat)),
          ("variables", .array(predicate.variables.map { .string($0) })),
        ]).text + "\n")
    } else {
      try Diagnostics.put(predicate.predicateFormat + "\n" + Self.tree(predicate, indent: 1))
    }
  }

  private static func refusal(_ error: PredicateFormatError) -> JSONValue {
    .object([
      ("column", .integer(error.column)), ("message", .string(error.message)),
      ("suggestion", error.suggestion.map { .string($0) } ?? .null),
    ])
  }

  private func all(_ file: String, _ entity: Entity?) throws {
    let path = try Input.path(for: file, mayBeEmpty: true)
    guard let bytes = FileManager.default.contents(atPath: path) else {
      throw CommandFailure("\(path): cannot be read", exitCode: 74, json: common.json)
    }
    guard let content = String(validating: bytes, as: UTF8.self) else {
      throw CommandFailure("\(path): is not UTF-8 text", exitCode: 65, json: common.json)
    }
    var parsed = 0
    var refused: [(line: Int, text: String, error: PredicateFormatError)] = []
    for (number, line) in content.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    where !line.isEmpty {
      guard let text = try? JSONDecoder().decode(String.self, from: Data(line.utf8)) else {
        throw CommandFailure("\(file):\(number + 1): this is not a JSON string", exitCode: 65, json: common.json)
      }
      do throws(PredicateFormatError) {
        _ = try Self.read(text, entity)
        parsed += 1
      } catch {
        refused.append((number + 1, text, error))
      }
    }
    if common.json {
      let list = refused.map {
        JSONValue.object([("line", .integer($0.line)), ("text", .string($0.text)), ("error", Self.refusal($0.error))])
      }
      try Diagnostics.put(JSONValue.object([("parsed", .integer(parsed)), ("refused", .array(list))]).text + "\n")
    } else {
      for entry in refused {
        try Diagnostics.put(
          "\(file):\(entry.line): column \(entry.error.column): \(entry.error.message)\n  \(entry.text.replacingBytes("\n", with: " "))\n"
        )
      }
      try Diagnostics.put("\(parsed) parsed, \(refused.count) refused\n")
    }
    if !refused.isEmpty { throw ExitCode(1) }
  }

  /// A suitable value for each argument of a text.
  static func arguments(_ text: String) -> [Any?] {
    var arguments: [Any?] = []
    var words = ""
    var quote: Character?
    var isEscaped = false
    var isArgument = false
    for character in text {
      if let open = quote {
        if isEscaped {
          isEscaped = false
        } else if character == "\\" {
          isEscaped = true
        } else if character == open {
          quote = nil
        }
        continue
      }
      if isArgument {
        if "lhqztj.0123456789".contains(character) { continue }
        isArgument = false
        switch character {
        case "@":
          let isBounds = words.trimmed.uppercased().hasSuffix("BETWEEN")
          arguments.append(isBounds ? [0, 1] : "argument")
        case "K": arguments.append("key")
        case "s", "S": arguments.append("argument")
        case "%": break
        default: arguments.append(0)
        }
        words = ""
        continue
      }
      if character == "'" || character == "\"" { quote = character }
      if character == "%" { isArgument = true } else { words.append(character) }
    }
    return arguments
  }

  static func tree(_ predicate: FetchPredicate, indent: Int) -> String {
    let margin = String(repeating: "  ", count: indent)
    switch predicate {
    case .value(let flag): return margin + (flag ? "true\n" : "false\n")
    case .block: return margin + "\(predicate)\n"
    case .and(let parts): return margin + "and\n" + parts.map { tree($0, indent: indent + 1) }.joined()
    case .or(let parts): return margin + "or\n" + parts.map { tree($0, indent: indent + 1) }.joined()
    case .not(let part): return margin + "not\n" + tree(part, indent: indent + 1)
    case .comparison(let comparison):
      let modifier = comparison.modifier == .direct ? "" : comparison.modifier.rawValue + " "
      let inner = margin + "  "
      return margin + modifier + comparison.comparator.rawValue + "\n" + inner + "\(comparison.left)\n" + inner
        + "\(comparison.right)\n"
    }
  }
}
