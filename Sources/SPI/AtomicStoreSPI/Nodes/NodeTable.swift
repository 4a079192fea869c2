import FoundationEssentials

/// All nodes of a store: for each concrete entity a table with a row for each object and a column for each slot.
///
/// ```swift
/// for entity in nodes.model.entities {
///   for node in nodes.handles(of: entity.index) {
///     print(nodes.objectReference(of: node), nodes.value(forKey: "name", of: node) ?? .null)
///   }
/// }
/// ```
///
/// A value type: a copy shares its columns until one of the two is written to. A save changes a copy, encodes it, and
/// only then replaces the old one. Formats fill a table with ``NodeTableBuilder`` and read it with ``reader(of:)``;
/// edits use the methods here.
public struct NodeTable: Sendable {
  /// The model whose entities and slots the tables follow.
  ///
  /// ```swift
  /// let people = nodes.model.entity(named: "Person").map { nodes.count(of: $0.index) } ?? 0
  /// ```
  public let model: ManagedObjectModel
  var entities: [EntityTable] { didSet { endsAgree = false } }
  /// Whether the two ends of each inverse relationship are known to agree: a load compared them, and nothing changed
  /// since.
  private(set) var endsAgree = false
  /// By the number of a hierarchy's root entity.
  var lookups: [ReferenceLookup]

  /// Takes note that a load compared both ends of all inverse relationships.
  mutating func noteAgreement() { endsAgree = true }

  /// Creates an empty table.
  public init(model: ManagedObjectModel) {
    self.init(model: model, entities: model.records.map { EntityTable(slots: $0.slots) })
  }

  init(model: ManagedObjectModel, entities: [EntityTable]) {
    self.model = model
    self.entities = entities
    lookups = [ReferenceLookup](repeating: ReferenceLookup(), count: model.entityCount)
  }

  /// The number of nodes.
  ///
  /// ```swift
  /// print("\(nodes.count) objects")
  /// ```
  public var count: Int { entities.reduce(0) { $0 + $1.count - $1.deletedCount } }

  /// The number of nodes of exactly that entity, without its sub-entities.
  ///
  /// ```swift
  /// print(nodes.count(of: entity.index), entity.name)
  /// ```
  public func count(of entity: Int) -> Int { entities[entity].count - entities[entity].deletedCount }

  /// Returns the nodes of exactly that entity, by row.
  ///
  /// ```swift
  /// for node in nodes.handles(of: entity.index) { print(nodes.value(slot: slot.index, of: node)) }
  /// ```
  public func handles(of entity: Int) -> [NodeHandle] {
    let table = entities[entity]
    return (0..<table.count).lazy.filter { !table.isDeleted($0) }.map { NodeHandle(entity: entity, row: $0) }
  }

  /// Returns the node with that reference in the hierarchy of the entity, or nil.
  public func handle(for reference: ReferenceObject, entity: Int) -> NodeHandle? {
    lookups[model.records[entity].root][reference]
  }

  /// Returns the node that the value of a relationship names, or nil.
  public func handle(for reference: ObjectReference) -> NodeHandle? {
    guard let entity = model.entity(named: reference.entityName) else { return nil }
    return handle(for: reference.reference, entity: entity.index)
  }

  /// Returns the reference of a node's object.
  ///
  /// ```swift
  /// let numbers = nodes.handles(of: entity.index).map { nodes.reference(of: $0) }
  /// ```
  public func reference(of node: NodeHandle) -> ReferenceObject { entities[node.entity].reference(node.row) }

  /// Returns the reference to a node's object in the form that relationships use: concrete entity and reference.
  public func objectReference(of node: NodeHandle) -> ObjectReference {
    ObjectReference(entityName: model.records[node.entity].description.name, reference: reference(of: node))
  }

