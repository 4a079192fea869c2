public import FoundationEssentials

/// The nodes that a format's `load` reads: a row for each node, values by slot, relationships by reference.
///
/// Begin a node, set its slots, begin the next. Slots that are not set are null, to-many relationships empty.
/// References may point forward: the kit resolves them when all nodes are known, and reports the row and property of a
/// reference to an object that does not exist. Slots are those of ``Entity/slots``; look up their numbers once per
/// file. The calls are concrete and take a few nanoseconds per value. Alternatively, fill the columns of an entity as a
/// whole: ``appendRows(entity:references:)``.
///
/// Use a builder only on the thread of the load.
///
/// ```swift
/// let builder = NodeTableBuilder(model: model)
/// try builder.beginNode(entity: entity.index, reference: 1)
/// try builder.set(.string("Ada"), slot: slot.index)
/// let table = try builder.finish()
/// ```
public final class NodeTableBuilder {
  /// The model whose entities and slots are filled.
  public let model: ManagedObjectModel
  /// The file's name for errors, unless the format names a member of the store itself.
  package let file: String?
  /// The limits of the load.
  package let limits: StoreLimits
  /// How many bytes of columns may still be allocated.
  var room: Int
  let roomAtFirst: Int
  /// Whether the columns have taken as much memory as the values may.
  var isCloseToLimit = false
  /// The memory in bytes of what is reported of damaged objects.
  var reportedBytes = 0
  /// The number of rows that there is room for, of all entities: a load cannot have more.
  var roomForRows = 0
  /// What happens to inconsistent relationships.
  package var rules = RelationshipRules()
  package var inverseHandling = InverseHandling.none
  /// The changes that were made because of those rules.
  package internal(set) var notes: [SelectionNote] = []
  /// What was left out because it is damaged.
  package internal(set) var damage: [LoadNote] = []
  /// What is worth knowing of what was read, although nothing was left out or changed.
  package internal(set) var observations: [LoadNote] = []
  /// The references that were removed, by object and property.
  package internal(set) var keptReferences: [String: [String]] = [:]

  struct Building {
    var count = 0
    var capacity = 0
    var slotCount: Int
    /// One for each slot, then the column of references.
    var headers: UnsafeMutablePointer<UnsafeMutablePointer<ColumnHeader>>
    /// Without the strings that ``Slot/Kind`` may contain, to avoid reference counting.
    var kinds: UnsafeMutablePointer<StoredValue.Kind>
    /// The root of each slot's destination; 0 for attributes.
    var roots: UnsafeMutablePointer<Int32>
    var lines: UnsafeMutablePointer<UInt32>?
    var isAbstract: Bool
  }
  // Behind a pointer: each access to a class property is checked for exclusivity, which costs more than the assignment.
  let building: UnsafeMutablePointer<Building>
  let current: UnsafeMutablePointer<Building>
  let state: UnsafeMutablePointer<State>
  struct State {
    /// The number of tables; 0 once the builder is finished.
    var entityCount: Int
    var entity = -1
    var row = -1
    /// Whether there is a graph whose columns may be shared.
    var hasKnown = false
    var scratch: [UInt8] = []
  }
  var tables: [EntityTable]
  /// All strings that refer to objects of a hierarchy, by its root: they are resolved by their numbers.
  let texts: UnsafeMutablePointer<TextMentions>
  /// The rows of an entity with string references, with the number of the mention.
  let textRows: UnsafeMutablePointer<[TextRow]>
  struct TextRow {
    var row: UInt32
    var number: UInt32
  }
  /// Whether string references were filled as a column, or relationships by rows.
  var hasRowReferences = false
  /// Entities whose ``textRows`` are not in the order of rows.
  var unsortedTexts: Set<Int> = []
  /// The files that an entity's rows are in, each from its first row on.
  var members: [[(firstRow: Int, name: String)]]
  /// Integer references in relationships that do not fit in a cell beside its tag.
  var listed: [Int64] = []
  var payloads: [[Int: any Sendable]]
  var deferred: [Set<UInt64>]
  var absent: Set<AbsentColumn> = []
  /// Rows of objects that could not be read.
  var skipped: [Int: Set<Int>] = [:]
  /// The maximum number of threads that work on the load.
  package var jobs = ParallelWork.jobs
  /// The number of bytes of input for which a further thread is worth starting.
  package var leastPart = ParallelWork.leastPart
  var progress: Progress
  /// The number of removed references in the relationship that is being resolved.
  var droppedCount = 0
  /// Whether the system did not have enough memory for the text of a reference: then the load fails.
  var isOutOfMemory = false
  /// A graph whose columns are shared where the file has the same; nil if there is none.
  var known: Known? { didSet { state.pointee.hasKnown = known != nil } }
  /// Whether a column belongs to a table of another model as well.
  var hasSharedColumns = false
  /// The store's model if ``model`` is a part of it; nil if everything is read.
  package var wholeModel: ManagedObjectModel?

