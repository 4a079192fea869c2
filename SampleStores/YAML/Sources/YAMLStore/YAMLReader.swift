import AtomicStoreSPI
import FoundationEssentials
import Yams

/// The library's name for what is read; a store's nodes are objects.
typealias Element = Yams.Node

/// The documents of a file, one by one.
final class Documents {
  /// Line and column of a token, from 1.
  private struct Position: Hashable {
    var line: Int
    var column: Int
  }

  private let parser: Parser
  private let file: String
  /// The texts that begin with U+FEFF, which Yams takes for the mark of an encoding and drops.
  private let marked: Set<Position>

  init(_ source: StoreSource) throws(PersistentStoreError) {
    file = source.name
    let text = try source.bytes().withUnsafeBytes { String(validating: $0, as: UTF8.self) }
    guard let text else {
      throw PersistentStoreError(.malformed, "the file is not UTF-8", at: StoreLocation(file: source.name))
    }
    let lines: Int
    (marked, lines) = try Self.scanned(text, source.name)
    guard text.utf8.reversed().starts(with: "\n...\n".utf8.reversed()) else {
      throw PersistentStoreError(
        .malformed, "the file does not end with '...'", at: StoreLocation(file: source.name, line: lines))
    }
    do { parser = try Parser(yaml: text, resolver: .basic, encoding: .utf8) } catch {
      throw Self.error(error, source.name)
    }
  }

  /// Refuses anchors, aliases and tags wherever one could begin: aliases of aliases take the library exponential time,
  /// and a value with a tag would be read as something else. Returns where texts begin with U+FEFF, and how many lines
  /// there are.
  private static func scanned(_ text: String, _ file: String) throws(PersistentStoreError) -> (Set<Position>, Int) {
    var marked: Set<Position> = []
    var previous: Unicode.Scalar = "\n"
    var position = Position(line: 1, column: 1)
    let scalars = text.unicodeScalars
    for index in scalars.indices {
      let scalar = scalars[index]
      if scalar == "&" || scalar == "*" || scalar == "!", TokenStart.isPossible(after: previous) {
        throw PersistentStoreError(
          .malformed,
          "anchors, aliases and tags are not supported; in a text write \\x\(String(scalar.value, radix: 16))",
          at: StoreLocation(file: file, line: position.line, column: position.column))
      }
      if scalar == "\u{FEFF}" || scalar == "\"" || scalar == "'",
        beginsWithMark(scalars[index...].dropFirst(scalar == "\u{FEFF}" ? 0 : 1).prefix(10))
      {
        marked.insert(position)
      }
      position.column += 1
      if scalar == "\n" { position = Position(line: position.line + 1, column: 1) }
      previous = scalar
    }
    return (marked, position.line)
  }

  private static func beginsWithMark(_ scalars: Substring.UnicodeScalarView) -> Bool {
    if scalars.first == "\u{FEFF}" { return true }
    let escape = String(scalars).lowercased()
    return escape.hasPrefix("\\ufeff") || escape == "\\u0000feff"
  }

  /// The next document; nil after the last one.
  func next() throws(PersistentStoreError) -> Element? {
    do { return try parser.nextRoot() } catch { throw Self.error(error, file) }
  }

  private static func error(_ error: any Error, _ file: String) -> PersistentStoreError {
    func located(_ message: String, _ mark: Mark) -> PersistentStoreError {
      PersistentStoreError(.malformed, message, at: StoreLocation(file: file, line: mark.line, column: mark.column))
    }
    switch error as? YamlError {
    case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
      .composer(_, let problem, let mark, _):
      return located(problem, mark)
    case .duplicatedKeysInMapping(let names, let context):
      return located("the key '\(names.first ?? "")' occurs twice", context.mark)
    case .reader(let problem, let offset, _, _):
      return PersistentStoreError(.malformed, problem, at: StoreLocation(file: file, offset: offset))
    default: return PersistentStoreError(wrapping: error, at: StoreLocation(file: file))
    }
  }

  func location(_ element: Element) -> StoreLocation {
    StoreLocation(file: file, line: element.mark?.line, column: element.mark?.column)
  }

  func failure(_ message: String, at element: Element? = nil) -> PersistentStoreError {
    PersistentStoreError(.malformed, message, at: element.map { location($0) } ?? StoreLocation(file: file))
  }

  /// Whether the library drops a U+FEFF at the beginning of a text, as its version 6.2 does.
  private static let dropsMark =
    (try? Parser(yaml: "\"\\uFEFFa\"").nextRoot())??.scalar?.string.unicodeScalars.count == 1

  /// A scalar's text, with the U+FEFF that it begins with.
  func text(_ scalar: Element.Scalar) -> String {
    guard Self.dropsMark, let mark = scalar.mark, marked.contains(Position(line: mark.line, column: mark.column))
    else { return scalar.string }
    return "\u{FEFF}" + scalar.string
  }

  /// The name that a key stands for.
  func name(_ key: Element) throws(PersistentStoreError) -> String {
    guard let scalar = key.scalar, let name = KeyText.name(text(scalar)) else {
      throw failure("this is not a name", at: key)
    }
    return name
  }

