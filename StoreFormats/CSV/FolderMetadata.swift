import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// `metadata.plist` of a directory: identity, entries, model, and the entity and state of each file.
struct FolderMetadata {
  struct Member {
    var file: String
    var entity: String
    var rows: Int
    var digest: String
    /// The form of a file whose header does not say it.
    var layout: MemberLayout?
  }
  var metadata: StoreMetadata
  var members: [Member]

  static let fileName = "metadata.plist"
  static let signature = "AtomicStore CSV"
  static let version = 2
  /// The version of directories whose files have plain headers.
  private static let plainHeaderVersion = 3

  static func read(_ source: StoreSource, storeType: String, maximumDepth: Int) throws(PersistentStoreError)
    -> FolderMetadata
  {
    let name = source.displayName(ofMember: fileName)
    do throws(PersistentStoreError) {
      let bytes = try source.bytes(ofMember: fileName)
      let list = try PropertyList.decodeXML(bytes.span, file: name, maximumDepth: maximumDepth)
      return try FolderMetadata(list, storeType: storeType)
    } catch {
      throw error.located(StoreLocation(file: name))
    }
  }

  private init(_ list: PropertyListValue, storeType: String) throws(PersistentStoreError) {
    func bad(_ what: String) -> PersistentStoreError { PersistentStoreError(.malformed, what) }
    guard let top = list.dictionaryValue, top["format"]?.stringValue == Self.signature else {
      throw bad("this is not the metadata of a CSV store")
    }
    guard let version = top["version"]?.integerValue, version <= Self.plainHeaderVersion else {
      throw PersistentStoreError(
        .unsupportedVersion, "the store is of a newer version than \(Self.plainHeaderVersion)")
    }
    guard let uuid = top["UUID"]?.stringValue.flatMap({ UUID(uuidString: $0) }) else {
      throw bad("'UUID' is missing or not a UUID")
    }
    guard case .integer(let number)? = top["lastReference"], let last = Int64(exactly: number) else {
      throw bad("'lastReference' is missing or not an integer")
    }
    guard let model = top["model"] else { throw bad("'model' is missing") }
    guard let entries = EscapedText.unescaped(top["metadata"] ?? [:])?.dictionaryValue else {
      throw bad("'metadata' is not a dictionary")
    }
    guard let plainModel = EscapedText.unescaped(model) else { throw bad("'model' contains an invalid escape") }
    metadata = StoreMetadata(
      storeType: storeType, uuid: uuid, entries: entries, lastReference: last,
      model: try ModelDescription(propertyList: plainModel))
    members = []
    for value in top["members"]?.arrayValue ?? [] {
      guard let member = value.dictionaryValue, let file = member["file"]?.stringValue,
        let entity = member["entity"]?.stringValue, let rows = member["rows"]?.integerValue,
        let digest = member["digest"]?.stringValue
      else { throw bad("'members' contains an invalid member") }
      let layout = MemberLayout(member["layout"])
      guard (layout == nil) == (member["layout"] == nil) else { throw bad("'members' contains an invalid layout") }
      members.append(Member(file: file, entity: entity, rows: rows, digest: digest, layout: layout))
    }
  }

  static func encode(_ metadata: StoreMetadata, _ model: ModelDescription, _ members: [Member])
    throws(PersistentStoreError) -> [UInt8]
  {
    var top = PropertyListDictionary()
    top["format"] = .string(Self.signature)
    top["version"] = .integer(Int128(members.contains { $0.layout != nil } ? plainHeaderVersion : version))
    top["UUID"] = .string(metadata.uuid.uuidString)
    top["lastReference"] = .integer(Int128(metadata.lastReference))
    top["metadata"] = EscapedText.escaped(.dictionary(metadata.entries))
    top["model"] = EscapedText.escaped(model.propertyList)
    top["members"] = .array(
      members.map { member in
        var entries: PropertyListDictionary = [
          "file": .string(member.file), "entity": .string(member.entity), "rows": .integer(Int128(member.rows)),
          "digest": .string(member.digest),
        ]
        entries["layout"] = member.layout?.propertyList
        return .dictionary(entries)
      })
    return try PropertyList.encodeXML(.dictionary(top))
  }
}

