import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// Writes a binary store: header, archive of the objects, archive of the metadata.
struct BinaryWriter {
  private let nodes: NodeTable
  private let metadata: StoreMetadata
  private let path: String

  private let layouts: [ValueLayout]
  private let maximumObjectCount: Int

  /// - Parameter maximumObjectCount: The number of objects of an archive that a reader takes.
  init(
    _ snapshot: StoreSnapshot, path: String, maximumObjectCount: Int = KeyedArchive.maximumObjectCount
  ) throws(PersistentStoreError) {
    self.maximumObjectCount = maximumObjectCount
    nodes = snapshot.nodes
    metadata = snapshot.metadata
    self.path = path
    layouts = try Self.layouts(of: snapshot.nodes, path)
  }

  /// - Throws: `.unsupportedByFormat` for objects whose values would change their positions.
  private static func layouts(of nodes: NodeTable, _ path: String) throws(PersistentStoreError) -> [ValueLayout] {
    let model = nodes.model.description
    let isOurs = model.isInferred && model.inferredFrom == StoreKeys.storeType
    var layouts: [ValueLayout] = []
    for entity in nodes.model.entities {
      let layout: ValueLayout
      do throws(PersistentStoreError) { layout = try ValueLayout(of: entity) } catch {
        throw error.located(StoreLocation(file: path))
      }
      if nodes.count(of: entity.index) > 0, layout.count == nil || isOurs && !layout.isCarried {
        throw PersistentStoreError(
          .unsupportedByFormat,
          "without the application's model the positions of the values are not known, because "
            + (layout.count == nil
              ? "objects of the entity have different numbers of values"
              : "the inferred model does not carry them") + ": specify the model",
          at: StoreLocation(file: path, entity: entity.name))
      }
      layouts.append(layout)
    }
    return layouts
  }

  func write(to file: StagedFile) throws(PersistentStoreError) {
    // What takes long is not begun in vain.
    try checkCount(objectCount)
    try checkKeys()
    try checkTypes()
    let map = try PropertyList.encodeBinary(try mapArchive())
    let info = try PropertyList.encodeBinary(try metadataArchive(of: map))
    let start = BinaryHeader.size
    let header = BinaryHeader(
      metadata: start + map.count..<start + map.count + info.count, map: start..<start + map.count,
      lastKey: max(metadata.lastReference, nodes.greatestIntegerReference))
    try file.write(header.bytes)
    try file.write(map)
    try file.write(info)
  }

  /// - Throws: `.limitExceeded` for more objects than a reader takes.
  private func checkCount(_ count: Int) throws(PersistentStoreError) {
    guard count > maximumObjectCount else { return }
    throw PersistentStoreError(
      .limitExceeded,
      "the archive of a binary store would have \(count) objects, one for each value and three for each row, which exceeds the limit of \(maximumObjectCount): use another format",
      at: StoreLocation(file: path))
  }

  /// The number of objects that the archive has for objects, values and members. There are a few more, such as classes.
  var objectCount: Int {
    nodes.model.entities.reduce(0) { total, entity in
      let reader = nodes.reader(of: entity.index)
      return entity.slots.reduce(total + reader.count * 3) { count, slot in
        switch slot.kind {
        case .attribute: count + (0..<reader.count).count { !reader.isNull(slot: slot.index, row: $0) }
        case .toOne: count + (0..<reader.count).count { reader.toOne(slot: slot.index, row: $0) != nil } * 2
        case .toMany:
          (0..<reader.count).reduce(count) {
            let members = reader.toMany(slot: slot.index, row: $1).count
            return members > 0 ? $0 + members + 1 : $0
          }
        }
      }
    }
  }

