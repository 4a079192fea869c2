import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// The metadata of a binary store.
enum BinaryMetadata {
  static func read(_ archive: KeyedArchive, _ header: BinaryHeader, maximumDepth: Int) throws(PersistentStoreError)
    -> StoreMetadata
  {
    guard let top = archive.top.first(where: { $0.key == "metadata" })?.value else {
      throw PersistentStoreError(
        .malformed, "the archive of the metadata has no 'metadata'",
        at: StoreLocation(offset: header.metadata.lowerBound))
    }
    let place = StoreLocation(offset: header.metadata.lowerBound)
    var entries = PropertyListDictionary()
    var uuid: UUID?
    var model: ModelDescription?
    do throws(PersistentStoreError) {
      for (key, value) in try top.entries() {
        switch key {
        case "NSStoreUUID": uuid = value.stringValue.flatMap { UUID(uuidString: $0) }
        case StoreKeys.model:
          guard let data = value.dataValue else { throw value.malformed("the model is not data") }
          model = try ownModel(data)
        case _ where StoreKeys.format.contains(key): break
        default: entries[key] = try plain(value, maximumDepth)
        }
      }
    } catch {
      throw error.located(place)
    }
    guard let uuid else { throw PersistentStoreError(.malformed, "the metadata have no UUID", at: place) }
    return StoreMetadata(
      storeType: StoreKeys.storeType, uuid: uuid, entries: entries, lastReference: header.lastKey,
      model: model)
  }

  /// The model that the kit keeps in the metadata. An error's offset would be one inside it, not one of the file.
  private static func ownModel(_ data: Data) throws(PersistentStoreError) -> ModelDescription {
    do throws(PersistentStoreError) {
      return try ModelDescription(propertyList: try PropertyList.decodeBinary(Array(data)))
    } catch {
      throw PersistentStoreError(
        error.code == .limitExceeded ? .limitExceeded : .malformed,
        "the model under '\(StoreKeys.model)': \(error.message)")
    }
  }

  /// An archived value as a property list: objects of property-list classes, in one another as deep as allowed.
  static func plain(_ value: KeyedArchive.Value, _ depth: Int) throws(PersistentStoreError) -> PropertyListValue {
    guard depth > 0 else {
      throw value.malformed(
        "arrays and dictionaries are deeper in each other than the limit 'maximumDepth'", code: .limitExceeded)
    }
    let classes = value.classNames
    if let text = value.stringValue { return .string(text) }
    if let flag = value.booleanValue { return .boolean(flag) }
    if let data = value.dataValue { return .data(data) }
    if let date = value.dateValue { return .date(date) }
    if classes.isEmpty {
      if let number = value.plainIntegerValue { return .integer(number) }
      if let number = value.realValue { return .real(number) }
    }
    if classes.contains("NSDictionary") {
      var result = PropertyListDictionary()
      for (key, element) in try value.entries() { result[key] = try plain(element, depth - 1) }
      return .dictionary(result)
    }
    if classes.contains(where: { ["NSArray", "NSSet", "NSOrderedSet"].contains($0) }) {
      var result: [PropertyListValue] = []
      for element in try value.elements() { result.append(try plain(element, depth - 1)) }
      return .array(result)
    }
    throw value.malformed("metadata hold property lists only")
  }
}