  /// A property list: texts are in quotes, other values plain.
  func value(_ element: Element, maximumDepth: Int, depth: Int = 0) throws(PersistentStoreError) -> PropertyListValue {
    guard depth <= maximumDepth else {
      throw PersistentStoreError(
        .limitExceeded,
        "arrays and dictionaries are nested more than \(maximumDepth) levels deep, the limit 'maximumDepth'",
        at: location(element))
    }
    switch element {
    case .scalar(let scalar):
      if scalar.style != .plain { return .string(text(scalar)) }
      if scalar.string == "true" || scalar.string == "false" { return .boolean(scalar.string == "true") }
      if let number = Int128(scalar.string), Int128(Int64.min)...Int128(UInt64.max) ~= number {
        return .integer(number)
      }
      if scalar.string == "data" { return .data(Data()) }
      if !scalar.string.hasPrefix("["), !scalar.string.hasPrefix("{"),
        let value = try? PropertyListValue(typedText: scalar.string)
      {
        return value
      }
      throw failure("'\(scalar.string.prefix(40))' is not a value: write a text in quotes", at: element)
    case .sequence(let sequence):
      var values: [PropertyListValue] = []
      for element in sequence { values.append(try value(element, maximumDepth: maximumDepth, depth: depth + 1)) }
      return .array(values)
    case .mapping(let mapping):
      var entries: [(String, PropertyListValue)] = []
      for (key, element) in mapping {
        entries.append((try name(key), try value(element, maximumDepth: maximumDepth, depth: depth + 1)))
      }
      // Adding keys that are not sorted one by one would take quadratic time.
      entries.sort { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
      var dictionary = PropertyListDictionary()
      for (key, value) in entries { dictionary[key] = value }
      guard dictionary.count == entries.count else { throw failure("a key occurs twice", at: element) }
      return .dictionary(dictionary)
    case .alias: throw failure("aliases are not supported", at: element)
    }
  }
}

/// The members of a mapping that has these and no others.
struct Fields {
  private let members: [(name: String, element: Element)]
  private let document: Element
  private let documents: Documents

  init(_ document: Element, _ known: [String], _ documents: Documents) throws(PersistentStoreError) {
    guard case .mapping(let mapping) = document else { throw documents.failure("this is not a mapping", at: document) }
    var members: [(name: String, element: Element)] = []
    for (key, element) in mapping {
      let name = try documents.name(key)
      guard known.contains(where: { ScalarString($0) == ScalarString(name) }) else {
        throw documents.failure("'\(name)' is not known here", at: key)
      }
      members.append((name, element))
    }
    self.members = members
    self.document = document
    self.documents = documents
  }

  func optional(_ name: String) -> Element? { members.first { $0.name == name }?.element }
  subscript(_ name: String) -> Element {
    get throws(PersistentStoreError) {
      guard let element = optional(name) else { throw documents.failure("'\(name)' is missing", at: document) }
      return element
    }
  }
}

/// A document that holds an object.
enum ObjectDocument {
  static func load(
    _ document: Element, _ documents: Documents, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    let fields = try Fields(document, ["entity", "id", "values"], documents)
    let place = documents.location(document)
    guard let entity = try nodes.model.entity(named: documents.name(fields["entity"])) else {
      throw PersistentStoreError(.modelMismatch, "the model does not have the entity", at: place)
    }
    try nodes.beginNode(
      entity: entity.index, reference: try reference(try fields["id"], documents), line: place.line ?? 0)
    guard case .mapping(let values) = try fields["values"] else {
      throw documents.failure("'values' is not a mapping", at: try fields["values"])
    }
    // Two keys can stand for one name.
    var seen: Set<Int> = []
    for (key, element) in values {
      let name = try documents.name(key)
      guard let slot = entity.slot(named: name), seen.insert(slot).inserted else {
        throw PersistentStoreError(
          .modelMismatch, "\(entity.name) does not have the property '\(name)', or it occurs twice",
          at: documents.location(key))
      }
      do throws(PersistentStoreError) { try set(element, entity.slots[slot], documents, in: nodes) } catch {
        throw error.located(documents.location(element).filled(from: nodes.location(slot)))
      }
    }
  }

  private static func set(
    _ element: Element, _ slot: Slot, _ documents: Documents, in nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    switch slot.kind {
    case .toOne: try nodes.set(toOne: try reference(element, documents), slot: slot.index)
    case .toMany:
      guard case .sequence(let list) = element else {
        throw documents.failure("a relationship to many is a list of ids", at: element)
      }
      for member in list { try nodes.append(toMany: try reference(member, documents), slot: slot.index) }
    case .attribute(let type):
      let scalar = element.scalar
      // What other programs take for null is not an empty text.
      let isNull = scalar?.style == .plain && ["", "~", "null"].contains(scalar?.string)
      guard let text = scalar.map({ documents.text($0) }), !isNull,
        let value = StoredValue(typedText: AttributeText.prefix(of: type) + text) ?? StoredValue(typedText: text),
        !value.isNull, type.accepts(value)
      else {
        throw PersistentStoreError(
          .invalidValue, "the value is not a \(type.modelName)", at: documents.location(element))
      }
      try nodes.set(value, slot: slot.index)
    }
  }

  private static func reference(
    _ element: Element, _ documents: Documents
  ) throws(PersistentStoreError) -> ReferenceObject {
    guard let scalar = element.scalar else { throw documents.failure("an id is an integer or a text", at: element) }
    guard scalar.style == .plain else { return .string(documents.text(scalar)) }
    guard let number = Int64(scalar.string) else {
      throw documents.failure("an id is an integer, or a text in quotes", at: element)
    }
    return .integer(number)
  }
}