  /// - Throws: `.unsupportedByFormat` for a text as a reference, and for a number that objects of two hierarchies
  ///   share.
  private func checkKeys() throws(PersistentStoreError) {
    var owners: [Int64: NodeHandle] = [:]
    for entity in nodes.model.entities {
      let reader = nodes.reader(of: entity.index)
      for row in 0..<reader.count {
        let place = StoreLocation(file: path, entity: entity.name, reference: reader.reference(row: row).description)
        guard let key = reader.integerReference(row: row) else {
          throw PersistentStoreError(
            .unsupportedByFormat, "a key of a binary store is a number: 'convert --renumber' gives objects such keys",
            at: place)
        }
        let node = NodeHandle(entity: entity.index, row: row)
        guard let other = owners.updateValue(node, forKey: key) else { continue }
        throw PersistentStoreError(
          .unsupportedByFormat,
          "\(nodes.objectReference(of: other)) has the same key, and the keys of a binary store are unique in all of it: 'convert --renumber' gives objects other keys",
          at: place)
      }
    }
  }

  /// - Throws: `.unsupportedByFormat` for a value that a transformer made, of which a binary store holds what it was
  ///   made of, and for values without a type.
  private func checkTypes() throws(PersistentStoreError) {
    for entity in nodes.model.entities {
      let reader = nodes.reader(of: entity.index)
      for slot in entity.slots where slot.attributeType == .transformable || slot.attributeType == .undefined {
        for row in 0..<reader.count where !reader.isNull(slot: slot.index, row: row) {
          if let attribute = slot.attribute,
            ArchivedObject.canHold(reader.value(slot: slot.index, row: row), of: attribute)
          {
            continue
          }
          throw PersistentStoreError(
            .unsupportedByFormat, "a binary store is not written with this value of type \(slot.kindDescription)",
            at: StoreLocation(
              file: path, entity: entity.name, reference: reader.reference(row: row).description, property: slot.name))
        }
      }
    }
  }

  // MARK: Objects

  private func mapArchive() throws(PersistentStoreError) -> PropertyListValue {
    var archive = KeyedArchiveBuilder()
    var entries: [(key: Int64, value: PropertyListValue)] = []
    for entity in nodes.model.entities {
      let reader = nodes.reader(of: entity.index)
      let layout = layouts[entity.index]
      let relationships = entity.slots.filter(\.isRelationship)
      let name = archive.add(.string(entity.name))
      let names = relationships.map { archive.add(.string($0.name)) }
      for row in 0..<reader.count {
        guard let key = reader.integerReference(row: row) else { continue }
        var values = layout.slots.map { slot in slot.map { value($0, reader, row, &archive) } ?? archive.null }
        while values.count < layout.count ?? 0 { values.append(archive.null) }
        var fields: PropertyListDictionary = [
          "NSPrimaryKey64": .integer(Int128(key)), "NSEntityName": name, "NSAttributeValues": archive.array(values),
        ]
        if let related = self.related(relationships, names, reader, row, &archive) {
          fields["NSRelatedNodes"] = related
        }
        entries.append((key, archive.object(fields, class: ["NSDictionaryMapNode", "NSStoreMapNode", "NSObject"])))
      }
    }
    entries.sort { $0.key < $1.key }
    let keys = entries.map { archive.add(.integer(Int128($0.key))) }
    let top = archive.dictionary(keys: keys, values: entries.map(\.value), isMutable: true)
    try checkCount(archive.count)
    return archive.finish(["mapData": top])
  }

  private func related(
    _ relationships: [Slot], _ names: [PropertyListValue], _ reader: EntityReader, _ row: Int,
    _ archive: inout KeyedArchiveBuilder
  ) -> PropertyListValue? {
    var keys: [PropertyListValue] = []
    var lists: [PropertyListValue] = []
    for (slot, name) in zip(relationships, names) {
      var members: [PropertyListValue] = []
      if let node = reader.toOne(slot: slot.index, row: row) { members.append(key(node, &archive)) }
      let list = reader.toMany(slot: slot.index, row: row)
      for place in 0..<list.count { members.append(key(list[place], &archive)) }
      guard !members.isEmpty else { continue }
      keys.append(name)
      lists.append(archive.array(members, isMutable: slot.isToMany))
    }
    return keys.isEmpty ? nil : archive.dictionary(keys: keys, values: lists, isMutable: true)
  }