  /// Creates a builder of an empty table. The kit does so before a load; create one yourself to test a format.
  ///
  /// ```swift
  /// let builder = NodeTableBuilder(model: model, file: "people.tabbed")
  /// ```
  ///
  /// - Parameters:
  ///   - model: The model whose entities and slots are filled.
  ///   - file: The file name for errors; nil for none.
  ///   - limits: The limits of the load.
  ///   - inputBytes: The size of the input, by which `StoreLimits.memory(forInput:)` limits the memory for values;
  ///     nil for no limit.
  public init(
    model: ManagedObjectModel, file: String? = nil, limits: StoreLimits = StoreLimits(), inputBytes: Int? = nil
  ) {
    self.model = model
    self.file = file
    self.limits = limits
    roomAtFirst = inputBytes.map { limits.memory(forInput: $0) } ?? .max
    room = roomAtFirst
    let tables = model.records.map { EntityTable(slots: $0.slots) }
    self.tables = tables
    progress = Progress(entities: tables.count)
    texts = .allocate(capacity: max(tables.count, 1))
    texts.initialize(repeating: TextMentions(), count: tables.count)
    textRows = .allocate(capacity: max(tables.count, 1))
    textRows.initialize(repeating: [], count: tables.count)
    members = Array(repeating: [], count: tables.count)
    payloads = Array(repeating: [:], count: tables.count)
    deferred = Array(repeating: [], count: tables.count)
    building = .allocate(capacity: max(tables.count, 1))
    current = .allocate(capacity: 1)
    state = .allocate(capacity: 1)
    state.initialize(to: State(entityCount: tables.count))
    for (index, table) in tables.enumerated() {
      let slots = model.records[index].slots
      let headers = UnsafeMutablePointer<UnsafeMutablePointer<ColumnHeader>>.allocate(capacity: slots.count + 1)
      let kinds = UnsafeMutablePointer<StoredValue.Kind>.allocate(capacity: max(slots.count, 1))
      let roots = UnsafeMutablePointer<Int32>.allocate(capacity: max(slots.count, 1))
      for slot in slots {
        (kinds + slot.index).initialize(to: slot.valueKind)
        (roots + slot.index).initialize(
          to: Int32(truncatingIfNeeded: slot.destination.map { model.records[$0].root } ?? 0))
      }
      Self.point(headers, to: table)
      (building + index).initialize(
        to: Building(
          slotCount: slots.count, headers: headers, kinds: kinds, roots: roots, lines: nil,
          isAbstract: model.records[index].description.isAbstract))
    }
  }

  static func point(_ headers: UnsafeMutablePointer<UnsafeMutablePointer<ColumnHeader>>, to table: EntityTable) {
    for (index, column) in table.columns.enumerated() { (headers + index).initialize(to: column.header) }
    (headers + table.columns.count).initialize(to: table.referenceNumbers.header)
  }

