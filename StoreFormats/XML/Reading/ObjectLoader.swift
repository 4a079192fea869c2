import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// Fills a node table from a document's objects, by the model: names are compared case-insensitively, and values are
/// read by the type in the model, regardless of the type in the file.
final class ObjectLoader: DocumentReader {
  struct SlotPlan {
    var kind: StoredValue.Kind
    /// The last object that had this property, to detect duplicate elements.
    var lastSeen = 0
    /// For relationships: the number of the destination and that of its hierarchy.
    var destination = -1
    var destinationRoot = -1
  }
  /// The reading plan of an entity.
  struct EntityPlan {
    var slots: UnsafeMutablePointer<SlotPlan>
    var names: NameTable
    var root: Int
    /// Whether the slots are not shared with the plan of a super-entity.
    var isOwner = true
  }
  /// The form of a hierarchy's numbers in the file: alone, or followed by its name.
  enum IdentifierForm: UInt8 { case unknown, plain, named }

  let nodes: NodeTableBuilder
  let model: ManagedObjectModel
  private let entityNames: NameTable
  let writtenNames: [String]
  /// Created for the entities that have objects in the file.
  var plans: [EntityPlan?]
  let forms: UnsafeMutablePointer<IdentifierForm>
  private var scratch: [UInt8] = []
  /// The string that an identifier stands for.
  private var identifierText: [UInt8] = []
  /// The numbers of the objects in a list.
  let members = NumberList()

  private var entity = -1
  private var slots: UnsafeMutablePointer<SlotPlan>
  /// The names of the current entity's plan, which retains them: not counted at each property.
  private var slotNames: Unmanaged<NameTable>
  private var root = -1
  private var serial = 0
  var slot = -1
  private var valueType = AttributeType.undefined
  /// The numbers of all objects.
  let numbers = NumberLog()
  /// The least duplicate number.
  private(set) var duplicate: Int64?
  private let noSlots: UnsafeMutablePointer<SlotPlan>
  /// Whether the current object has a node yet.
  private var hasNode = false

  /// The names of a model's entities, which the loaders of a file's parts share.
  ///
  /// `@unchecked Sendable`: nothing in it is changed, also in its table, which is only used by
  /// ``NameTable/init(sharing:)``.
  struct EntityNames: @unchecked Sendable {
    fileprivate let table: NameTable
    fileprivate let written: [String]

    init(_ model: ManagedObjectModel, file: String) throws(PersistentStoreError) {
      (table, written) = try ObjectLoader.table(model.entities.map(\.name), .entity, StoreLocation(file: file))
    }
  }

  init(_ nodes: NodeTableBuilder, file: String, _ names: EntityNames) {
    self.nodes = nodes
    model = nodes.model
    entityNames = NameTable(sharing: names.table)
    writtenNames = names.written
    let count = writtenNames.count
    forms = .allocate(capacity: count + 1)
    forms.initialize(repeating: .unknown, count: count + 1)
    plans = Array(repeating: nil, count: count)
    noSlots = .allocate(capacity: 1)
    slots = noSlots
    slotNames = .passUnretained(entityNames)
    super.init(file: file)
  }

  deinit {
    for case let plan? in plans where plan.isOwner { plan.slots.deallocate() }
    noSlots.deallocate()
    forms.deallocate()
  }

  static func table(
    _ names: [String], _ folding: NameFolding, _ place: StoreLocation
  ) throws(PersistentStoreError) -> (table: NameTable, written: [String]) {
    let folded = folding.folded(names)
    let written = folding.written(names, folded)
    var texts: [[UInt8]] = []
    for name in written { texts.append(try NameText.encode(name, at: place)) }
    return (NameTable(folded: folded, written: texts, folding: folding), written)
  }

  // MARK: Objects