  /// Returns the value of a slot. A deferred value that was not read yet is null here: see ``isDeferred(slot:of:)``.
  ///
  /// ```swift
  /// if case .toOne(let department) = nodes.value(slot: slot.index, of: node) { print(department) }
  /// ```
  public func value(slot: Int, of node: NodeHandle) -> StoredValue {
    let row = node.row
    precondition(row >= 0 && row < entities[node.entity].count, "row out of range")
    // Without a reader: creating one is expensive for a single value.
    let column = entities[node.entity].columns[slot].header
    guard column.pointee.isPresent(row) else {
      return column.pointee.layout == .toMany ? .toMany([]) : .null
    }
    switch model.records[node.entity].slots[slot].valueKind {
    case .toOne: return .toOne(objectReference(of: NodeHandle(bits: column.pointee.cell(row, as: UInt64.self))))
    case .toMany: return .toMany(column.pointee.handles(row).map { objectReference(of: NodeHandle(bits: $0)) })
    case .integer: return .integer(column.pointee.integer(row))
    case .boolean: return .boolean(column.pointee.cell(row, as: UInt8.self) != 0)
    case .float: return .float(Float(bitPattern: column.pointee.cell(row, as: UInt32.self)))
    case .double: return .double(Double(bitPattern: column.pointee.cell(row, as: UInt64.self)))
    case .date:
      return .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: column.pointee.cell(row, as: UInt64.self))))
    case .uuid: return .uuid(UUID(uuid: column.pointee.cell(row, as: uuid_t.self)))
    case .string: return .string(String(decoding: column.pointee.bytes(row), as: UTF8.self))
    case .uri: return .uri(String(decoding: column.pointee.bytes(row), as: UTF8.self))
    case .data: return .data(Data(column.pointee.bytes(row)))
    case .decimal:
      return DecimalNumber(utf8: Span(_unsafeElements: column.pointee.bytes(row))).map { .decimal($0) } ?? .null
    case .undefined: return UndefinedValue.decode(column.pointee.bytes(row))
    }
  }

  /// Returns the value of the property with that name, or nil if the entity does not store such a property.
  public func value(forKey key: String, of node: NodeHandle) -> StoredValue? {
    model.entity(at: node.entity).slot(named: key).map { value(slot: $0, of: node) }
  }
}

// MARK: - Another instance of the model

extension NodeTable {
  /// Returns the same nodes for another instance of the model; nil if entities or slots are numbered differently there.
  package func rebased(on other: ManagedObjectModel) -> NodeTable? {
    guard other !== model else { return self }
    let isSame =
      model.records.count == other.records.count
      && zip(model.records, other.records).allSatisfy { one, other in
        ScalarString(one.description.name) == ScalarString(other.description.name) && one.root == other.root
          && one.slots.count == other.slots.count
          && zip(one.slots, other.slots).allSatisfy { one, other in
            ScalarString(one.name) == ScalarString(other.name) && CellLayout(one) == CellLayout(other)
              && one.destination == other.destination && one.isOrdered == other.isOrdered
          }
      }
    guard isSame else { return nil }
    var table = NodeTable(model: other, entities: entities)
    table.lookups = lookups
    return table
  }
}

// MARK: - Edits

extension NodeTable {
  /// Adds a node without values.
  ///
  /// - Throws: `.duplicateReference` if the reference is in use in the hierarchy, `.invalidValue` for an abstract
  ///   entity.
  public mutating func addCacheNode(entity: Int, reference: ReferenceObject) throws(PersistentStoreError) -> NodeHandle
  {
    // Nothing is copied out of the record or the table here, which would retain each of their parts for each node.
    func place() -> StoreLocation {
      StoreLocation(entity: model.records[entity].description.name, reference: reference.description)
    }
    guard !model.records[entity].description.isAbstract else {
      throw PersistentStoreError(
        .invalidValue, "\(model.records[entity].description.name) is abstract and cannot have objects", at: place())
    }
    let node = NodeHandle(entity: entity, row: entities[entity].count)
    if let taken = lookups[model.records[entity].root].insert(reference, node) {
      throw PersistentStoreError(
        .duplicateReference, "the reference \(reference) is already used by \(objectReference(of: taken))", at: place())
    }
    if node.row > 0, entities[entity].isCanonical, !lastReference(of: entity, precedes: reference) {
      entities[entity].isCanonical = false
    }
    _ = entities[entity].appendRow(reference)
    return node
  }

  /// Whether the reference of an entity's last row comes before another one.
  private func lastReference(of entity: Int, precedes reference: ReferenceObject) -> Bool {
    let last = entities[entity].count - 1
    if case .integer(let number) = reference, entities[entity].referenceTexts == nil {
      return entities[entity].referenceNumbers.header.pointee.cell(last, as: Int64.self) < number
    }
    return entities[entity].reference(last) < reference
  }