  /// Removes everything, so that a load can start again, for example if a format's fast path turns out not to apply to
  /// the file.
  public func removeAll() {
    let hasMuch = tables.indices.contains { building[$0].count > 1 << 12 }
    for index in tables.indices {
      tables[index] = EntityTable(slots: model.records[index].slots)
      let entry = building + index
      Self.point(entry.pointee.headers, to: tables[index])
      entry.pointee.count = 0
      entry.pointee.capacity = 0
      entry.pointee.lines?.deallocate()
      entry.pointee.lines = nil
      texts[index] = TextMentions()
      textRows[index] = []
      members[index] = []
      payloads[index] = [:]
      deferred[index] = []
    }
    (listed, unsortedTexts) = ([], [])
    hasRowReferences = false
    (room, isCloseToLimit, reportedBytes) = (roomAtFirst, false, 0)
    roomForRows = 0
    (absent, skipped) = ([], [:])
    (damage, observations) = ([], [])
    known = known.map {
      Known(
        tables: $0.tables, lookups: $0.lookups, hasReferences: $0.hasReferences.map { _ in false },
        endsAgree: $0.endsAgree)
    }
    state.pointee.entity = -1
    state.pointee.row = -1
    progress = Progress(entities: tables.count)
    // What follows may be as large, and does not always fit in the places of what was there.
    if hasMuch { PagedMemory.trimAll() }
  }