  override func beginObject(type: Bytes, identifier: Bytes) throws(PersistentStoreError) {
    hasNode = false
    let found = entityNames.index(of: type, after: entity)
    guard found >= 0 else {
      throw PersistentStoreError(.modelMismatch, "the model does not have an entity '\(Self.shown(type))'")
    }
    if found != entity {
      let plan = try plan(of: found)
      entity = found
      slots = plan.slots
      slotNames = .passUnretained(plan.names)
      root = plan.root
    }
    slot = -1
    serial += 1
    if let number = ObjectIdentifierText.number(identifier) {
      try use(.plain, of: root)
      note(number)
      try nodes.beginNode(entity: found, reference: number, line: line)
      hasNode = true
      return
    }
    if let plain = ObjectIdentifierText.plainString(identifier) {
      try nodes.beginNode(entity: found, utf8: Span(_unsafeElements: plain), line: line)
      hasNode = true
      return
    }
    if ObjectIdentifierText.decodeString(identifier, into: &identifierText) {
      let text = identifierText
      try nodes.beginNode(entity: found, utf8: text.span, line: line)
      hasNode = true
      return
    }
    let reference = try parse(identifier, root: root)
    try nodes.beginNode(entity: found, reference: reference, line: line)
    hasNode = true
  }

  override func skipObject(because error: PersistentStoreError, hasBegun: Bool) throws(PersistentStoreError) {
    if hasNode, hasBegun { return try nodes.skipNode(because: error) }
    try nodes.skipPart(because: error)
  }

  override func noteProgress(_ read: Int, of size: Int) { nodes.noteProgress(read, of: size) }

  /// The plan of an entity, or that of its super-entity if it does not declare slots.
  func plan(of index: Int) throws(PersistentStoreError) -> EntityPlan {
    if let plan = plans[index] { return plan }
    let entity = model.entity(at: index)
    let all = entity.slots
    if let above = entity.superentity, above.slots.count == all.count {
      var shared = try plan(of: above.index)
      shared.isOwner = false
      plans[index] = shared
      return shared
    }
    let names = try Self.table(all.map(\.name), .property, StoreLocation(file: file, entity: entity.name)).table
    let slots = UnsafeMutablePointer<SlotPlan>.allocate(capacity: max(all.count, 1))
    for slot in all {
      var plan = SlotPlan(kind: slot.valueKind)
      if let destination = slot.destination {
        plan.destination = destination
        plan.destinationRoot = model.entity(at: destination).root.index
      }
      (slots + slot.index).initialize(to: plan)
    }
    let made = EntityPlan(slots: slots, names: names, root: entity.root.index)
    plans[index] = made
    return made
  }

  /// The second object is not known here: a ``DuplicateFinder`` searches the file for it again.
  override func endDocument() throws(PersistentStoreError) {
    for (index, known) in plans.enumerated() {
      guard let plan = known, nodes.count(of: index) > 0 else { continue }
      for slot in model.entity(at: index).slots where slot.isRelationship && plan.slots[slot.index].lastSeen == 0 {
        nodes.markAbsent(slot: slot.index, entity: index)
      }
    }
    // The kit leaves out the second of two objects with one reference; Core Data's rule for other hierarchies is
    // relaxed.
    guard !skipsDamagedObjects, let least = numbers.leastDuplicate() else { return }
    duplicate = least
    throw PersistentStoreError(
      .duplicateReference, "two objects have the id z\(least)", at: StoreLocation(reference: "z\(least)"))
  }

  /// The kit detects duplicates within a hierarchy; across hierarchies they are detected here.
  @inline(__always) func note(_ number: Int64) { numbers.add(number) }

  @inline(__always) func use(_ form: IdentifierForm, of root: Int) throws(PersistentStoreError) {
    // If damaged objects are left out, an identifier of the other form costs no object: its number is what counts.
    if forms[root] == form || skipsDamagedObjects { return }
    guard forms[root] == .unknown else {
      throw malformed(
        "some identifiers in the hierarchy of \(writtenNames[root]) are followed by its name and others are not")
    }
    forms[root] = form
  }

  private func parse(_ identifier: Bytes, root: Int) throws(PersistentStoreError) -> ReferenceObject {
    guard let parsed = ObjectIdentifierText.parse(identifier) else {
      throw malformed("'\(Self.shown(identifier))' is not an object identifier")
    }
    guard case .integer(let number) = parsed.reference else { return parsed.reference }
    guard let name = parsed.root else {
      // Numbers too long for the fast path.
      try use(.plain, of: root)
      note(number)
      return parsed.reference
    }
    guard root >= 0, ScalarString(name) == ScalarString(writtenNames[root]) else {
      throw malformed("the identifier '\(Self.shown(identifier))' belongs to another hierarchy")
    }
    try use(.named, of: root)
    return parsed.reference
  }

