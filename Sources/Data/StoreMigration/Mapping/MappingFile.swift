public import AtomicStoreSPI
import StoreJSON
import StorePredicates

/// What a file says of entities and properties that inference does not find out, or finds out differently.
///
/// ```json
/// {
///   "entities": {
///     "Person": {
///       "from": "Human",
///       "properties": {
///         "fullName": "first + ' ' + last",
///         "town": { "from": "city" },
///         "country": { "default": "FR" },
///         "visits": { "default": 0 }
///       },
///       "drop": ["nickname"]
///     }
///   },
///   "drop": ["Log"]
/// }
/// ```
///
/// A text is an expression of the predicate language over the old object. `drop` says that values, or the objects of an
/// entity, may be lost. `from` and `drop` of a composite attribute are said of all of its parts.
///
/// What an entity says of its properties is said of the same properties of its sub-entities, unless a sub-entity has a
/// separate rule for the property.
public struct MappingFile: Sendable {
  /// What the file says of one property of the destination.
  package struct Property: Sendable {
    /// The property of the source.
    var from: String?
    /// An expression over the source's object.
    var expression: String?
    /// The value where the source has none.
    var defaultValue: JSONValue?
    /// Creates what a file says of a property.
    package init(from: String? = nil, expression: String? = nil) {
      self.from = from
      self.expression = expression
    }

    /// The default as a value of the slot: what a change of the attribute takes for the same text or number. Nil
    /// without one, and where the slot cannot have it.
    func value(_ slot: Slot) -> StoredValue? {
      guard let defaultValue, let type = slot.attributeType else { return nil }
      switch defaultValue {
      case .string(let text): return ValueConversion.written(text, as: type)
      case .integer, .number, .exactNumber:
        guard type.valueKind.isNumber else { return StoredValue(json: defaultValue, slot: slot) }
        return defaultValue.numberText.flatMap { ValueConversion.written($0, as: type) }
      default: return StoredValue(json: defaultValue, slot: slot)
      }
    }
  }
  /// What the file says of one entity of the destination.
  package struct EntityRules: Sendable {
    /// The entity of the source.
    var from: String?
    /// By name in the destination.
    var properties: [String: Property]
    /// Properties of the source whose values may be lost.
    var drop: [String]
    /// Creates what a file says of an entity.
    package init(from: String? = nil, properties: [String: Property] = [:], drop: [String] = []) {
      self.from = from
      self.properties = properties
      self.drop = drop
    }
  }

  /// By name in the destination.
  var entities: [String: EntityRules]
  /// Entities of the source whose objects may be lost.
  var drop: [String]

  /// Creates a mapping in memory.
  package init(entities: [String: EntityRules] = [:], drop: [String] = []) {
    self.entities = entities
    self.drop = drop
  }

  /// Reads a file.
  ///
  /// - Parameters:
  ///   - bytes: The JSON text.
  ///   - name: The file's name for errors.
  /// - Throws: `.malformed` with the line for what is not JSON, and with the path of keys for other keys and values.
  public init(json bytes: [UInt8], name: String) throws(PersistentStoreError) {
    let file = try JSONMember(file: bytes, name: name).members(named: ["entities", "drop"])
    self.init(drop: try file["drop"]?.unlessNull?.texts() ?? [])
    for (name, member) in try file["entities"]?.unlessNull?.members() ?? [] { entities[name] = try EntityRules(member) }
  }
}

extension MappingFile.EntityRules {
  fileprivate init(_ json: JSONMember) throws(PersistentStoreError) {
    let members = try json.members(named: ["from", "properties", "drop"])
    self.init(from: try members["from"]?.unlessNull?.text(), drop: try members["drop"]?.unlessNull?.texts() ?? [])
    for (name, member) in try members["properties"]?.unlessNull?.members() ?? [] {
      properties[name] = try MappingFile.Property(member)
    }
  }
}

extension MappingFile.Property {
  fileprivate init(_ json: JSONMember) throws(PersistentStoreError) {
    switch json.value {
    case .string(let text): self.init(expression: text)
    case .object:
      let members = try json.members(named: ["from", "expression", "default"])
      self.init(
        from: try members["from"]?.unlessNull?.text(), expression: try members["expression"]?.unlessNull?.text())
      guard let given = members["default"] else { return }
      defaultValue = given.value
      if case .null = given.value { return }
      guard StoredValue(undeclaredJSON: given.value) != nil else {
        throw given.refusal(
          "a text, a number, true, false, null or {\"base64\": TEXT} is expected, not \(given.value.formName)")
      }
    default: throw json.refusal("an expression, or an object, is expected, not \(json.value.formName)")
    }
  }
}
