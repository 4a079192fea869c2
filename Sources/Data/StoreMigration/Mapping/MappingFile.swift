public import AtomicStoreSPI
import FoundationEssentials
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
///         "country": { "default": "FR" }
///       },
///       "drop": ["nickname"]
///     }
///   },
///   "drop": ["Log"]
/// }
/// ```
///
/// A text is an expression of the predicate language over the old object. `drop` says that values, or the objects of an
/// entity, may be lost.
///
/// What an entity says of its properties is said of the same properties of its sub-entities, unless a sub-entity has a
/// separate rule for the property.
public struct MappingFile: Sendable, Equatable {
  /// What the file says of one property of the destination.
  package struct Property: Sendable, Equatable {
    /// The property of the source.
    var from: String?
    /// An expression over the source's object.
    var expression: String?
    /// The value where the source has none, as text.
    var defaultText: String?
    /// Creates what a file says of a property.
    package init(from: String? = nil, expression: String? = nil, defaultText: String? = nil) {
      self.from = from
      self.expression = expression
      self.defaultText = defaultText
    }

    /// The default as a value of the slot; nil without one, or where the text is none.
    func value(_ slot: Slot) -> StoredValue? {
      guard let defaultText, let type = slot.attributeType else { return nil }
      if type == .string { return .string(defaultText) }
      return ValueConversion(from: .string, to: type)?.convert(.string(defaultText))
    }
  }
  /// What the file says of one entity of the destination.
  package struct EntityRules: Sendable, Equatable {
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
    // It says in which line the text is not JSON.
    _ = try JSONReader.read(bytes, name: name)
    let file: File
    do {
      file = try JSONDecoder().decode(File.self, from: Data(bytes))
    } catch {
      throw PersistentStoreError(
        .malformed, "this is not a mapping: \(Self.text(of: error))", at: StoreLocation(file: name), underlying: nil)
    }
    self.init(
      entities: (file.entities ?? [:]).mapValues { entity in
        EntityRules(
          from: entity.from, properties: (entity.properties ?? [:]).mapValues(\.property), drop: entity.drop ?? [])
      }, drop: file.drop ?? [])
  }

  private static func text(of error: any Error) -> String {
    guard let error = error as? DecodingError else { return "\(error)" }
    switch error {
    case .dataCorrupted(let context), .keyNotFound(_, let context), .typeMismatch(_, let context),
      .valueNotFound(_, let context):
      let path = context.codingPath.map(\.stringValue).joined(separator: ".")
      return (path.isEmpty ? "" : path + ": ") + context.debugDescription
    @unknown default: return "\(error)"
    }
  }

  // MARK: The file's form

  private struct File: Decodable {
    var entities: [String: Rules]?
    var drop: [String]?
    enum CodingKeys: String, CodingKey, CaseIterable { case entities, drop }
    init(from decoder: any Decoder) throws {
      try AnyKey.refuseOthers(decoder, CodingKeys.allCases.map(\.rawValue))
      let container = try decoder.container(keyedBy: CodingKeys.self)
      entities = try container.decodeIfPresent([String: Rules].self, forKey: .entities)
      drop = try container.decodeIfPresent([String].self, forKey: .drop)
    }
  }

  private struct Rules: Decodable {
    var from: String?
    var properties: [String: Rule]?
    var drop: [String]?
    enum CodingKeys: String, CodingKey, CaseIterable { case from, properties, drop }
    init(from decoder: any Decoder) throws {
      try AnyKey.refuseOthers(decoder, CodingKeys.allCases.map(\.rawValue))
      let container = try decoder.container(keyedBy: CodingKeys.self)
      from = try container.decodeIfPresent(String.self, forKey: .from)
      properties = try container.decodeIfPresent([String: Rule].self, forKey: .properties)
      drop = try container.decodeIfPresent([String].self, forKey: .drop)
    }
  }

  private struct Rule: Decodable {
    var property: Property
    enum CodingKeys: String, CodingKey, CaseIterable { case from, expression, `default` }
    init(from decoder: any Decoder) throws {
      if let text = try? decoder.singleValueContainer().decode(String.self) {
        property = Property(expression: text)
        return
      }
      try AnyKey.refuseOthers(decoder, CodingKeys.allCases.map(\.rawValue))
      let container = try decoder.container(keyedBy: CodingKeys.self)
      property = Property(
        from: try container.decodeIfPresent(String.self, forKey: .from),
        expression: try container.decodeIfPresent(String.self, forKey: .expression),
        defaultText: try container.decodeIfPresent(String.self, forKey: .default))
    }
  }

  /// Any key: a misspelt one must not go unnoticed.
  private struct AnyKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }

    static func refuseOthers(_ decoder: any Decoder, _ known: [String]) throws {
      let container = try decoder.container(keyedBy: AnyKey.self)
      for key in container.allKeys where !known.contains(key.stringValue) {
        throw DecodingError.dataCorrupted(
          .init(
            codingPath: decoder.codingPath,
            debugDescription: "'\(key.stringValue)' is not one of \(known.joined(separator: ", "))"))
      }
    }
  }
}
