public import AtomicStoreKit
import AtomicStoreSPI
public import FoundationEssentials
import StoreJSON
import StorePredicates

/// Objects as JSON, and back.
///
/// An object has its stored attributes by name, parts of composite attributes as `address.city`, and its relationships.
/// `$id` and `$entity` say which object it is, `{"$ref": ID}` refers to an object that is elsewhere in the text or was
/// beyond the depth. Values have the form that the article *Values in JSON and CSV* describes. Equal objects give equal
/// bytes.
extension ManagedObjectContext {
  /// Returns the objects that a request finds as a JSON array.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - depth: How far relationships are followed: with 0 related objects are references only.
  /// - Throws: as `fetch(_:)`.
  public func json<Result: ManagedObject>(_ request: FetchRequest<Result>, depth: Int = 0) throws -> Data {
    var writer = ObjectJSONWriter(depth: depth, includesIDs: true)
    return Data(try writer.json(try fetch(request)).text.utf8)
  }

  /// Finds or creates the objects of a JSON object or array, and sets their values. They are not saved.
  ///
  /// An object with the values of a uniqueness constraint that an object of the context or its stores has is that
  /// object; all others are new. The constraint may contain to-one relationships, whose objects are found or created
  /// first; an object inside a list has the list's owner there. If the JSON lacks a value of the constraint, the
  /// model's default counts. A property that is missing keeps its value. Related objects inside are found or created in
  /// the same way.
  ///
  /// - Parameters:
  ///   - data: The JSON.
  ///   - entityName: The entity of the objects outside, unless `$entity` names a sub-entity.
  ///   - ignoresUnknownKeys: Whether keys that are not stored properties are ignored rather than refused.
  /// - Returns: The objects of the outermost array, in order.
  /// - Throws: `PersistentStoreError` with line and column for text that is not JSON, or with item, entity and property
  ///   for values that do not fit: no object is changed then. After other errors, such as a reference to an object that
  ///   does not exist, some objects may be changed: roll back.
  @discardableResult
  public func importJSON(
    _ data: Data, entityName: String, ignoresUnknownKeys: Bool = false
  ) throws -> [ManagedObject] {
    guard let entity = managedObjectModel?.entity(named: entityName) else {
      let names = managedObjectModel?.entities.map(\.name) ?? []
      throw PersistentStoreError(
        .invalidOption, "the model has no entity '\(entityName)'\(Suggestion.text(for: entityName, among: names))")
    }
    var reader = ObjectJSONReader(self, ignoresUnknownKeys: ignoresUnknownKeys)
    return try reader.read(try JSONReader.read(Array(data), name: "JSON"), entity)
  }

  /// Finds or creates objects for `Encodable` values: as ``importJSON(_:entityName:ignoresUnknownKeys:)`` for what they
  /// encode. Nested values are related objects.
  @discardableResult
  public func importObjects(
    _ values: some Collection<some Encodable>, entityName: String, ignoresUnknownKeys: Bool = false
  ) throws -> [ManagedObject] {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .custom { date, encoder in
      var container = encoder.singleValueContainer()
      if case .string(let text) = JSONValue.date(date) { try container.encode(text) }
    }
    encoder.dataEncodingStrategy = .custom { data, encoder in
      var container = encoder.singleValueContainer()
      try container.encode(["base64": data.base64EncodedString()])
    }
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return try importJSON(
      try encoder.encode(Array(values)), entityName: entityName, ignoresUnknownKeys: ignoresUnknownKeys)
  }
}

extension ManagedObject {
  /// The object as JSON: see ``AtomicStoreKit/ManagedObjectContext/json(_:depth:)``.
  ///
  /// - Parameter depth: How far relationships are followed.
  public final func json(depth: Int = 0) throws -> Data {
    var writer = ObjectJSONWriter(depth: depth, includesIDs: true)
    return Data(try writer.json(self).text.utf8)
  }

  /// Creates a `Decodable` value from the object's stored attributes and, down to a depth, its related objects.
  ///
  /// - Throws: `DecodingError` if the value needs something that the object does not have.
  public final func decoded<Value: Decodable>(as type: Value.Type = Value.self, depth: Int = 0) throws -> Value {
    var writer = ObjectJSONWriter(depth: depth, includesIDs: false)
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .custom { decoder in
      let text = try decoder.singleValueContainer().decode(String.self)
      guard case .date(let date)? = ValueConversion(from: .string, to: .date)?.convert(.string(text)) else {
        throw DecodingError.dataCorrupted(
          DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "'\(text)' is not a date"))
      }
      return date
    }
    decoder.dataDecodingStrategy = .custom { decoder in
      let members = try decoder.singleValueContainer().decode([String: String].self)
      return members["base64"].flatMap { Data(base64Encoded: $0) } ?? Data()
    }
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return try decoder.decode(type, from: Data(try writer.json(self).line.utf8))
  }
}
