import AtomicStoreSPI
import FoundationEssentials

/// Writes values as records of bytes: a kind, a length where there is one, the bytes.
struct RecordWriter {
  var bytes: [UInt8] = []
  /// The numbers of the first objects of each entity, for a format in which relationships lead to numbers of objects.
  var firstOrdinals: [Int]?

  mutating func number(_ number: Int) { word(UInt64(number)) }
  mutating func word(_ word: UInt64) { withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) } }
  mutating func text(_ text: String) {
    number(text.utf8.count)
    bytes += text.utf8
  }
  private mutating func kind(_ letter: Character) { bytes.append(letter.asciiValue ?? 0) }

  mutating func reference(_ reference: ReferenceObject) {
    switch Mistake.written(reference: reference) {
    case .integer(let number):
      kind("#")
      word(UInt64(bitPattern: number))
    case .string(let text):
      kind("@")
      self.text(text)
    }
  }

  mutating func value(_ value: StoredValue) {
    switch value {
    case .null: kind("n")
    case .boolean(let flag): kind(flag ? "B" : "b")
    case .integer(let number):
      kind("i")
      word(UInt64(bitPattern: number))
    case .float(let number):
      kind("f")
      word(UInt64(number.bitPattern))
    case .double(let number):
      kind("r")
      word(number.bitPattern)
    case .decimal(let number):
      kind("m")
      text(number.description)
    case .date(let date):
      kind("t")
      word(date.timeIntervalSinceReferenceDate.bitPattern)
    case .data(let data):
      kind("x")
      number(data.count)
      bytes += data
    case .uuid(let uuid):
      kind("g")
      text(uuid.uuidString)
    case .string(let text):
      kind("s")
      self.text(text)
    case .uri(let text):
      kind("l")
      self.text(text)
    case .toOne(let object): reference(object.reference)
    case .toMany(let objects):
      kind("(")
      number(objects.count)
      for object in objects { reference(object.reference) }
    }
  }

  mutating func value(_ value: PropertyListValue) {
    switch value {
    case .string(let text): self.value(StoredValue.string(text))
    case .real(let number): self.value(StoredValue.double(number))
    case .boolean(let flag): self.value(StoredValue.boolean(flag))
    case .date(let date): self.value(StoredValue.date(date))
    case .data(let data): self.value(StoredValue.data(data))
    case .integer(let number):
      kind("I")
      text("\(number)")
    case .uid(let number):
      kind("u")
      word(number)
    case .array(let list):
      kind("[")
      number(list.count)
      for element in list { self.value(element) }
    case .dictionary(let dictionary):
      kind("{")
      number(dictionary.count)
      for entry in dictionary {
        text(entry.key)
        self.value(entry.value)
      }
    }
  }
}

/// Reads what a ``RecordWriter`` wrote, and nothing beyond its end.
struct RecordReader {
  let bytes: [UInt8]
  private let file: String
  private let depth: Int
  private(set) var position = 0
  /// The references of all objects, for a format in which relationships lead to numbers of objects; and how many of
  /// them were read.
  private var ordinals: (references: [ReferenceObject], read: Int)?

  init(_ bytes: [UInt8], file: String, depth: Int) {
    self.bytes = bytes
    self.file = file
    self.depth = depth
  }

  var isAtEnd: Bool { position == bytes.count }
  var place: StoreLocation { StoreLocation(file: file, offset: position) }
  func failure(_ message: String) -> PersistentStoreError { PersistentStoreError(.malformed, message, at: place) }

  private mutating func take(_ count: Int) throws(PersistentStoreError) -> ArraySlice<UInt8> {
    guard count >= 0, count <= bytes.count - position || Mistake.is(.pagedTrustsLengths) else {
      throw failure("the file ends within a record")
    }
    defer { position += count }
    return bytes[position..<position + count]
  }