  private func key(_ node: NodeHandle, _ archive: inout KeyedArchiveBuilder) -> PropertyListValue {
    guard case .integer(let number) = nodes.reference(of: node) else { return archive.null }
    return archive.add(.integer(Int128(number)))
  }

  private func value(_ slot: Slot, _ reader: EntityReader, _ row: Int, _ archive: inout KeyedArchiveBuilder)
    -> PropertyListValue
  {
    switch reader.value(slot: slot.index, row: row) {
    case .null, .toOne, .toMany: archive.null
    case .boolean(let flag): archive.add(.boolean(flag))
    case .integer(let number): archive.add(.integer(Int128(number)))
    case .float(let number): archive.add(.real(WideFloat.widen(number)))
    case .double(let number): archive.add(.real(number))
    case .string(let text): archive.text(text)
    case .decimal(let number): archive.decimal(number)
    case .date(let date):
      archive.object(["NS.time": .real(date.timeIntervalSinceReferenceDate)], class: ["NSDate", "NSObject"])
    case .data(let data):
      if slot.attributeType != .transformable, slot.attributeType != .undefined {
        archive.add(.data(data))
      } else if let attribute = slot.attribute, let object = ArchivedObject(.data(data), of: attribute) {
        archive.add(object)
      } else {
        archive.null
      }
    case .uuid(let uuid):
      archive.object(
        ["NS.uuidbytes": .data(withUnsafeBytes(of: uuid.uuid) { Data($0) })], class: ["NSUUID", "NSObject"])
    case .uri(let text):
      archive.object(["NS.base": .uid(0), "NS.relative": archive.add(.string(text))], class: ["NSURL", "NSObject"])
    }
  }

  // MARK: Metadata

  /// Whether a value is, or holds, a reference of a keyed archive, which in another archive would be one of that.
  private static func holdsReference(_ value: PropertyListValue) -> Bool {
    switch value {
    case .uid: true
    case .array(let elements): elements.contains { holdsReference($0) }
    case .dictionary(let entries): entries.contains { holdsReference($0.value) }
    default: false
    }
  }

  /// The model to write; nil for one that a reader infers from the objects, so that nothing is added to a file that an
  /// application wrote.
  private func modelToWrite(_ map: [UInt8]) throws(PersistentStoreError) -> ModelDescription? {
    let model = metadata.model ?? nodes.model.description
    guard model.isInferred, model.inferredFrom == StoreKeys.storeType else { return model }
    let bytes = try StoreSource(bytes: map, name: path).bytes()
    let inferred = try bytes.withUnsafeBytes { raw throws(PersistentStoreError) in
      BinaryRawView(try BinaryMap(try KeyedArchive(raw, file: path))).model()
    }
    return inferred == model ? nil : model
  }

  private func metadataArchive(of map: [UInt8]) throws(PersistentStoreError) -> PropertyListValue {
    var archive = KeyedArchiveBuilder()
    var entries = metadata.entries
    for entry in entries where Self.holdsReference(entry.value) {
      throw PersistentStoreError(
        .unsupportedByFormat, "metadata of a binary store cannot hold a reference of an archive (UID)",
        at: StoreLocation(file: path, property: entry.key))
    }
    entries["NSStoreType"] = "Binary"
    entries["NSStoreUUID"] = .string(metadata.uuid.uuidString)
    if let model = try modelToWrite(map) {
      entries[StoreKeys.model] = .data(Data(try PropertyList.encodeBinary(model.propertyList)))
    }
    let top = archive.tree(.dictionary(entries))
    return archive.finish(["metadata": top])
  }
}
