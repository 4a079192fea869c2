import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// Writes a binary store: header, archive of the objects, archive of the metadata.
struct BinaryWriter {
  private let nodes: NodeTable
  private let metadata: StoreMetadata
  private let path: String

  init(_ snapshot: StoreSnapshot, path: String) {
    nodes = snapshot.nodes
    metadata = snapshot.metadata
    self.path = path
  }

  func write(to file: StagedFile) throws(PersistentStoreError) {
    try checkKeys()
    try checkTypes()
    let map = try PropertyList.encodeBinary(mapArchive())
    let info = try PropertyList.encodeBinary(try metadataArchive())
    let start = BinaryHeader.size
    let header = BinaryHeader(
      metadata: start + map.count..<start + map.count + info.count, map: start..<start + map.count,
      lastKey: max(metadata.lastReference, nodes.greatestIntegerReference))
    try file.write(header.bytes)
    try file.write(map)
    try file.write(info)
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
          throw PersistentStoreError(.unsupportedByFormat, "a key of a binary store is a number", at: place)
        }
        let node = NodeHandle(entity: entity.index, row: row)
        guard let other = owners.updateValue(node, forKey: key) else { continue }
        throw PersistentStoreError(
          .unsupportedByFormat,
          "\(nodes.objectReference(of: other)) has the same key, and the keys of a binary store are unique in all of it; a store of the type CoreDataSQLite can hold both",
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
          throw PersistentStoreError(
            .unsupportedByFormat, "a binary store is not written with values of type \(slot.kindDescription)",
            at: StoreLocation(
              file: path, entity: entity.name, reference: reader.reference(row: row).description, property: slot.name))
        }
      }
    }
  }

  // MARK: Objects

  private func mapArchive() -> PropertyListValue {
    var archive = ArchiveBuilder()
    var entries: [(key: Int64, value: PropertyListValue)] = []
    for entity in nodes.model.entities {
      let reader = nodes.reader(of: entity.index)
      let attributes = BinaryMap.attributeSlots(of: entity)
      let relationships = entity.slots.filter(\.isRelationship)
      let name = archive.add(.string(entity.name))
      let names = relationships.map { archive.add(.string($0.name)) }
      for row in 0..<reader.count {
        guard let key = reader.integerReference(row: row) else { continue }
        var values = attributes.map { value($0, reader, row, &archive) }
        values += relationships.map { _ in archive.null }
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
    return archive.finish(["mapData": top])
  }

  private func related(
    _ relationships: [Slot], _ names: [PropertyListValue], _ reader: EntityReader, _ row: Int,
    _ archive: inout ArchiveBuilder
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

  private func key(_ node: NodeHandle, _ archive: inout ArchiveBuilder) -> PropertyListValue {
    guard case .integer(let number) = nodes.reference(of: node) else { return archive.null }
    return archive.add(.integer(Int128(number)))
  }

  private func value(_ slot: Slot, _ reader: EntityReader, _ row: Int, _ archive: inout ArchiveBuilder)
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
    case .data(let data): slot.attributeType == .binaryData ? archive.add(.data(data)) : archive.null
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

  private func metadataArchive() throws(PersistentStoreError) -> PropertyListValue {
    var archive = ArchiveBuilder()
    var entries = metadata.entries
    for entry in entries where Self.holdsReference(entry.value) {
      throw PersistentStoreError(
        .unsupportedByFormat, "metadata of a binary store cannot hold a reference of an archive (UID)",
        at: StoreLocation(file: path, property: entry.key))
    }
    entries["NSStoreType"] = "Binary"
    entries["NSStoreUUID"] = .string(metadata.uuid.uuidString)
    let model = (metadata.model ?? nodes.model.description).propertyList
    entries[StoreKeys.model] = .data(Data(try PropertyList.encodeBinary(model)))
    let top = archive.tree(.dictionary(entries))
    return archive.finish(["metadata": top])
  }
}

/// Builds a keyed archive as a property list.
struct ArchiveBuilder {
  private var objects: [PropertyListValue] = [.string("$null")]
  private var classes: [String: PropertyListValue] = [:]
  private var nullObject: PropertyListValue?

  /// NSNull, which is an object, unlike nil.
  var null: PropertyListValue {
    mutating get {
      if let nullObject { return nullObject }
      let made = object([:], class: ["NSNull", "NSObject"])
      nullObject = made
      return made
    }
  }

  /// Adds a plain value and gives the reference to it.
  mutating func add(_ value: PropertyListValue) -> PropertyListValue {
    objects.append(value)
    return .uid(UInt64(objects.count - 1))
  }

  mutating func object(_ fields: PropertyListDictionary, class names: [String]) -> PropertyListValue {
    var fields = fields
    let key = names.joined(separator: " ")
    if let known = classes[key] {
      fields["$class"] = known
    } else {
      let made = add(["$classname": .string(names.first ?? ""), "$classes": .array(names.map { .string($0) })])
      classes[key] = made
      fields["$class"] = made
    }
    return add(.dictionary(fields))
  }

  mutating func array(_ elements: [PropertyListValue], isMutable: Bool = false) -> PropertyListValue {
    object(["NS.objects": .array(elements)], class: (isMutable ? ["NSMutableArray"] : []) + ["NSArray", "NSObject"])
  }

  mutating func dictionary(keys: [PropertyListValue], values: [PropertyListValue], isMutable: Bool = false)
    -> PropertyListValue
  {
    object(
      ["NS.keys": .array(keys), "NS.objects": .array(values)],
      class: (isMutable ? ["NSMutableDictionary"] : []) + ["NSDictionary", "NSObject"])
  }

  /// A string. As a plain value one of them would be nil.
  mutating func text(_ text: String) -> PropertyListValue {
    text == "$null" ? object(["NS.string": .string(text)], class: ["NSString", "NSObject"]) : add(.string(text))
  }

  /// As NSDecimalNumber archives itself: words of 16 bits, the first of least weight.
  mutating func decimal(_ number: DecimalNumber) -> PropertyListValue {
    var words: [UInt8] = []
    for word in 0..<8 {
      let value = UInt16(truncatingIfNeeded: number.mantissa >> (UInt128(word) * 16))
      words += [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
    }
    let length = number.isNaN ? 0 : (16 - words.reversed().prefix { $0 == 0 }.count + 1) / 2
    return object(
      [
        "NS.mantissa": .data(Data(words)), "NS.mantissa.bo": 1, "NS.length": .integer(Int128(length)),
        "NS.exponent": .integer(Int128(number.exponent)), "NS.negative": .boolean(number.isNaN || number.isNegative),
        "NS.compact": true,
      ], class: ["NSDecimalNumberPlaceholder", "NSDecimalNumber", "NSNumber", "NSValue", "NSObject"])
  }

  /// A property list, with objects for its arrays, dictionaries and dates.
  mutating func tree(_ value: PropertyListValue) -> PropertyListValue {
    switch value {
    case .array(let elements): array(elements.map { tree($0) })
    case .dictionary(let entries):
      dictionary(keys: entries.map { text($0.key) }, values: entries.map { tree($0.value) })
    case .date(let date):
      object(["NS.time": .real(date.timeIntervalSinceReferenceDate)], class: ["NSDate", "NSObject"])
    case .string(let string): text(string)
    default: add(value)
    }
  }

  consuming func finish(_ top: PropertyListDictionary) -> PropertyListValue {
    ["$archiver": "NSKeyedArchiver", "$version": 100_000, "$top": .dictionary(top), "$objects": .array(objects)]
  }
}