  // MARK: Attributes

  override func beginAttribute(name: Bytes, type: Bytes, valueType: Bytes?) throws(PersistentStoreError) {
    try begin(name)
    guard slots[slot].kind == .undefined else {
      guard slots[slot].kind != .toOne, slots[slot].kind != .toMany else {
        throw misplaced("is a relationship in the model, but an attribute here", .modelMismatch)
      }
      guard valueType == nil else { throw misplaced("has a type in the model, so its value must not specify one") }
      return
    }
    // Without a type in the model, the file must specify it: explicitly, or where Core Data does.
    guard let found = StoreTypeName.type(named: valueType ?? type), found != .undefined else {
      throw misplaced("does not have a type in the model, and '\(Self.shown(valueType ?? type))' is not one")
    }
    self.valueType = found
  }

  private func begin(_ name: Bytes) throws(PersistentStoreError) {
    let found = slotNames._withUnsafeGuaranteedRef { $0.index(of: name, after: slot) }
    guard found >= 0 else {
      throw PersistentStoreError(
        .modelMismatch, "the model's \(model.entity(at: entity).name) does not have a property '\(Self.shown(name))'",
        at: objectPlace)
    }
    slot = found
    guard slots[found].lastSeen != serial else { throw misplaced("occurs twice in the object") }
    slots[found].lastSeen = serial
  }

  override func endAttribute(_ text: UnsafeMutableBufferPointer<UInt8>) throws(PersistentStoreError) {
    do throws(PersistentStoreError) {
      let value = Span(_unsafeElements: Bytes(text))
      switch slots[slot].kind {
      case .string, .uri: try nodes.set(utf8: Span(_unsafeElements: try decoded(text)), slot: slot)
      case .boolean:
        guard text.count == 1, text[0] == UInt8(ascii: "0") || text[0] == UInt8(ascii: "1") else {
          throw wrong(text, "neither 0 nor 1")
        }
        try nodes.set(boolean: text[0] == UInt8(ascii: "1"), slot: slot)
      case .integer:
        guard let number = ExactText.integer(value) else { throw wrong(text, "not a 64-bit integer") }
        try nodes.set(integer: number, slot: slot)
      case .float:
        guard let number = ExactText.float(value) else { throw wrong(text, "not a number") }
        try nodes.set(float: number, slot: slot)
      case .double:
        guard let number = ExactText.double(value) else { throw wrong(text, "not a number") }
        try nodes.set(double: number, slot: slot)
      case .date:
        guard let seconds = DateText.seconds(text) else { throw wrong(text, "not a date in seconds") }
        try nodes.set(dateSeconds: seconds, slot: slot)
      case .decimal: try nodes.set(decimal: value, slot: slot)
      case .uuid:
        guard let uuid = ExactText.uuid(value) else { throw wrong(text, "not a UUID") }
        try nodes.set(uuid: uuid, slot: slot)
      case .data:
        try nodes.set(bytesUpTo: Base64.decodedRoom(text.count), slot: slot) { target throws(PersistentStoreError) in
          do throws(Base64.DecodingError) { return try Base64.decode(value, to: target) } catch {
            throw Self.invalidBase64(error)
          }
        }
      case .undefined: try nodes.set(try undefined(text), slot: slot)
      case .toOne, .toMany: break
      }
    } catch {
      // The parser provides line and column, the builder object and property.
      var placed = error.located(nodes.location(slot))
      placed.location.line = nil
      throw placed
    }
  }

  private func decoded(_ text: UnsafeMutableBufferPointer<UInt8>) throws(PersistentStoreError) -> Bytes {
    do throws(StoreText.Fault) {
      return Bytes(rebasing: text[..<(try StoreText.decode(text))])
    } catch {
      throw PersistentStoreError(.malformed, "\(error.message), at byte \(error.offset) of the text")
    }
  }

