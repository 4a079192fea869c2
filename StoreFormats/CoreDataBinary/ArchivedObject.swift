import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// The value of a transformable attribute that is a keyed archive: a binary store holds the archived object itself.
struct ArchivedObject {
  /// The objects of the archive, which begin with nil.
  let objects: [PropertyListValue]
  let root: PropertyListValue

  /// The transformers whose results are archives of the values. What another transformer made is not what Core Data
  /// would put into a binary store, which does not use transformers.
  private static let archivingTransformers = [
    "NSKeyedUnarchiveFromData", "NSKeyedUnarchiveFromDataTransformerName", "NSSecureUnarchiveFromData",
    "NSSecureUnarchiveFromDataTransformerName", "NSSecureUnarchiveFromDataTransformer",
  ]

  /// Whether a value of a type that the format does not have can be written as an object all the same.
  static func canHold(_ value: StoredValue, of attribute: AttributeDescription) -> Bool {
    attribute.type == .transformable && ArchivedObject(value, of: attribute) != nil
  }

  /// Nil if the value is not an archive of an object, or not one that is read back to the byte. A reader makes a new
  /// archive of the object, without objects that nothing refers to.
  init?(_ value: StoredValue, of attribute: AttributeDescription) {
    guard case .data(let data) = value,
      attribute.valueTransformerName.map({ $0.isEmpty || Self.archivingTransformers.contains($0) }) ?? true,
      data.starts(with: "bplist".utf8),
      let archive = try? PropertyList.decodeBinary(Array(data)).dictionaryValue,
      archive["$archiver"]?.stringValue == "NSKeyedArchiver", let objects = archive["$objects"]?.arrayValue,
      let root = archive["$top"]?.dictionaryValue?["root"], case .uid = root,
      objects.first?.stringValue == "$null", Self.isReadBack(Array(data))
    else { return nil }
    self.objects = objects
    self.root = root
  }

  /// Whether a reader of the store makes the same bytes of the object. This also checks all references in the archive.
  private static func isReadBack(_ bytes: [UInt8]) -> Bool {
    let again = try? StoreSource(bytes: bytes, name: "").bytes().withUnsafeBytes { raw throws(PersistentStoreError) in
      try KeyedArchive(raw, file: "").top.first { $0.key == "root" }?.value.archived()
    }
    return again == bytes
  }
}

extension PropertyListValue {
  /// The value with references to other objects of an archive moved, except those to nil.
  fileprivate func moved(by distance: UInt64) -> PropertyListValue {
    switch self {
    case .uid(let number): .uid(number == 0 ? 0 : number + distance)
    case .array(let elements): .array(elements.map { $0.moved(by: distance) })
    case .dictionary(let fields):
      .dictionary(fields.reduce(into: PropertyListDictionary()) { $0[$1.key] = $1.value.moved(by: distance) })
    default: self
    }
  }
}

extension ArchiveBuilder {
  /// Adds the objects of another archive and returns the reference to its root.
  mutating func add(_ archived: ArchivedObject) -> PropertyListValue {
    let distance = UInt64(count - 1)
    for object in archived.objects.dropFirst() { _ = add(object.moved(by: distance)) }
    return archived.root.moved(by: distance)
  }
}