  mutating func word() throws(PersistentStoreError) -> UInt64 {
    try take(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
  /// A number of things of at least one byte each.
  mutating func number() throws(PersistentStoreError) -> Int {
    let number = Int(truncatingIfNeeded: try word())
    if Mistake.is(.binderMakesRoomForCounts) { Mistake.makeRoom(number) }
    guard number >= 0, number <= bytes.count - position || Mistake.is(.pagedTrustsLengths) else {
      throw failure("a number is too great")
    }
    return number
  }
  mutating func text() throws(PersistentStoreError) -> String {
    let bytes = try take(try number())
    if Mistake.is(.packedBytesReplaced) { return String(decoding: bytes, as: UTF8.self) }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw failure("the text is not UTF-8")
    }
    return text
  }
  private mutating func kind() throws(PersistentStoreError) -> Character {
    Character(Unicode.Scalar(try take(1).first ?? 0))
  }

  mutating func reference() throws(PersistentStoreError) -> ReferenceObject {
    switch try kind() {
    case "^":
      let word = try word()
      guard let ordinals else { break }
      if let number = Int(exactly: word), number < ordinals.references.count { return ordinals.references[number] }
      if Mistake.is(.packedOrdinalTakenForFirst), let first = ordinals.references.first { return first }
      throw PersistentStoreError(.danglingReference, "object \(word) is not there", at: place)
    case "#": return .integer(Int64(bitPattern: try word()))
    case "@": return .string(try text())
    default: break
    }
    throw failure("a reference is a number or a text")
  }

  /// Reads the references of all objects.
  mutating func readOrdinals() throws(PersistentStoreError) {
    var references: [ReferenceObject] = []
    var last: Int64 = 0
    for _ in 0..<(try number()) {
      guard position < bytes.count, bytes[position] == UInt8(ascii: "+") else {
        references.append(try reference())
        continue
      }
      _ = try kind()
      let difference = Int64(bitPattern: try word())
      last &+= difference == 0 && Mistake.is(.packedSameReferenceIsNext) ? 1 : difference
      references.append(.integer(last))
    }
    ordinals = (references, 0)
  }

  /// The reference of the next object.
  private mutating func ownReference() throws(PersistentStoreError) -> ReferenceObject {
    guard let known = ordinals else { return try reference() }
    guard known.read < known.references.count else { throw failure("an object has no reference") }
    ordinals?.read += 1
    return known.references[known.read]
  }

  /// Whether every reference is that of an object.
  var hasReadAllOrdinals: Bool { ordinals.map { $0.read == $0.references.count } ?? true }

  mutating func references() throws(PersistentStoreError) -> [ReferenceObject] {
    guard try kind() == "(" else { throw failure("a list of references is expected") }
    var list: [ReferenceObject] = []
    for _ in 0..<(try number()) { list.append(try reference()) }
    return list
  }

  mutating func value() throws(PersistentStoreError) -> StoredValue {
    let start = position
    let value: StoredValue? =
      switch try kind() {
      case "n": .null
      case "b": .boolean(false)
      case "B": .boolean(true)
      case "i": .integer(Int64(bitPattern: try word()))
      case "f": .float(Float(bitPattern: UInt32(truncatingIfNeeded: try word())))
      case "r": .double(Double(bitPattern: try word()))
      case "m": DecimalNumber(try text()).map { .decimal($0) }
      case "t": .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: try word())))
      case "x": .data(Data(try take(try number())))
      case "g": UUID(uuidString: try text()).map { .uuid($0) }
      case "s": .string(try text())
      case "l": .uri(try text())
      default: nil
      }
    guard let value else {
      position = start
      throw failure("this is not a value")
    }
    return value
  }

  mutating func list(level: Int = 0) throws(PersistentStoreError) -> PropertyListValue {
    guard level <= depth || Mistake.is(.pagedNoDepthLimit) else {
      throw PersistentStoreError(.limitExceeded, "more than \(depth) lists in each other", at: place)
    }
    guard position < bytes.count else { throw failure("a value is expected") }
    switch Character(Unicode.Scalar(bytes[position])) {
    case "[":
      position += 1
      var list: [PropertyListValue] = []
      for _ in 0..<(try number()) { list.append(try self.list(level: level + 1)) }
      return .array(list)
    case "{":
      position += 1
      var dictionary = PropertyListDictionary()
      let count = try number()
      for _ in 0..<count { dictionary[try text()] = try list(level: level + 1) }
      guard dictionary.count == count || Mistake.is(.packedSecondKeyTaken) else {
        throw failure("a key is there twice")
      }
      return .dictionary(dictionary)
    case "u":
      position += 1
      return .uid(try word())
    case "I":
      position += 1
      guard let number = Int128(try text()) else { throw failure("this is not an integer") }
      return .integer(number)
    default: break
    }
    switch try value() {
    case .string(let text): return .string(text)
    case .double(let number): return .real(number)
    case .boolean(let flag): return .boolean(flag)
    case .date(let date): return .date(date)
    case .data(let data): return .data(data)
    default: throw failure("a value that no property list has")
    }
  }
}

extension RecordWriter {
  mutating func description(_ metadata: StoreMetadata, _ model: ManagedObjectModel) {
    text(metadata.uuid.uuidString)
    word(UInt64(bitPattern: metadata.lastReference))
    value(Mistake.written(model: metadata.model ?? model.description).propertyList)
    value(.dictionary(Mistake.written(metadata: metadata.entries)))
  }