  private func decodeBase64(_ text: UnsafeMutableBufferPointer<UInt8>) throws(PersistentStoreError) {
    do throws(Base64.DecodingError) { try Base64.decode(Span(_unsafeElements: Bytes(text)), into: &scratch) } catch {
      throw Self.invalidBase64(error)
    }
  }

  private static func invalidBase64(_ error: Base64.DecodingError) -> PersistentStoreError {
    PersistentStoreError(.malformed, "invalid base64 at byte \(error.offset)")
  }

  /// Reads the value of an attribute without a type in the model.
  private func undefined(_ text: UnsafeMutableBufferPointer<UInt8>) throws(PersistentStoreError) -> StoredValue {
    let value = Span(_unsafeElements: Bytes(text))
    switch valueType.valueKind {
    case .string, .uri:
      let string = String(decoding: try decoded(text), as: UTF8.self)
      return valueType == .uri ? .uri(string) : .string(string)
    case .boolean where text.count == 1 && text[0] & 0xFE == UInt8(ascii: "0"):
      return .boolean(text[0] == UInt8(ascii: "1"))
    case .integer:
      if let number = ExactText.integer(value), valueType.accepts(.integer(number)) { return .integer(number) }
    case .float: if let number = ExactText.float(value) { return .float(number) }
    case .double: if let number = ExactText.double(value) { return .double(number) }
    case .decimal: if let number = DecimalNumber(utf8: value) { return .decimal(number) }
    case .date: if let seconds = DateText.seconds(text) { return .date(Date(timeIntervalSinceReferenceDate: seconds)) }
    case .uuid: if let uuid = ExactText.uuid(value) { return .uuid(uuid) }
    case .data:
      try decodeBase64(text)
      return .data(Data(scratch))
    default: break
    }
    throw wrong(text, "not a valid \(valueType.modelName)")
  }

  // MARK: Relationships

  override func relationship(
    name: Bytes, type: Bytes, destination: Bytes, references: Bytes
  ) throws(PersistentStoreError) {
    try begin(name)
    let plan = slots[slot]
    guard plan.kind == .toOne || plan.kind == .toMany else {
      throw misplaced("is an attribute in the model, but a relationship here", .modelMismatch)
    }
    guard entityNames.index(of: destination, after: plan.destination) == plan.destination else {
      throw misplaced(
        "leads to \(model.entity(at: plan.destination).name) in the model, but to \(Self.shown(destination)) here",
        .modelMismatch)
    }
    var start = plan.kind == .toMany ? try appendNumbers(references, plan.destinationRoot) : 0
    var isFirst = true
    let count = references.count
    while start < count {
      while start < count, references[start] == UInt8(ascii: " ") { start += 1 }
      guard start < count else { break }
      var end = start
      while end < count, references[end] != UInt8(ascii: " ") { end += 1 }
      let identifier = Bytes(rebasing: references[start..<end])
      start = end
      guard isFirst || plan.kind == .toMany else {
        throw misplaced("is a to-one in the model, but refers to several objects")
      }
      isFirst = false
      if let number = ObjectIdentifierText.number(identifier) {
        try use(.plain, of: plan.destinationRoot)
        if plan.kind == .toMany {
          try nodes.append(toMany: number, slot: slot)
        } else {
          try nodes.set(toOne: number, slot: slot)
        }
      } else if let plain = ObjectIdentifierText.plainString(identifier) {
        try refer(to: Span(_unsafeElements: plain), isToMany: plan.kind == .toMany)
      } else if ObjectIdentifierText.decodeString(identifier, into: &identifierText) {
        let text = identifierText
        try refer(to: text.span, isToMany: plan.kind == .toMany)
      } else {
        let reference: ReferenceObject
        do throws(PersistentStoreError) {
          reference = try self.reference(identifier, root: plan.destinationRoot)
        } catch {
          // The object itself can be read: only the reference is left out.
          guard skipsDamagedObjects else { throw error }
          try nodes.skipReference(slot: slot, because: error.located(position))
          continue
        }
        if plan.kind == .toMany {
          try nodes.append(toMany: reference, slot: slot)
        } else {
          try nodes.set(toOne: reference, slot: slot)
        }
      }
    }
  }
}