  /// Removes a node. The caller must change the relationships that name it: a table in which one names a removed node
  /// cannot be put in canonical order.
  public mutating func remove(_ node: NodeHandle) {
    guard node.row < entities[node.entity].count, !entities[node.entity].isDeleted(node.row) else { return }
    lookups[model.records[node.entity].root].remove(reference(of: node))
    let words = (entities[node.entity].count + 63) / 64
    while entities[node.entity].deleted.count < words { entities[node.entity].deleted.append(0) }
    entities[node.entity].deleted[node.row >> 6] |= 1 << UInt64(node.row & 63)
    entities[node.entity].deletedCount += 1
    entities[node.entity].payloads[node.row] = nil
    entities[node.entity].isCanonical = false
  }

  /// Whether the node still exists.
  public func contains(_ node: NodeHandle) -> Bool {
    node.entity < entities.count && node.row < entities[node.entity].count
      && !entities[node.entity].isDeleted(node.row)
  }

  /// Sets the value of a slot.
  ///
  /// - Throws: `.invalidValue` if the slot's type does not accept it, `.danglingReference` if a relationship names a
  ///   node that is not in the table or not of the destination entity, `.limitExceeded` for more than 256 GiB in one
  ///   column.
  public mutating func set(_ value: StoredValue, slot: Int, of node: NodeHandle) throws(PersistentStoreError) {
    let row = node.row
    // An attribute's description and location are not copied: most values are accepted.
    if case .attribute(let type) = model.records[node.entity].slots[slot].kind {
      guard type.accepts(value) else { throw .unacceptable(value, for: type, at: location(of: node, slot)) }
      let header = entities[node.entity].own(slot, for: row, isRemoval: value.isNull)
      if !entities[node.entity].deferred.isEmpty {
        entities[node.entity].deferred.remove(EntityTable.deferredKey(slot: slot, row: row))
      }
      let replaced = header.pointee.heapLength(row)
      guard header.pointee.store(value, row: row, type: type) else { throw .columnFull(location(of: node, slot)) }
      header.pointee.waste(replaced)
      return
    }
    let description = model.records[node.entity].slots[slot]
    let place = location(of: node, slot)
    switch description.kind {
    case .attribute: break
    case .toOne:
      var bits = NodeHandle.nullBits
      switch value {
      case .null: break
      case .toOne(let reference): bits = try destination(reference, slot: description, at: place).bits
      default: throw PersistentStoreError(.invalidValue, "a to-one cannot hold \(value.kindDescription)", at: place)
      }
      entities[node.entity].own(slot, for: row, isRemoval: value.isNull).pointee.setHandle(row, bits)
    case .toMany:
      var list: [UInt64] = []
      switch value {
      case .null: break
      case .toMany(let references):
        for reference in references { list.append(try destination(reference, slot: description, at: place).bits) }
      default: throw PersistentStoreError(.invalidValue, "a to-many cannot hold \(value.kindDescription)", at: place)
      }
      if Set(list).count != list.count {
        throw PersistentStoreError(.invalidValue, "an object occurs twice in the relationship", at: place)
      }
      if !description.keepsSequence {
        list.sort { reference(of: NodeHandle(bits: $0)) < reference(of: NodeHandle(bits: $1)) }
      }
      let header = entities[node.entity].own(slot, for: row)
      let replaced = header.pointee.heapLength(row)
      guard header.pointee.setHandles(row, list) else { throw .columnFull(place) }
      header.pointee.waste(replaced)
    }
  }

  private func location(of node: NodeHandle, _ slot: Int) -> StoreLocation {
    StoreLocation(
      entity: model.records[node.entity].description.name, reference: reference(of: node).description,
      property: model.records[node.entity].slots[slot].name)
  }

  /// Sets the value of the property with that name.
  ///
  /// - Throws: as ``set(_:slot:of:)``; `.invalidValue` if the entity does not store such a property.
  public mutating func setValue(
    _ value: StoredValue, forKey key: String, of node: NodeHandle
  ) throws(PersistentStoreError) {
    let entity = model.entity(at: node.entity)
    guard let slot = entity.slot(named: key) else {
      throw PersistentStoreError(
        .invalidValue, "\(entity.name) does not store a property '\(key)'",
        at: StoreLocation(entity: entity.name, reference: reference(of: node).description, property: key))
    }
    try set(value, slot: slot, of: node)
  }