/// Encodes what an XML property list cannot represent: strings with characters that XML does not allow, numbers and
/// dates that would be rounded. Everything else is unchanged.
enum EscapedText {
  private static let key = "AtomicStore.exact"

  static func escaped(_ value: PropertyListValue) -> PropertyListValue { isPlain(value) ? value : replaced(value) }

  /// Whether nothing in a value is escaped, as in nearly all metadata and models.
  private static func isPlain(_ value: PropertyListValue) -> Bool {
    switch value {
    case .string(let text): isPlain(text)
    case .real(let number): !number.isNaN
    case .date: false
    case .array(let values): values.allSatisfy { isPlain($0) }
    case .dictionary(let entries): entries.allSatisfy { isPlain($0.key) && $0.key != key && isPlain($0.value) }
    default: true
    }
  }

  private static func isPlain(_ text: String) -> Bool {
    XMLText.canHold(text) && !text.utf8.contains(UInt8(ascii: "\r"))
  }

  private static func replaced(_ value: PropertyListValue) -> PropertyListValue {
    switch value {
    // A carriage return can be written as a character reference, but not every property list reader preserves it.
    case .string(let text) where !isPlain(text):
      exact("string", text.utf8)
    case .real(let number) where number.isNaN: exact("real", String(number.bitPattern, radix: 16).utf8)
    case .date(let date):
      exact("date", String(date.timeIntervalSinceReferenceDate.bitPattern, radix: 16).utf8)
    case .array(let values): .array(values.map { replaced($0) })
    case .dictionary(let entries):
      if entries.contains(where: { !isPlain($0.key) || $0.key == key }) {
        // A key cannot be replaced by a dictionary, so the dictionary becomes a list of pairs.
        .dictionary([
          key: .string("pairs"),
          "value": .array(entries.flatMap { [replaced(.string($0.key)), replaced($0.value)] }),
        ])
      } else {
        .dictionary(entries.reduce(into: PropertyListDictionary()) { $0[$1.key] = replaced($1.value) })
      }
    default: value
    }
  }

  private static func exact(_ kind: String, _ bytes: String.UTF8View) -> PropertyListValue {
    .dictionary([key: .string(kind), "value": .data(Data(bytes))])
  }

  /// Returns nil if the form is not one that ``escaped(_:)`` creates.
  static func unescaped(_ value: PropertyListValue) -> PropertyListValue? {
    // Nearly all metadata and models contain nothing that is escaped.
    hasEscapes(value) ? restored(value) : value
  }

  private static func restored(_ value: PropertyListValue) -> PropertyListValue? {
    switch value {
    case .array(let values):
      var result: [PropertyListValue] = []
      for value in values {
        guard let plain = restored(value) else { return nil }
        result.append(plain)
      }
      return .array(result)
    case .dictionary(let entries):
      if let kind = entries[key]?.stringValue { return restored(kind, entries["value"]) }
      var result = PropertyListDictionary()
      for entry in entries {
        guard let plain = restored(entry.value) else { return nil }
        result[entry.key] = plain
      }
      return .dictionary(result)
    default: return value
    }
  }

  private static func hasEscapes(_ value: PropertyListValue) -> Bool {
    switch value {
    case .array(let values): values.contains { hasEscapes($0) }
    case .dictionary(let entries): entries[key] != nil || entries.contains { hasEscapes($0.value) }
    default: false
    }
  }

  private static func restored(_ kind: String, _ value: PropertyListValue?) -> PropertyListValue? {
    if kind == "pairs" {
      guard let list = value?.arrayValue, list.count % 2 == 0 else { return nil }
      var result = PropertyListDictionary()
      for place in stride(from: 0, to: list.count, by: 2) {
        guard case .string(let key)? = restored(list[place]), let plain = restored(list[place + 1]) else {
          return nil
        }
        result[key] = plain
      }
      return .dictionary(result)
    }
    guard let data = value?.dataValue, let text = String(validating: data, as: UTF8.self) else { return nil }
    switch kind {
    case "string": return .string(text)
    case "real": return UInt64(text, radix: 16).map { .real(Double(bitPattern: $0)) }
    case "date":
      return UInt64(text, radix: 16).map { .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: $0))) }
    default: return nil
    }
  }
}
