import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// A graph as text that shows every difference: values by bits and scalars, objects by entity and reference.
struct GraphText: Codable, Sendable {
  /// By `Entity/reference`, then by property. Null is absent.
  var objects: [Key: [Key: String]] = [:]

  typealias Key = ScalarKey

  /// How many differences a failure shows.
  static let mostShown = 6

  var count: Int { objects.count }

  func count(of entity: String) -> Int { objects.keys.filter { $0.text.hasPrefix(entity + "/") }.count }

  struct Difference: Codable, Sendable {
    var expected: String
    var actual: String

    init(expected: String, actual: String) {
      self.expected = expected
      self.actual = actual
    }

    /// Two values; of long ones what is about the first scalar that differs.
    ///
    /// - Parameters:
    ///   - before: What the expected value is of.
    ///   - other: The same for the actual value.
    init(_ before: String, _ expected: String, _ other: String, _ actual: String, most: Int = GraphText.mostScalars) {
      let (one, two) = (Array(expected.unicodeScalars.prefix(1 << 26)), Array(actual.unicodeScalars.prefix(1 << 26)))
      var place = 0
      if max(one.count, two.count) > most {
        while place < min(one.count, two.count), one[place] == two[place] { place += 1 }
      }
      func shown(_ whole: [Unicode.Scalar]) -> String {
        guard place > most / 2 else {
          let text = GraphText.visible(whole.prefix(most))
          return whole.count > most ? "\(text)… (\(whole.count) scalars; the first that differs is \(place))" : text
        }
        let piece = whole[min(place - most / 4, whole.count)..<min(place + most * 3 / 4, whole.count)]
        return "…\(GraphText.visible(piece))… (\(whole.count) scalars; the first that differs is \(place))"
      }
      self.expected = before + (one.isEmpty ? "nil" : shown(one))
      self.actual = other + (two.isEmpty ? "nil" : shown(two))
    }
  }

  /// What this graph has otherwise than another.
  func differences(from other: GraphText) -> [Difference] {
    var found: [Difference] = []
    for (object, values) in objects.sorted(by: { $0.key < $1.key }) {
      guard let others = other.objects[object] else {
        found.append(Difference(expected: "\(object.text) is there", actual: "\(object.text) is missing"))
        continue
      }
      for name in Set(values.keys).union(others.keys).sorted() {
        let one = values[name] ?? ""
        let two = others[name] ?? ""
        guard !one.utf8.elementsEqual(two.utf8) else { continue }
        found.append(
          Difference("\(object.text).\(name.text) = ", one, "\(object.text).\(name.text) = ", two))
      }
    }
    for object in other.objects.keys.sorted() where objects[object] == nil {
      found.append(Difference(expected: "\(object.text) is not there", actual: "\(object.text) is there"))
    }
    return found
  }

  /// How many scalars of a value a failure shows.
  static let mostScalars = 80

  /// With what cannot be seen written out; of a long text the beginning.
  static func shown(_ text: String, most: Int = mostScalars) -> String {
    if text.isEmpty { return "nil" }
    let count = text.unicodeScalars.count
    return visible(text.unicodeScalars.prefix(most)) + (count > most ? "… (\(count) scalars)" : "")
  }

  private static func visible(_ scalars: some Sequence<Unicode.Scalar>) -> String {
    var result = ""
    for scalar in scalars {
      if scalar >= " ", scalar < "\u{7F}" {
        result.unicodeScalars.append(scalar)
      } else {
        result += "\\u{\(String(scalar.value, radix: 16))}"
      }
    }
    return result
  }

  /// What an object is called. The text 7 is another reference than the number 7, and no text looks like two.
  static func name(_ entity: String, _ reference: ReferenceObject) -> String {
    guard case .string(let text) = reference else { return "\(entity)/\(reference)" }
    let isPlain = Int64(text) == nil && !text.utf8.contains { $0 == UInt8(ascii: "|") || $0 == .quote }
    return entity + "/" + (isPlain ? text : "\"" + text.replacing("\"", with: "\"\"") + "\"")
  }

  private static func before(_ one: ObjectReference, _ other: ObjectReference) -> Bool {
    name(one.entityName, one.reference).utf8.lexicographicallyPrecedes(name(other.entityName, other.reference).utf8)
  }

  static func value(_ value: StoredValue) -> String? {
    switch value {
    case .null: nil
    case .toOne(let object): "→ " + name(object.entityName, object.reference)
    case .toMany(let objects): "→ " + objects.map { name($0.entityName, $0.reference) }.joined(separator: " | ")
    // Numbers that are equal may be other data: the text has the bits, and of a decimal the spelling.
    case .double(let number): "double:\(number) bits \(String(number.bitPattern, radix: 16))"
    case .float(let number): "float:\(number) bits \(String(number.bitPattern, radix: 16))"
    case .date(let date):
      "date:\(date.timeIntervalSinceReferenceDate) bits \(String(date.timeIntervalSinceReferenceDate.bitPattern, radix: 16))"
    default: value.typedText
    }
  }

  /// The nodes of an open store.
  init(_ store: PersistentStore) throws {
    let nodes = store.nodes
    for entity in nodes.model.entities where !entity.isAbstract {
      let reader = nodes.reader(of: entity.index)
      for row in 0..<reader.count {
        let node = NodeHandle(entity: entity.index, row: row)
        let name = Key(Self.name(entity.name, nodes.reference(of: node)))
        var values: [Key: String] = [:]
        for slot in entity.slots {
          var value = try store.value(slot: slot.index, of: node)
          if case .toMany(let list) = value {
            if list.isEmpty { continue }
            if !slot.isOrdered { value = .toMany(list.sorted { Self.before($0, $1) }) }
          }
          if let text = Self.value(value) { values[Key(slot.name)] = text }
        }
        objects[name] = values
      }
    }
  }

  init() {}
}