  private func destination(
    _ reference: ObjectReference, slot: Slot, at place: StoreLocation
  ) throws(PersistentStoreError) -> NodeHandle {
    guard let node = handle(for: reference) else {
      throw PersistentStoreError(.danglingReference, "\(reference) does not exist", at: place)
    }
    guard let destination = slot.destination, model.isKind(node.entity, of: destination) else {
      throw PersistentStoreError(
        .danglingReference,
        "\(reference) is not \(slot.relationship?.destinationEntityName ?? "of the destination entity")", at: place)
    }
    return node
  }
}

// MARK: - What a format may hang on nodes

extension NodeTable {
  /// Returns the value that the format attached to a node, if any. It exists as long as the store is open and is never
  /// saved.
  public func payload(of node: NodeHandle) -> (any Sendable)? { entities[node.entity].payloads[node.row] }
  /// Attaches a value of the format to a node, replacing the previous one; nil removes it.
  public mutating func setPayload(_ payload: (any Sendable)?, of node: NodeHandle) {
    entities[node.entity].payloads[node.row] = payload
  }

  /// Whether the format has yet to supply the slot's value, on first read.
  public func isDeferred(slot: Int, of node: NodeHandle) -> Bool {
    let table = entities[node.entity]
    return !table.deferred.isEmpty && table.deferred.contains(EntityTable.deferredKey(slot: slot, row: node.row))
  }

  /// All slots whose values the format has yet to supply, in entity, row and slot order.
  package var deferredSlots: [(node: NodeHandle, slot: Int)] {
    entities.enumerated().flatMap { index, table in
      table.deferred.map { (node: NodeHandle(entity: index, row: Int($0 & 0xFFFF_FFFF)), slot: Int($0 >> 32)) }
        .sorted { ($0.node.row, $0.slot) < ($1.node.row, $1.slot) }
    }
  }
}

extension PersistentStoreError {
  static func unacceptable(_ value: StoredValue, for type: AttributeType, at place: StoreLocation) -> Self {
    if case .integer(let number) = value {
      return PersistentStoreError(.invalidValue, "\(number) is out of range for \(type.modelName)", at: place)
    }
    return PersistentStoreError(.invalidValue, "\(value.kindDescription) is not a valid \(type.modelName)", at: place)
  }
  static func columnFull(_ place: StoreLocation) -> Self {
    PersistentStoreError(.limitExceeded, "the values of one property exceed 256 GiB", at: place)
  }
}

extension ColumnHeader {
  /// Stores an attribute's value that its type accepts. False if the heap is full.
  mutating func store(_ value: StoredValue, row: Int, type: AttributeType) -> Bool {
    if case .undefined = type, !value.isNull {
      return UndefinedValue.encode(value).withUnsafeBytes { setBytes(row, $0.baseAddress, count: $0.count) }
    }
    func text(_ string: String, _ header: inout ColumnHeader) -> Bool {
      var string = string
      return string.withUTF8 { header.setBytes(row, $0.baseAddress, count: $0.count) }
    }
    switch value {
    case .null, .toOne, .toMany: setNull(row)
    case .boolean(let flag):
      setPresent(row, flag ? 1 as UInt8 : 0)
    case .integer(let number):
      setInteger(row, number)
    case .float(let number):
      setPresent(row, number.bitPattern)
    case .double(let number):
      setPresent(row, number.bitPattern)
    case .date(let date):
      setPresent(row, date.timeIntervalSinceReferenceDate.bitPattern)
    case .uuid(let uuid):
      setPresent(row, uuid.uuid)
    case .decimal(let number): return text(number.description, &self)
    case .string(let string): return text(string, &self)
    case .uri(let string): return text(string, &self)
    case .data(let data):
      return data.withUnsafeBytes { setBytes(row, $0.baseAddress, count: $0.count) }
    }
    return true
  }

  /// The integer of a cell; 0 in columns of other values.
  @inline(__always) func integer(_ row: Int) -> Int64 {
    switch layout {
    case .integer16: Int64(cell(row, as: Int16.self))
    case .integer32: Int64(cell(row, as: Int32.self))
    case .integer64: cell(row, as: Int64.self)
    default: 0
    }
  }

  /// Stores an integer that is in the range of the layout.
  @inline(__always) mutating func setInteger(_ row: Int, _ number: Int64) {
    switch layout {
    case .integer16: setPresent(row, Int16(truncatingIfNeeded: number))
    case .integer32: setPresent(row, Int32(truncatingIfNeeded: number))
    default: setPresent(row, number)
    }
  }
}
