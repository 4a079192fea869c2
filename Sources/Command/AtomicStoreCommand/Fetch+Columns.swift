import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import StoreCoordination

/// What `--columns` and `--group` name.
extension Fetch {
  func fetchColumns(_ model: ManagedObjectModel) throws -> [FetchColumn] {
    let columns = try columnsAsked(model)
    guard decode, let entity = model.entity(named: entity) else { return columns }
    return columns.map { mayBeData($0.expression, entity) ? FetchColumn($0.name, $0.expression.decoded) : $0 }
  }

  /// Whether the values of an expression may be binary data.
  private func mayBeData(_ expression: FetchExpression, _ entity: Entity) -> Bool {
    switch expression {
    case .evaluatedObject: false
    case .keyPath(let path):
      switch entity.slot(named: path.joined(separator: ".")).map({ entity.slots[$0].valueKind }) {
      case .data, .undefined: true
      // Beyond a relationship.
      case nil: path.count > 1
      default: false
      }
    default: true
    }
  }

  private func columnsAsked(_ model: ManagedObjectModel) throws -> [FetchColumn] {
    if columns != nil {
      let known = try model.entity(asked: entity)
      // What is grouped by may have a name.
      let groups = try groupColumns(known)
      return try Self.list(columns, "--columns").flatMap { text -> [FetchColumn] in
        if text == "*" { return defaultColumns(model) }
        let (expression, name) = try Self.named(text, "--columns")
        if let group = groups.first(where: { $0.name.utf8.elementsEqual(expression.utf8) }) {
          return [FetchColumn(name ?? group.name, group.expression)]
        }
        return [try Self.column(expression, name, "--columns", known)]
      }
    }
    if group != nil, let known = model.entity(named: entity) {
      return try groupColumns(known) + [FetchColumn("count", .keyPath(["@count"]))]
    }
    return defaultColumns(model)
  }

  /// What the rows are grouped by.
  func groupColumns(_ entity: Entity) throws -> [FetchColumn] {
    try Self.list(group, "--group").map { text in
      let (expression, name) = try Self.named(text, "--group")
      return try Self.column(expression, name, "--group", entity)
    }
  }

  /// The object itself and all its properties.
  func defaultColumns(_ model: ManagedObjectModel) -> [FetchColumn] {
    guard let entity = model.entity(named: entity) else { return [] }
    // A single key, whatever the name contains: a dot in it is not a separator.
    let properties = entity.slots.map { FetchColumn($0.name, .keyPath([$0.name])) }
    // A property of that name is not hidden.
    if properties.contains(where: { $0.name == "objectID" }) {
      return [FetchColumn("SELF", .evaluatedObject)] + properties
    }
    return [FetchColumn("objectID", .evaluatedObject)] + properties
  }

  /// An expression and the name behind its last `AS`, which may be in quotes; nil without one.
  private static func named(_ text: String, _ option: String) throws -> (expression: String, name: String?) {
    var place: Range<String.Index>?
    var nesting = Nesting()
    for index in text.indices {
      if nesting.isOutermost, text[index] == " ", text[index...].dropFirst().prefix(3).lowercased() == "as " {
        place = index..<text.index(index, offsetBy: 4)
      }
      nesting.follow(text[index])
    }
    guard let place else { return (text, nil) }
    var name = text[place.upperBound...].trimmed
    if let first = name.first, first == "'" || first == "\"", name.count > 1, name.last == first {
      name = String(name.dropFirst().dropLast())
    }
    let expression = text[..<place.lowerBound].trimmed
    guard !name.isEmpty, !expression.isEmpty else {
      throw CommandFailure("\(option): '\(text)' needs an expression before AS and a name after it", exitCode: 64)
    }
    return (expression, name)
  }

  /// The parts between commas that are not in parentheses or quotes; empty if the option is missing.
  ///
  /// - Parameters:
  ///   - text: The list.
  ///   - option: The option that has it.
  ///   - hasEscapes: Whether a backslash in quotes escapes the next character, as in expressions.
  /// - Throws: An error for an empty part, and thus for an empty list.
  static func list(_ text: String?, _ option: String, hasEscapes: Bool = true) throws -> [String] {
    guard let text else { return [] }
    var parts: [String] = []
    var part = ""
    var nesting = Nesting(hasEscapes: hasEscapes)
    for character in text {
      if nesting.isOutermost, character == "," {
        parts.append(part)
        part = ""
        continue
      }
      nesting.follow(character)
      part.append(character)
    }
    parts.append(part)
    parts = parts.map { $0.trimmed }
    guard !parts.contains("") else {
      throw CommandFailure("\(option): '\(text)' has an empty part", exitCode: 64)
    }
    return parts
  }
}

/// Whether a position in the text of an expression is within quotes or parentheses.
private struct Nesting {
  private var depth = 0
  private var quote: Character?
  private var isEscaped = false
  /// Whether a backslash in quotes escapes the next character, as in predicates.
  private let hasEscapes: Bool

  init(hasEscapes: Bool = true) { self.hasEscapes = hasEscapes }

  var isOutermost: Bool { quote == nil && depth <= 0 }

  mutating func follow(_ character: Character) {
    if let open = quote {
      if isEscaped {
        isEscaped = false
      } else if character == "\\", hasEscapes {
        isEscaped = true
      } else if character == open {
        quote = nil
      }
    } else if character == "'" || character == "\"" {
      quote = character
    } else if "([{".contains(character) {
      depth += 1
    } else if ")]}".contains(character) {
      depth -= 1
    }
  }
}

extension Fetch {
  /// What the rows, or their number, depend on: everything if the request is invalid, which is reported when the store
  /// is open.
  func readNeeds(_ model: ManagedObjectModel) -> ReadNeeds {
    guard var request = try? request(model) else { return ReadNeeds() }
    // Sort keys may be the names of columns.
    if !count || distinct || group != nil || sort != nil {
      guard let columns = try? fetchColumns(model) else { return ReadNeeds() }
      request.propertiesToFetch = columns
    }
    return ReadNeeds(properties: request.namedProperties, objects: request.neededObjects(in: model))
  }
}
