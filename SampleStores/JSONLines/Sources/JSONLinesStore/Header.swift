import AtomicStoreSPI
import FoundationEssentials

/// The first line.
struct Header {
  let metadata: StoreMetadata
  /// How many lines follow.
  let count: Int

  init(_ line: JSONValue, _ place: StoreLocation) throws(PersistentStoreError) {
    let fields = try Fields(line, ["store", "version", "uuid", "last", "objects", "model", "metadata"], place)
    guard try fields.string("store") == JSONLinesStore.storeType else {
      throw PersistentStoreError(.storeTypeMismatch, "the first line reports another store", at: place)
    }
    let version = try fields.integer("version")
    guard version == 1 else {
      throw PersistentStoreError(
        .unsupportedVersion, "it was made by a newer version: \(version), and 1 is read here", at: place)
    }
    guard let uuid = UUID(uuidString: try fields.string("uuid")) else {
      throw PersistentStoreError(.malformed, "'uuid' is not a UUID", at: place)
    }
    guard let count = Int(exactly: try fields.integer("objects")), count >= 0 else {
      throw PersistentStoreError(.malformed, "'objects' is a count", at: place)
    }
    self.count = count
    var metadata = StoreMetadata(
      storeType: JSONLinesStore.storeType, uuid: uuid, lastReference: try fields.integer("last"))
    if let model = fields.optional("model") {
      metadata.model = try ModelDescription(propertyList: try PropertyListValue(json: model, place))
    }
    guard case .dictionary(let entries) = try PropertyListValue(json: try fields.value("metadata"), place) else {
      throw PersistentStoreError(.malformed, "'metadata' is an object", at: place)
    }
    metadata.entries = entries
    self.metadata = metadata
  }
}

/// The members of an object that has these and no others.
struct Fields {
  private let members: [(key: String, value: JSONValue)]
  private let place: StoreLocation

  init(_ value: JSONValue, _ known: [String], _ place: StoreLocation) throws(PersistentStoreError) {
    guard case .object(let members) = value else {
      throw PersistentStoreError(.malformed, "a line is an object", at: place)
    }
    for (key, _) in members where !known.contains(key) {
      throw PersistentStoreError(.malformed, "'\(key)' has no meaning here", at: place)
    }
    self.members = members
    self.place = place
  }

  func optional(_ key: String) -> JSONValue? { members.first { $0.key == key }?.value }
  func value(_ key: String) throws(PersistentStoreError) -> JSONValue {
    guard let value = optional(key) else { throw PersistentStoreError(.malformed, "'\(key)' is missing", at: place) }
    return value
  }
  func string(_ key: String) throws(PersistentStoreError) -> String {
    guard case .string(let text) = try value(key) else {
      throw PersistentStoreError(.malformed, "'\(key)' is a text", at: place)
    }
    return text
  }
  func integer(_ key: String) throws(PersistentStoreError) -> Int64 {
    guard case .integer(let number) = try value(key) else {
      throw PersistentStoreError(.malformed, "'\(key)' is a whole number", at: place)
    }
    return number
  }
}

/// Metadata and models are property lists. What JSON has no word for is an object with one member whose name begins
/// with `$`.
extension PropertyListValue {
  init(json: JSONValue, _ place: StoreLocation) throws(PersistentStoreError) {
    switch json {
    case .string(let text): self = .string(text)
    case .integer(let number): self = .integer(Int128(number))
    case .boolean(let flag): self = .boolean(flag)
    case .array(let list):
      var values: [PropertyListValue] = []
      for element in list { values.append(try PropertyListValue(json: element, place)) }
      self = .array(values)
    case .object(let members):
      if members.count == 1, members[0].key.hasPrefix("$"),
        let value = try Self.special(members[0].key, members[0].value, place)
      {
        self = value
        return
      }
      var dictionary = PropertyListDictionary()
      for (key, value) in members {
        let name = key.hasPrefix("$$") ? String(key.dropFirst()) : key
        dictionary[name] = try PropertyListValue(json: value, place)
      }
      self = .dictionary(dictionary)
    }
  }

  private static func special(
    _ name: String, _ value: JSONValue, _ place: StoreLocation
  ) throws(PersistentStoreError) -> PropertyListValue? {
    if name.hasPrefix("$$") { return nil }
    guard case .string(let text) = value else {
      throw PersistentStoreError(.malformed, "'\(name)' holds a text", at: place)
    }
    switch (name, StoredValue(typedText: text)) {
    case ("$value", .double(let number)?): return .real(number)
    case ("$value", .date(let date)?): return .date(date)
    case ("$value", .data(let data)?): return .data(data)
    default: break
    }
    if name == "$integer", let number = Int128(text) { return .integer(number) }
    if name == "$uid", let number = UInt64(text) { return .uid(number) }
    throw PersistentStoreError(.malformed, "'\(name)' of '\(text.prefix(40))' has no meaning", at: place)
  }
}