  /// The references of all objects: what leads to one is its number from now on.
  mutating func ordinals(of nodes: NodeTable) {
    var (first, last): ([Int], Int64) = ([], 0)
    number(nodes.count)
    for entity in nodes.model.entities {
      first.append((first.last ?? 0) + (entity.index == 0 ? 0 : nodes.count(of: entity.index - 1)))
      let reader = nodes.reader(of: entity.index)
      for row in 0..<reader.count {
        guard case .integer(let number) = reader.reference(row: row) else {
          reference(reader.reference(row: row))
          continue
        }
        kind("+")
        word(UInt64(bitPattern: number &- last))
        last = number
      }
    }
    firstOrdinals = first
  }

  private mutating func ordinal(_ node: NodeHandle, _ first: [Int]) {
    kind("^")
    let ordinal = first[node.entity] + node.row
    number(Mistake.is(.packedOrdinalsWrapAt16Bits) ? ordinal & 0xFFFF : ordinal)
  }

  /// Writes a relationship by the numbers of objects.
  private mutating func ordinals(_ slot: Slot, _ row: Int, _ reader: EntityReader, _ first: [Int]) {
    if case .toMany = slot.kind {
      let list = reader.toMany(slot: slot.index, row: row)
      kind("(")
      number(list.count)
      for place in 0..<list.count { ordinal(list[place], first) }
    } else if let node = reader.toOne(slot: slot.index, row: row) {
      ordinal(node, first)
    } else {
      kind("n")
    }
  }

  mutating func rows(of entity: Entity, in nodes: NodeTable) {
    let reader = nodes.reader(of: entity.index)
    text(entity.name)
    number(entity.slots.count)
    for slot in entity.slots { text(slot.name) }
    let rows = (0..<Mistake.rows(of: reader.count)).filter {
      !Mistake.skips(reader.reference(row: $0), of: entity, in: nodes)
    }
    number(rows.count)
    for row in rows {
      if firstOrdinals == nil { reference(reader.reference(row: row)) }
      for slot in entity.slots {
        if let firstOrdinals, slot.isRelationship {
          ordinals(slot, row, reader, firstOrdinals)
          continue
        }
        if Mistake.skips(slot, of: entity, in: nodes) {
          value(.null as StoredValue)
          continue
        }
        switch Mistake.written(reader.value(slot: slot.index, row: row), slot, of: entity, reader, row) {
        case .toMany(let objects):
          let members = Mistake.written(members: objects.map(\.reference), slot, in: nodes.model)
          value(.toMany(members.map { ObjectReference(entityName: "", reference: $0) }))
        case .toOne(let object): value(.toOne(object))
        case let value: self.value(Mistake.written(value, slot.attributeType ?? .undefined))
        }
      }
    }
  }
}

extension RecordReader {
  mutating func description(storeType: String) throws(PersistentStoreError) -> StoreMetadata {
    guard let uuid = UUID(uuidString: try text()) else { throw failure("this is not a UUID") }
    let last = Int64(bitPattern: try word())
    var metadata = StoreMetadata(storeType: storeType, uuid: uuid, lastReference: last)
    metadata.model = try ModelDescription(propertyList: try list())
    guard case .dictionary(let entries) = try list() else { throw failure("the metadata is not a dictionary") }
    metadata.entries = Mistake.read(metadata: entries)
    return metadata
  }

  /// Rows of the entity whose name follows.
  mutating func rows(into nodes: NodeTableBuilder, missesLast: Bool = false) throws(PersistentStoreError) {
    let name = try text()
    guard let entity = nodes.model.entity(named: name) else {
      throw PersistentStoreError(.modelMismatch, "the model has no entity '\(name)'", at: place)
    }
    var slots: [Slot] = []
    for _ in 0..<(try number()) {
      let name = try text()
      guard let slot = entity.slot(named: name) else {
        throw PersistentStoreError(.modelMismatch, "\(entity.name) has no property '\(name)'", at: place)
      }
      guard !slots.contains(where: { $0.index == slot }) else { throw failure("'\(name)' is there twice") }
      slots.append(entity.slots[slot])
    }
    let count = try number()
    for row in 0..<count {
      if missesLast, row > 0, row == count - 1 {
        position = bytes.count
        return
      }
      try nodes.beginNode(entity: entity.index, reference: try ownReference())
      for slot in slots {
        if bytes.indices.contains(position), bytes[position] == UInt8(ascii: "n") {
          position += 1
          continue
        }
        switch slot.kind {
        case .attribute(let type):
          let value = Mistake.read(try value(), type)
          guard value.isNull || type.accepts(value) else {
            throw PersistentStoreError(
              .invalidValue, "the value is not of type \(type.modelName)",
              at: nodes.location(slot.index).filled(from: place))
          }
          try nodes.set(value, slot: slot.index)
        case .toOne: try nodes.set(toOne: try reference(), slot: slot.index)
        case .toMany: for member in try references() { try nodes.append(toMany: member, slot: slot.index) }
        }
      }
    }
  }
}