  deinit {
    // From the model: a finished builder has no tables.
    for index in model.records.indices {
      let entry = building + index
      entry.pointee.headers.deallocate()
      entry.pointee.kinds.deallocate()
      entry.pointee.roots.deallocate()
      entry.pointee.lines?.deallocate()
    }
    texts.deinitialize(count: model.records.count)
    texts.deallocate()
    textRows.deinitialize(count: model.records.count)
    textRows.deallocate()
    building.deinitialize(count: model.records.count)
    building.deallocate()
    current.deallocate()
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// The number of nodes of that entity so far.
  public func count(of entity: Int) -> Int { tables.indices.contains(entity) ? building[entity].count : 0 }

  /// Sets the name of the file, in a store that is a directory, that contains the rows of an entity that follow, for
  /// errors: `StoreSource.displayName(ofMember:)`.
  public func setMember(_ name: String, entity: Int) {
    if let last = members[entity].last, ScalarString(last.name) == ScalarString(name) { return }
    let row = building[entity].count
    if members[entity].last?.firstRow == row { members[entity].removeLast() }
    members[entity].append((row, name))
  }

  // MARK: Nodes

  /// Begins a node with an integer reference. `line` is its line in the file, or 0.
  ///
  /// - Throws: `.invalidValue` for an abstract entity, `.limitExceeded` for more than 2^31 rows.
  public func beginNode(entity: Int, reference: Int64, line: Int = 0) throws(PersistentStoreError) {
    try beginRow(entity, line)
    let entry = building + entity
    entry.pointee.headers[entry.pointee.slotCount].pointee.setPresent(state.pointee.row, reference)
  }

  /// Begins a node with any reference.
  public func beginNode(entity: Int, reference: ReferenceObject, line: Int = 0) throws(PersistentStoreError) {
    switch reference {
    case .integer(let number): try beginNode(entity: entity, reference: number, line: line)
    case .string(let text):
      try beginRow(entity, line)
      text.withBytes { noteText($0, entity, state.pointee.row) }
    }
  }

  /// Begins a node with a string reference, from its UTF-8.
  ///
  /// - Throws: As for an integer; `.invalidValue` if the bytes are not UTF-8.
  public func beginNode(entity: Int, utf8 reference: Span<UInt8>, line: Int = 0) throws(PersistentStoreError) {
    guard Self.isUTF8(reference) else {
      throw Self.notUTF8(StoreLocation(file: file(of: entity), line: line > 0 ? line : nil))
    }
    try beginRow(entity, line)
    reference.withUnsafeBufferPointer { noteText($0, entity, state.pointee.row) }
  }

  @inline(__always) func beginRow(_ entity: Int, _ line: Int) throws(PersistentStoreError) {
    precondition(entity >= 0 && entity < state.pointee.entityCount, "the entity does not exist")
    let entry = building + entity
    let row = entry.pointee.count
    if row >= entry.pointee.capacity { try grow(entity, to: probableRows(entity, row), adding: 1) }
    if line > 0 || entry.pointee.lines != nil { noteLine(entry, row, line) }
    entry.pointee.count = row + 1
    state.pointee.entity = entity
    state.pointee.row = row
    // A copy of the entity's pointers is stored in the builder itself, so that a setter needs one load fewer.
    current.initialize(to: entry.pointee)
  }

  func grow(_ entity: Int, to rows: Int, adding more: Int) throws(PersistentStoreError) {
    let entry = building + entity
    try checkRows(entity, rows: rows, adding: more)
    // The columns of values grow when a row beyond their end has a value.
    try ownColumn(entity, entry.pointee.slotCount, rows: rows, row: nil)
    if let lines = entry.pointee.lines {
      let bigger = UnsafeMutablePointer<UInt32>.allocate(capacity: rows)
      bigger.initialize(repeating: 0, count: rows)
      bigger.update(from: lines, count: entry.pointee.count)
      lines.deallocate()
      entry.pointee.lines = bigger
    }
    entry.pointee.capacity = rows
  }

  func noteLine(_ entry: UnsafeMutablePointer<Building>, _ row: Int, _ line: Int) {
    if entry.pointee.lines == nil {
      let lines = UnsafeMutablePointer<UInt32>.allocate(capacity: entry.pointee.capacity)
      lines.initialize(repeating: 0, count: entry.pointee.capacity)
      entry.pointee.lines = lines
    }
    entry.pointee.lines?[row] = UInt32(clamping: line)
  }

  // MARK: Values of the node begun last

  /// The column of a slot, with room for the current row.
  @inline(__always) func column(_ slot: Int) throws(PersistentStoreError) -> UnsafeMutablePointer<ColumnHeader> {
    precondition(
      state.pointee.row >= 0 && slot >= 0 && slot < current.pointee.slotCount,
      "there is no current node, or the slot does not exist")
    let header = current.pointee.headers[slot]
    if state.pointee.row >= header.pointee.capacity { return try grownColumn(slot) }
    return header
  }

  /// Sets an integer of any width.
  ///
  /// - Throws: `.invalidValue` if it is out of the attribute's range, or the attribute is not of an integer type.
  public func set(integer value: Int64, slot: Int) throws(PersistentStoreError) {
    let header = try column(slot)
    let row = state.pointee.row
    switch header.pointee.layout {
    case .integer64: header.pointee.setPresent(row, value)
    case .integer32:
      guard let narrow = Int32(exactly: value) else { throw misfit(.integer(value), slot) }
      header.pointee.setPresent(row, narrow)
    case .integer16:
      guard let narrow = Int16(exactly: value) else { throw misfit(.integer(value), slot) }
      header.pointee.setPresent(row, narrow)
    default: return try set(.integer(value), slot: slot)
    }
  }

  /// Sets a boolean.
  ///
  /// - Throws: `.invalidValue` if the attribute is of another type.
  public func set(boolean value: Bool, slot: Int) throws(PersistentStoreError) {
    let header = try column(slot)
    guard header.pointee.layout == .boolean else { return try set(.boolean(value), slot: slot) }
    header.pointee.setPresent(state.pointee.row, value ? 1 as UInt8 : 0)
  }

  /// Sets a float, to the bit.
  ///
  /// - Throws: `.invalidValue` if the attribute is of another type.
  public func set(float value: Float, slot: Int) throws(PersistentStoreError) {
    let header = try column(slot)
    guard header.pointee.layout == .float else { return try set(.float(value), slot: slot) }
    header.pointee.setPresent(state.pointee.row, value.bitPattern)
  }

  /// Sets a double, to the bit.
  ///
  /// - Throws: `.invalidValue` if the attribute is of another type.
  public func set(double value: Double, slot: Int) throws(PersistentStoreError) {
    let header = try column(slot)
    guard current.pointee.kinds[slot] == .double else { return try set(.double(value), slot: slot) }
    header.pointee.setPresent(state.pointee.row, value.bitPattern)
  }

  /// Sets a date, in seconds since 2001-01-01T00:00:00Z.
  public func set(dateSeconds value: Double, slot: Int) throws(PersistentStoreError) {
    let header = try column(slot)
    guard current.pointee.kinds[slot] == .date else {
      return try set(.date(Date(timeIntervalSinceReferenceDate: value)), slot: slot)
    }
    header.pointee.setPresent(state.pointee.row, value.bitPattern)
  }

  /// Sets a UUID.
  ///
  /// - Throws: `.invalidValue` if the attribute is of another type.
  public func set(uuid value: UUID, slot: Int) throws(PersistentStoreError) { try set(.uuid(value), slot: slot) }

  /// Sets a string or a URI from its UTF-8.
  ///
  /// - Throws: `.invalidValue` if the bytes are not UTF-8, or the attribute is of another type.
  public func set(utf8 bytes: Span<UInt8>, slot: Int) throws(PersistentStoreError) {
    let header = try column(slot)
    guard current.pointee.kinds[slot].isText else { throw misfit(.string("text"), slot) }
    guard Self.isUTF8(bytes) else {
      throw PersistentStoreError(.invalidValue, "the string is not UTF-8", at: location(slot))
    }
    guard try store(bytes, header) else { throw .columnFull(location(slot)) }
  }

  /// Sets binary data or a transformable's bytes.
  public func set(bytes: Span<UInt8>, slot: Int) throws(PersistentStoreError) {
    let header = try column(slot)
    guard current.pointee.kinds[slot] == .data else { throw misfit(.data(Data()), slot) }
    guard try store(bytes, header) else { throw .columnFull(location(slot)) }
  }

  /// Sets a decimal from its text, as ``DecimalNumber/init(utf8:)`` parses it.
  ///
  /// - Throws: `.invalidValue` if it is not a decimal number, or cannot be represented in 128 bits.
  public func set(decimal text: Span<UInt8>, slot: Int) throws(PersistentStoreError) {
    let header = try column(slot)
    guard current.pointee.kinds[slot] == .decimal else { throw misfit(.decimal(.nan), slot) }
    if Self.isPlainDecimal(text) {
      guard try store(text, header) else { throw .columnFull(location(slot)) }
      return
    }
    guard let value = DecimalNumber(utf8: text) else {
      let shown = String(decoding: (0..<min(text.count, 60)).map { text[$0] }, as: UTF8.self)
      throw PersistentStoreError(.invalidValue, "'\(shown)' is not a decimal number", at: location(slot))
    }
    state.pointee.scratch.removeAll(keepingCapacity: true)
    value.append(to: &state.pointee.scratch)
    try reserve(state.pointee.scratch.count, header)
    let stored = state.pointee.scratch.withUnsafeBytes {
      header.pointee.setBytes(state.pointee.row, $0.baseAddress, count: $0.count)
    }
    guard stored else { throw .columnFull(location(slot)) }
  }

  /// Sets the value of any attribute or relationship. Slower than the typed setters.
  public func set(_ value: StoredValue, slot: Int) throws(PersistentStoreError) {
    // Columns have no room for rows without a value.
    if case .null = value, state.pointee.row >= 0, slot >= 0, slot < current.pointee.slotCount,
      state.pointee.row >= current.pointee.headers[slot].pointee.capacity
    {
      let header = current.pointee.headers[slot]
      if header.pointee.sparse != nil { header.pointee.setNull(state.pointee.row) }
      return
    }
    let header = try column(slot)
    switch kind(slot) {
    case .attribute(let type):
      guard type.accepts(value) else { throw misfit(value, slot) }
      let before = header.pointee.heapCapacity
      guard header.pointee.store(value, row: state.pointee.row, type: type) else { throw .columnFull(location(slot)) }
      if header.pointee.heapCapacity != before { try take(header.pointee.heapCapacity - before) }
    case .toOne:
      switch value {
      case .null: header.pointee.setNull(state.pointee.row)
      case .toOne(let reference): try set(toOne: reference.reference, slot: slot)
      default: throw misfit(value, slot)
      }
    case .toMany:
      switch value {
      case .null: header.pointee.setNull(state.pointee.row)
      case .toMany(let references):
        for reference in references { try append(toMany: reference.reference, slot: slot) }
      default: throw misfit(value, slot)
      }
    }
  }

  // MARK: Relationships

  /// Sets a to-one by the reference of its destination, which may follow later in the file.
  public func set(toOne reference: Int64, slot: Int) throws(PersistentStoreError) {
    let header = try column(slot)
    guard header.pointee.layout == .toOne else { throw wrongCardinality(slot, "to-one") }
    header.pointee.setCell(state.pointee.row, encode(reference))
  }
  /// Sets a to-one by the reference of its destination, which may be an integer or a string, and may follow later in
  /// the file.
  public func set(toOne reference: ReferenceObject, slot: Int) throws(PersistentStoreError) {
    let header = try column(slot)
    guard header.pointee.layout == .toOne else { throw wrongCardinality(slot, "to-one") }
    header.pointee.setCell(state.pointee.row, encode(reference, slot))
  }
  /// Sets a to-one by the string reference of its destination, as UTF-8.
  ///
  /// - Throws: `.invalidValue` if the bytes are not UTF-8.
  public func set(toOneUTF8 reference: Span<UInt8>, slot: Int) throws(PersistentStoreError) {
    let header = try column(slot)
    guard header.pointee.layout == .toOne else { throw wrongCardinality(slot, "to-one") }
    header.pointee.setCell(state.pointee.row, try encode(reference, slot))
  }
  /// Adds an object to a to-many; for an ordered relationship, the order of calls is the order of objects.
  public func append(toMany reference: Int64, slot: Int) throws(PersistentStoreError) {
    let header = try column(slot)
    guard header.pointee.layout == .toMany else { throw wrongCardinality(slot, "to-many") }
    let before = header.pointee.heapCapacity
    guard header.pointee.appendHandle(state.pointee.row, encode(reference)) else { throw .columnFull(location(slot)) }
    if header.pointee.heapCapacity != before { try take((header.pointee.heapCapacity - before) * 8) }
  }
  /// Adds an object to a to-many, by an integer or string reference; for an ordered relationship, the order of calls is
  /// the order of objects.
  public func append(toMany reference: ReferenceObject, slot: Int) throws(PersistentStoreError) {
    let header = try column(slot)
    guard header.pointee.layout == .toMany else { throw wrongCardinality(slot, "to-many") }
    try append(encode(reference, slot), header, slot)
  }
  /// Adds an object to a to-many by its string reference, as UTF-8.
  ///
  /// - Throws: `.invalidValue` if the bytes are not UTF-8.
  public func append(toManyUTF8 reference: Span<UInt8>, slot: Int) throws(PersistentStoreError) {
    let header = try column(slot)
    guard header.pointee.layout == .toMany else { throw wrongCardinality(slot, "to-many") }
    try append(try encode(reference, slot), header, slot)
  }

  func append(
    _ bits: UInt64, _ header: UnsafeMutablePointer<ColumnHeader>, _ slot: Int
  ) throws(PersistentStoreError) {
    let before = header.pointee.heapCapacity
    guard header.pointee.appendHandle(state.pointee.row, bits) else { throw .columnFull(location(slot)) }
    if header.pointee.heapCapacity != before { try take((header.pointee.heapCapacity - before) * 8) }
  }

  // MARK: Helpers

  func kind(_ slot: Int) -> Slot.Kind { model.records[state.pointee.entity].slots[slot].kind }

  @inline(__always)
  func store(_ bytes: Span<UInt8>, _ header: UnsafeMutablePointer<ColumnHeader>) throws(PersistentStoreError) -> Bool {
    try reserve(bytes.count, header)
    return bytes.withUnsafeBufferPointer {
      header.pointee.setBytes(state.pointee.row, UnsafeRawPointer($0.baseAddress), count: $0.count)
    }
  }
}
