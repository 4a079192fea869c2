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

  /// What is read back of a value of a type that the format does not have: the same object in an archive of the kit's.
  /// Nil if the value is not an archive of one object.
  static func kept(_ value: StoredValue, of attribute: AttributeDescription) -> StoredValue? {
    guard case .data(let data) = value, attribute.type == .transformable,
      attribute.valueTransformerName.map({ $0.isEmpty || Self.archivingTransformers.contains($0) }) ?? true,
      data.starts(with: "bplist".utf8), let archive = try? KeyedArchive(Array(data)), archive.top.count == 1,
      let root = archive.top.first, root.key == "root", root.value.index != nil,
      let bytes = try? root.value.archived(), let again = try? KeyedArchive(bytes).root, again.isSame(as: root.value)
    else { return nil }
    return .data(Data(bytes))
  }

  /// Whether a value of a type that the format does not have is read back to the byte.
  static func canHold(_ value: StoredValue, of attribute: AttributeDescription) -> Bool {
    kept(value, of: attribute)?.isIdentical(to: value) ?? false
  }

  /// Nil if the value is not an archive of an object, or not one that is read back to the byte.
  init?(_ value: StoredValue, of attribute: AttributeDescription) {
    guard Self.canHold(value, of: attribute), case .data(let data) = value,
      let archive = try? PropertyList.decodeBinary(Array(data)).dictionaryValue,
      let objects = archive["$objects"]?.arrayValue, let root = archive["$top"]?.dictionaryValue?["root"]
    else { return nil }
    self.objects = objects
    self.root = root
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

extension KeyedArchiveBuilder {
  /// Adds the objects of another archive and returns the reference to its root.
  mutating func add(_ archived: ArchivedObject) -> PropertyListValue {
    let distance = UInt64(count - 1)
    for object in archived.objects.dropFirst() { _ = add(object.moved(by: distance)) }
    return archived.root.moved(by: distance)
  }
}
