public import FoundationEssentials

/// What a format's `load` fills: a row for each node, values by slot, relationships by reference.
///
/// Begin a node, set its slots, begin the next; slots that are not set are null, to-many relationships empty.
/// References may point forward: the kit resolves them when all nodes are there, and says which row and property
/// names an object that does not exist. Slots are those of ``Entity/slots``; look their numbers up once per file.
/// The calls are concrete and cheap, a few nanoseconds a value. Or fill an entity's columns whole: ``appendRows``.
///
/// A builder belongs to one thread, that of the load.
public final class NodeTableBuilder {
  public let model: ManagedObjectModel
  /// The file's name for errors, unless the format names a member itself.
  public let file: String?
  /// What a load is refused beyond.
  package let limits: StoreLimits

  private struct Building {
    var count = 0
    var capacity = 0
    var slotCount: Int
    /// One for each slot, then the references' column.
    var headers: UnsafeMutablePointer<UnsafeMutablePointer<ColumnHeader>>
    var classes: UnsafeMutablePointer<ValueClass>
    var lines: UnsafeMutablePointer<UInt32>?
    var isAbstract: Bool
  }
  /// What a slot takes, without the strings that ``Slot/Kind`` may hold: asking must not count references.
  private enum ValueClass: UInt8 {
    case text, bytes, decimal, undefined, double, date, other
    init(_ kind: Slot.Kind) {
      self =
        switch kind {
        case .attribute(.string), .attribute(.uri): .text
        case .attribute(.binaryData), .attribute(.transformable): .bytes
        case .attribute(.decimal): .decimal
        case .attribute(.undefined): .undefined
        case .attribute(.double): .double
        case .attribute(.date): .date
        default: .other
        }
    }
  }
  // Kept behind a pointer: properties of a class are checked for exclusive access at every touch, which costs more
  // than the stores themselves.
  private let building: UnsafeMutablePointer<Building>
  private let current: UnsafeMutablePointer<Building>
  private let state: UnsafeMutablePointer<State>
  private struct State {
    var entity = -1
    var row = -1
    var scratch: [UInt8] = []
  }
  private var tables: [EntityTable]
  private var texts: [[(row: Int, text: String)]]
  private var members: [String?]
  private var listed: [ReferenceObject] = []
  private var listIndex: [ReferenceObject: Int] = [:]
  private var payloads: [[Int: any Sendable]]
  private var deferred: [Set<UInt64>]

  /// An empty table's builder. `file` names the source in errors.
  public init(model: ManagedObjectModel, file: String? = nil, limits: StoreLimits = StoreLimits()) {
    self.model = model
    self.file = file
    self.limits = limits
    let tables = model.records.map { EntityTable(slots: $0.slots) }
    self.tables = tables
    texts = Array(repeating: [], count: tables.count)
    members = Array(repeating: nil, count: tables.count)
    payloads = Array(repeating: [:], count: tables.count)
    deferred = Array(repeating: [], count: tables.count)
    building = .allocate(capacity: max(tables.count, 1))
    current = .allocate(capacity: 1)
    state = .allocate(capacity: 1)
    state.initialize(to: State())
    for (index, table) in tables.enumerated() {
      let slots = model.records[index].slots
      let headers = UnsafeMutablePointer<UnsafeMutablePointer<ColumnHeader>>.allocate(capacity: slots.count + 1)
      let classes = UnsafeMutablePointer<ValueClass>.allocate(capacity: max(slots.count, 1))
      for slot in slots { (classes + slot.index).initialize(to: ValueClass(slot.kind)) }
      Self.point(headers, to: table)
      (building + index).initialize(
        to: Building(
          slotCount: slots.count, headers: headers, classes: classes, lines: nil,
          isAbstract: model.records[index].description.isAbstract))
    }
  }

  private static func point(_ headers: UnsafeMutablePointer<UnsafeMutablePointer<ColumnHeader>>, to table: EntityTable) {
    for (index, column) in table.columns.enumerated() { (headers + index).initialize(to: column.header) }
    (headers + table.columns.count).initialize(to: table.referenceNumbers.header)
  }

  /// Forgets everything it was told, so that a load may start again: a format that tried a quick way and found that
  /// the file is not for it takes the other way with this.
  public func removeAll() {
    for index in tables.indices {
      tables[index] = EntityTable(slots: model.records[index].slots)
      let entry = building + index
      Self.point(entry.pointee.headers, to: tables[index])
      entry.pointee.count = 0
      entry.pointee.capacity = 0
      entry.pointee.lines?.deallocate()
      entry.pointee.lines = nil
      texts[index] = []
      members[index] = nil
      payloads[index] = [:]
      deferred[index] = []
    }
    listed = []
    listIndex = [:]
    state.pointee.entity = -1
    state.pointee.row = -1
  }

  deinit {
    for index in tables.indices {
      let entry = building + index
      entry.pointee.headers.deallocate()
      entry.pointee.classes.deallocate()
      entry.pointee.lines?.deallocate()
    }
    building.deinitialize(count: tables.count)
    building.deallocate()
    current.deallocate()
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// How many nodes of that entity there are so far.
  public func count(of entity: Int) -> Int { tables.indices.contains(entity) ? building[entity].count : 0 }

  /// Names the member file that an entity's rows come from, for errors.
  public func setMember(_ name: String, entity: Int) { members[entity] = name }

  // MARK: Nodes

  /// Begins a node with an integer reference. `line` is where it stands in the file, or 0.
  ///
  /// - Throws: `.invalidValue` for an abstract entity, `.limitExceeded` past 2^31 rows.
  public func beginNode(entity: Int, reference: Int64, line: Int = 0) throws(PersistentStoreError) {
    try beginRow(entity, line)
    let entry = building + entity
    let header = entry.pointee.headers[entry.pointee.slotCount]
    header.pointee.setCell(state.pointee.row, reference)
    header.pointee.markPresent(state.pointee.row)
  }

  /// Begins a node with any reference.
  public func beginNode(entity: Int, reference: ReferenceObject, line: Int = 0) throws(PersistentStoreError) {
    switch reference {
    case .integer(let number): try beginNode(entity: entity, reference: number, line: line)
    case .string(let text):
      try beginRow(entity, line)
      texts[entity].append((state.pointee.row, text))
    }
  }

  @inline(__always) private func beginRow(_ entity: Int, _ line: Int) throws(PersistentStoreError) {
    precondition(entity >= 0 && entity < tables.count, "no such entity")
    let entry = building + entity
    let row = entry.pointee.count
    if row >= entry.pointee.capacity { try grow(entity, to: max(row + row / 2, 64), adding: 1) }
    if line > 0 || entry.pointee.lines != nil { noteLine(entry, row, line) }
    entry.pointee.count = row + 1
    state.pointee.entity = entity
    state.pointee.row = row
    // A copy of the entity's pointers stands at a fixed place, so that a setter needs one load fewer.
    current.initialize(to: entry.pointee)
  }

  private func grow(_ entity: Int, to rows: Int, adding more: Int) throws(PersistentStoreError) {
    let entry = building + entity
    let name = model.records[entity].description.name
    guard !entry.pointee.isAbstract else {
      throw PersistentStoreError(
        .invalidValue, "\(name) is abstract and has no objects", at: StoreLocation(file: file, entity: name))
    }
    guard rows < Int(Int32.max) else {
      throw PersistentStoreError(.limitExceeded, "more than 2^31 objects of \(name)", at: StoreLocation(file: file))
    }
    // Room is made for many at a time: the last ones over the limit are found when all are there.
    try checkCount(adding: more)
    for slot in 0...entry.pointee.slotCount { entry.pointee.headers[slot].pointee.grow(to: rows) }
    if let lines = entry.pointee.lines {
      let bigger = UnsafeMutablePointer<UInt32>.allocate(capacity: rows)
      bigger.initialize(repeating: 0, count: rows)
      bigger.update(from: lines, count: entry.pointee.count)
      lines.deallocate()
      entry.pointee.lines = bigger
    }
    entry.pointee.capacity = rows
  }

  /// - Throws: `.limitExceeded` for more objects than there may be, with so many to come.
  private func checkCount(adding more: Int) throws(PersistentStoreError) {
    let count = tables.indices.reduce(more) { $0 + building[$1].count }
    guard count <= limits.objects else {
      throw limits.exceeded("maximumObjects", limits.objects, "there are \(count) objects", at: StoreLocation(file: file))
    }
  }

  private func noteLine(_ entry: UnsafeMutablePointer<Building>, _ row: Int, _ line: Int) {
    if entry.pointee.lines == nil {
      let lines = UnsafeMutablePointer<UInt32>.allocate(capacity: entry.pointee.capacity)
      lines.initialize(repeating: 0, count: entry.pointee.capacity)
      entry.pointee.lines = lines
    }
    entry.pointee.lines?[row] = UInt32(clamping: line)
  }

  // MARK: Values of the node begun last

  @inline(__always) private func column(_ slot: Int) -> UnsafeMutablePointer<ColumnHeader> {
    precondition(state.pointee.row >= 0 && slot >= 0 && slot < current.pointee.slotCount, "no node begun, or no such slot")
    return current.pointee.headers[slot]
  }

  /// Sets an integer of any width.
  ///
  /// - Throws: `.invalidValue` where it does not fit the attribute, or the attribute holds no integers.
  public func set(integer value: Int64, slot: Int) throws(PersistentStoreError) {
    let header = column(slot)
    let row = state.pointee.row
    switch header.pointee.layout {
    case .integer64: header.pointee.setCell(row, value)
    case .integer32:
      guard let narrow = Int32(exactly: value) else { throw misfit(.integer(value), slot) }
      header.pointee.setCell(row, narrow)
    case .integer16:
      guard let narrow = Int16(exactly: value) else { throw misfit(.integer(value), slot) }
      header.pointee.setCell(row, narrow)
    default: return try set(.integer(value), slot: slot)
    }
    header.pointee.markPresent(row)
  }

  public func set(boolean value: Bool, slot: Int) throws(PersistentStoreError) {
    let header = column(slot)
    guard header.pointee.layout == .boolean else { return try set(.boolean(value), slot: slot) }
    header.pointee.setCell(state.pointee.row, value ? 1 as UInt8 : 0)
    header.pointee.markPresent(state.pointee.row)
  }

  public func set(float value: Float, slot: Int) throws(PersistentStoreError) {
    let header = column(slot)
    guard header.pointee.layout == .float else { return try set(.float(value), slot: slot) }
    header.pointee.setCell(state.pointee.row, value.bitPattern)
    header.pointee.markPresent(state.pointee.row)
  }

  public func set(double value: Double, slot: Int) throws(PersistentStoreError) {
    let header = column(slot)
    guard current.pointee.classes[slot] == .double else { return try set(.double(value), slot: slot) }
    header.pointee.setCell(state.pointee.row, value.bitPattern)
    header.pointee.markPresent(state.pointee.row)
  }

  /// Sets a date, in seconds since 2001-01-01T00:00:00Z.
  public func set(dateSeconds value: Double, slot: Int) throws(PersistentStoreError) {
    let header = column(slot)
    guard current.pointee.classes[slot] == .date else {
      return try set(.date(Date(timeIntervalSinceReferenceDate: value)), slot: slot)
    }
    header.pointee.setCell(state.pointee.row, value.bitPattern)
    header.pointee.markPresent(state.pointee.row)
  }

  public func set(uuid value: UUID, slot: Int) throws(PersistentStoreError) { try set(.uuid(value), slot: slot) }

  /// Sets a string or a URI from its UTF-8.
  ///
  /// - Throws: `.invalidValue` where the bytes are not UTF-8 or the attribute is neither.
  public func set(utf8 bytes: Span<UInt8>, slot: Int) throws(PersistentStoreError) {
    let header = column(slot)
    guard current.pointee.classes[slot] == .text else { throw misfit(.string("text"), slot) }
    guard Self.isUTF8(bytes) else {
      throw PersistentStoreError(.invalidValue, "the text is not UTF-8", at: location(slot))
    }
    guard store(bytes, header) else { throw .columnFull(location(slot)) }
  }

  /// Sets binary data or a transformable's bytes.
  public func set(bytes: Span<UInt8>, slot: Int) throws(PersistentStoreError) {
    let header = column(slot)
    guard current.pointee.classes[slot] == .bytes else { throw misfit(.data(Data()), slot) }
    guard store(bytes, header) else { throw .columnFull(location(slot)) }
  }

  /// Sets a decimal from its text, as ``DecimalNumber/init(utf8:)`` reads it.
  ///
  /// - Throws: `.invalidValue` where it is no decimal, or not one that 128 bits hold.
  public func set(decimal text: Span<UInt8>, slot: Int) throws(PersistentStoreError) {
    let header = column(slot)
    guard current.pointee.classes[slot] == .decimal else { throw misfit(.decimal(.nan), slot) }
    if Self.isPlainDecimal(text) {
      guard store(text, header) else { throw .columnFull(location(slot)) }
      return
    }
    guard let value = DecimalNumber(utf8: text) else {
      let shown = String(decoding: (0..<min(text.count, 60)).map { text[$0] }, as: UTF8.self)
      throw PersistentStoreError(.invalidValue, "'\(shown)' is not a decimal number", at: location(slot))
    }
    state.pointee.scratch.removeAll(keepingCapacity: true)
    value.append(to: &state.pointee.scratch)
    let stored = state.pointee.scratch.withUnsafeBytes {
      header.pointee.setBytes(state.pointee.row, $0.baseAddress, count: $0.count)
    }
    guard stored else { throw .columnFull(location(slot)) }
  }

  /// Sets any attribute's or relationship's value. Convenient, and slower than the typed setters.
  public func set(_ value: StoredValue, slot: Int) throws(PersistentStoreError) {
    let header = column(slot)
    switch kind(slot) {
    case .attribute(let type):
      guard type.accepts(value) else { throw misfit(value, slot) }
      guard header.pointee.store(value, row: state.pointee.row, type: type) else { throw .columnFull(location(slot)) }
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

  /// Sets a to-one by the reference of its destination, which may come later in the file.
  public func set(toOne reference: Int64, slot: Int) throws(PersistentStoreError) {
    let header = column(slot)
    guard header.pointee.layout == .toOne else { throw wrongCardinality(slot, "to-one") }
    header.pointee.setCell(state.pointee.row, encode(reference))
  }
  public func set(toOne reference: ReferenceObject, slot: Int) throws(PersistentStoreError) {
    let header = column(slot)
    guard header.pointee.layout == .toOne else { throw wrongCardinality(slot, "to-one") }
    header.pointee.setCell(state.pointee.row, encode(reference))
  }
  /// Adds an object to a to-many; in an ordered one the calls' order is the order.
  public func append(toMany reference: Int64, slot: Int) throws(PersistentStoreError) {
    let header = column(slot)
    guard header.pointee.layout == .toMany else { throw wrongCardinality(slot, "to-many") }
    guard header.pointee.appendHandle(state.pointee.row, encode(reference)) else { throw .columnFull(location(slot)) }
  }
  public func append(toMany reference: ReferenceObject, slot: Int) throws(PersistentStoreError) {
    let header = column(slot)
    guard header.pointee.layout == .toMany else { throw wrongCardinality(slot, "to-many") }
    guard header.pointee.appendHandle(state.pointee.row, encode(reference)) else { throw .columnFull(location(slot)) }
  }

  // MARK: More of a node

  /// Hangs something of the format's own on the node begun last.
  public func attach(_ payload: any Sendable) {
    guard state.pointee.row >= 0 else { return }
    payloads[state.pointee.entity][state.pointee.row] = payload
  }

  /// Leaves an attribute of the node begun last to be asked for on its first read: see `AtomicStore.value(slot:of:in:)`.
  public func `defer`(slot: Int) {
    guard state.pointee.row >= 0 else { return }
    deferred[state.pointee.entity].insert(EntityTable.deferredKey(slot: slot, row: state.pointee.row))
  }

  /// The place of the node begun last, for a format's own errors.
  public func location(_ slot: Int? = nil) -> StoreLocation {
    guard state.pointee.row >= 0 else { return StoreLocation(file: file) }
    return location(entity: state.pointee.entity, row: state.pointee.row, slot: slot)
  }

  /// What a slot of the node begun last holds, in words, for a format's own errors: `Integer 16`.
  public func typeName(slot: Int) -> String {
    guard state.pointee.entity >= 0 else { return "value" }
    return model.records[state.pointee.entity].slots[slot].attributeType?.modelName ?? "reference"
  }

  // MARK: Helpers

  private func kind(_ slot: Int) -> Slot.Kind { model.records[state.pointee.entity].slots[slot].kind }

  @inline(__always) private func store(_ bytes: Span<UInt8>, _ header: UnsafeMutablePointer<ColumnHeader>) -> Bool {
    bytes.withUnsafeBufferPointer {
      header.pointee.setBytes(state.pointee.row, UnsafeRawPointer($0.baseAddress), count: $0.count)
    }
  }

  private func misfit(_ value: StoredValue, _ slot: Int) -> PersistentStoreError {
    if case .attribute(let type) = kind(slot) {
      return .unacceptable(value, for: type, at: location(slot))
    }
    return PersistentStoreError(.invalidValue, "a relationship takes no \(value.kindDescription)", at: location(slot))
  }

  private func wrongCardinality(_ slot: Int, _ asked: String) -> PersistentStoreError {
    PersistentStoreError(.invalidValue, "the property is not a \(asked) relationship", at: location(slot))
  }

  @inline(__always) private func encode(_ reference: Int64) -> UInt64 {
    if let cell = RawReference.encode(reference) { return cell }
    return encodeListed(.integer(reference))
  }
  private func encode(_ reference: ReferenceObject) -> UInt64 {
    if case .integer(let number) = reference { return encode(number) }
    return encodeListed(reference)
  }
  private func encodeListed(_ reference: ReferenceObject) -> UInt64 {
    if let index = listIndex[reference] { return RawReference.listTag | UInt64(index) }
    listed.append(reference)
    listIndex[reference] = listed.count - 1
    return RawReference.listTag | UInt64(listed.count - 1)
  }

  private func location(entity: Int, row: Int, slot: Int?) -> StoreLocation {
    let record = model.records[entity]
    let line = building[entity].lines.map { Int($0[row]) } ?? 0
    let text = texts[entity].last(where: { $0.row == row })?.text
    let number = tables[entity].referenceNumbers.header.pointee
    let reference = text ?? (row < number.capacity ? String(number.cell(row, as: Int64.self)) : nil)
    return StoreLocation(
      file: members[entity] ?? file, line: line > 0 ? line : nil, entity: record.description.name,
      reference: reference, property: slot.map { record.slots[$0].name })
  }

  /// Digits with at most one point between them, as ``DecimalNumber`` itself would write them, and few enough to fit.
  private static func isPlainDecimal(_ text: Span<UInt8>) -> Bool {
    var index = 0
    let count = text.count
    guard count > 0, count <= 36 else { return false }
    if text[0] == 0x2D { index = 1 }
    guard index < count, text[index] >= 0x30, text[index] <= 0x39 else { return false }
    // A leading zero is canonical only before a point, and zero has no sign.
    if text[index] == 0x30 {
      if count == 1 { return true }
      guard index + 1 < count, text[index + 1] == 0x2E, index == 0 else { return false }
    }
    var points = 0
    while index < count {
      let byte = text[index]
      if byte == 0x2E { points += 1 } else if byte < 0x30 || byte > 0x39 { return false }
      index += 1
    }
    return points <= 1 && text[count - 1] != 0x2E
  }

  /// Whether the bytes are UTF-8: eight at a time while they are ASCII.
  static func isUTF8(_ bytes: Span<UInt8>) -> Bool {
    bytes.withUnsafeBufferPointer { buffer in
      guard let base = UnsafeRawPointer(buffer.baseAddress) else { return true }
      var index = 0
      let count = buffer.count
      while index + 8 <= count {
        guard base.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 else { break }
        index += 8
      }
      while index < count, buffer[index] < 0x80 { index += 1 }
      if index == count { return true }
      let rest = UnsafeBufferPointer(rebasing: buffer[index...])
      return (try? UTF8Span(validating: Span(_unsafeElements: rest))) != nil
    }
  }
}

// MARK: - Whole columns

extension NodeTableBuilder {
  /// Adds as many rows as there are references to an entity that has none yet. Their values come by column.
  ///
  /// - Throws: `.invalidValue` for an abstract entity or one with rows already.
  public func appendRows(entity: Int, references: Span<Int64>) throws(PersistentStoreError) {
    precondition(entity >= 0 && entity < tables.count, "no such entity")
    let entry = building + entity
    guard entry.pointee.count == 0 else {
      throw PersistentStoreError(
        .internalInconsistency, "columns are filled before rows are added", at: StoreLocation(file: file))
    }
    guard references.count > 0 else { return }
    try grow(entity, to: references.count, adding: references.count)
    entry.pointee.count = references.count
    let header = entry.pointee.headers[entry.pointee.slotCount]
    references.withUnsafeBytes { source in
      if let base = source.baseAddress { header.pointee.cells.copyMemory(from: base, byteCount: source.count) }
    }
  }

  /// Gives a row of an entity a string for its reference.
  public func setReference(_ text: String, entity: Int, row: Int) { texts[entity].append((row, text)) }

  /// Fills a slot of fixed width: cells and bits as ``EntityReader/fixedCells(slot:)`` and
  /// ``EntityReader/presenceBits(slot:)`` give them. Without bits every row has a value.
  ///
  /// - Throws: `.malformed` where the sizes do not fit the rows, or a boolean is neither 0 nor 1.
  public func fillFixed(
    entity: Int, slot: Int, cells: Span<UInt8>, presence: Span<UInt8>?
  ) throws(PersistentStoreError) {
    let (header, rows) = try whole(entity, slot)
    let layout = header.pointee.layout
    guard layout.hasPresence, cells.count == rows * header.pointee.width else {
      throw badColumn(entity, slot, "\(cells.count) bytes for \(rows) cells")
    }
    if let presence, presence.count != (rows + 7) / 8 {
      throw badColumn(entity, slot, "\(presence.count) bytes of presence bits for \(rows) rows")
    }
    if layout == .boolean {
      for index in 0..<cells.count where cells[index] > 1 {
        throw badColumn(entity, slot, "\(cells[index]) is no boolean")
      }
    }
    cells.withUnsafeBufferPointer { source in
      if let base = source.baseAddress { header.pointee.cells.copyMemory(from: base, byteCount: source.count) }
    }
    let words = (rows + 63) / 64
    header.pointee.presence.initialize(repeating: presence == nil ? UInt64.max : 0, count: words)
    presence?.withUnsafeBufferPointer { source in
      if let base = source.baseAddress {
        UnsafeMutableRawPointer(header.pointee.presence).copyMemory(from: base, byteCount: source.count)
      }
    }
    if rows & 63 != 0, words > 0 { header.pointee.presence[words - 1] &= (1 << UInt64(rows & 63)) - 1 }
    guard presence != nil else { return }
    // A null cell is zero in memory, whatever the file has there.
    for row in 0..<rows where !header.pointee.isPresent(row) { header.pointee.setNull(row) }
  }

  /// Fills a slot of bytes (string, URI, data, transformable, decimal text): a length for each row, all ones for
  /// null, and all bytes one after another.
  ///
  /// - Throws: `.malformed` where sizes do not add up or text is not UTF-8 or no decimal.
  public func fillBytes(
    entity: Int, slot: Int, lengths: Span<UInt32>, heap: Span<UInt8>
  ) throws(PersistentStoreError) {
    let (header, rows) = try whole(entity, slot)
    guard header.pointee.layout == .bytes, lengths.count == rows else {
      throw badColumn(entity, slot, "\(lengths.count) lengths for \(rows) rows")
    }
    guard heap.count < Int(UInt32.max), header.pointee.reserveHeap(heap.count) else {
      throw .columnFull(StoreLocation(file: file, property: model.records[entity].slots[slot].name))
    }
    heap.withUnsafeBufferPointer { source in
      if let base = source.baseAddress { header.pointee.heap.copyMemory(from: base, byteCount: source.count) }
    }
    header.pointee.heapCount = heap.count
    var start = 0
    let type = model.records[entity].slots[slot].attributeType
    let isText = type == .string || type == .uri
    if isText, !Self.isUTF8(heap) { throw badColumn(entity, slot, "the text is not UTF-8") }
    for row in 0..<rows {
      let length = lengths[row]
      if length == Extent.nullLength {
        header.pointee.setNull(row)
        continue
      }
      guard Int(length) <= heap.count - start else { throw badColumn(entity, slot, "lengths pass the bytes") }
      // The heap as a whole is UTF-8; a value is too unless it starts inside a scalar.
      if isText, length > 0, heap[start] & 0xC0 == 0x80 { throw badColumn(entity, slot, "the text is not UTF-8") }
      header.pointee.setExtent(row, start: start, length: Int(length))
      start += Int(length)
    }
    guard start == heap.count else { throw badColumn(entity, slot, "\(heap.count - start) bytes are left over") }
    if type == .decimal {
      for row in 0..<rows where header.pointee.isPresent(row) {
        let text = Span(_unsafeElements: header.pointee.bytes(row))
        if Self.isPlainDecimal(text) { continue }
        guard let value = DecimalNumber(utf8: text) else {
          throw badColumn(entity, slot, "row \(row) is no decimal number")
        }
        // Another way to write it, as 1e5 for 1E+5, becomes the one way: equal graphs are equal bytes.
        var exact: [UInt8] = []
        value.append(to: &exact)
        if text.withUnsafeBufferPointer({ exact.elementsEqual($0) }) { continue }
        let stored = exact.withUnsafeBytes { header.pointee.setBytes(row, $0.baseAddress, count: $0.count) }
        guard stored else { throw .columnFull(StoreLocation(file: file, property: model.records[entity].slots[slot].name)) }
      }
    }
  }

  /// Fills a to-one: a reference for each row that has one, bits as in ``fillFixed(entity:slot:cells:presence:)``.
  public func fillToOne(
    entity: Int, slot: Int, references: Span<Int64>, presence: Span<UInt8>?
  ) throws(PersistentStoreError) {
    let (header, rows) = try whole(entity, slot)
    var bitsFit = true
    if let presence { bitsFit = presence.count == (rows + 7) / 8 }
    guard header.pointee.layout == .toOne, references.count == rows, bitsFit else { throw badColumn(entity, slot, "\(references.count) references for \(rows) rows") }
    for row in 0..<rows {
      if let presence, presence[row >> 3] & (1 << UInt8(row & 7)) == 0 {
        header.pointee.setNull(row)
        continue
      }
      header.pointee.setCell(row, encode(references[row]))
    }
  }

  /// Fills a to-many: a count for each row, and all references one after another.
  public func fillToMany(
    entity: Int, slot: Int, counts: Span<UInt32>, references: Span<Int64>
  ) throws(PersistentStoreError) {
    let (header, rows) = try whole(entity, slot)
    guard header.pointee.layout == .toMany, counts.count == rows else {
      throw badColumn(entity, slot, "\(counts.count) counts for \(rows) rows")
    }
    guard header.pointee.reserveHeap(references.count) else {
      throw .columnFull(StoreLocation(file: file, property: model.records[entity].slots[slot].name))
    }
    for index in 0..<references.count {
      (header.pointee.heap + index * 8).storeBytes(of: encode(references[index]), as: UInt64.self)
    }
    header.pointee.heapCount = references.count
    var start = 0
    for row in 0..<rows {
      let count = Int(counts[row])
      guard count <= references.count - start else { throw badColumn(entity, slot, "counts pass the references") }
      // A list that an earlier fill left would reach behind what is kept of the heap.
      if count > 0 { header.pointee.setExtent(row, start: start, length: count) } else { header.pointee.setNull(row) }
      start += count
    }
    guard start == references.count else { throw badColumn(entity, slot, "references are left over") }
  }

  /// Sets one value in rows added by ``appendRows(entity:references:)``: for what does not fit whole columns.
  public func set(_ value: StoredValue, entity: Int, row: Int, slot: Int) throws(PersistentStoreError) {
    precondition(row >= 0 && row < building[entity].count, "no such row")
    state.pointee.entity = entity
    state.pointee.row = row
    current.initialize(to: building[entity])
    try set(value, slot: slot)
  }

  private func whole(
    _ entity: Int, _ slot: Int
  ) throws(PersistentStoreError) -> (UnsafeMutablePointer<ColumnHeader>, Int) {
    precondition(tables.indices.contains(entity) && slot >= 0 && slot < building[entity].slotCount, "no such slot")
    return (building[entity].headers[slot], building[entity].count)
  }

  private func badColumn(_ entity: Int, _ slot: Int, _ message: String) -> PersistentStoreError {
    let record = model.records[entity]
    return PersistentStoreError(
      .malformed, message,
      at: StoreLocation(
        file: members[entity] ?? file, entity: record.description.name, property: record.slots[slot].name))
  }
}

// MARK: - The second pass

extension NodeTableBuilder {
  /// Resolves all references and gives the table. The builder is empty afterwards and cannot be used again.
  ///
  /// - Throws: `.duplicateReference`, or `.danglingReference` naming the row and property.
  public func finish() throws(PersistentStoreError) -> NodeTable {
    try checkCount(adding: 0)
    if limits.valueBytes < StoreLimits().valueBytes { try checkValues() }
    for index in tables.indices { sealReferences(index) }
    var result = NodeTable(model: model)
    for root in tables.indices where model.records[root].root == root {
      result.lookups[root] = try lookup(root: root)
    }
    for index in tables.indices { try resolve(index, result.lookups) }
    for index in tables.indices {
      tables[index].payloads = payloads[index]
      tables[index].deferred = deferred[index]
    }
    result.entities = tables
    tables = []
    return result
  }

  /// - Throws: `.limitExceeded` for the first value that is longer than values may be.
  private func checkValues() throws(PersistentStoreError) {
    for entity in tables.indices {
      for slot in model.records[entity].slots {
        let column = building[entity].headers[slot.index]
        guard column.pointee.layout == .bytes else { continue }
        for row in 0..<building[entity].count where column.pointee.isPresent(row) && column.pointee.bytes(row).count > limits.valueBytes {
          throw limits.exceeded(
            "maximumValueBytes", limits.valueBytes, "the value has \(column.pointee.bytes(row).count) bytes",
            at: location(entity: entity, row: row, slot: slot.index))
        }
      }
    }
  }

  private func sealReferences(_ index: Int) {
    let count = building[index].count
    tables[index].count = count
    for slot in 0...building[index].slotCount { building[index].headers[slot].pointee.shrink(to: count) }
    let numbers = tables[index].referenceNumbers.header
    if count > 0 { numbers.pointee.presence.initialize(repeating: .max, count: (count + 63) / 64) }
    if texts[index].isEmpty {
      var previous = Int64.min
      for row in 0..<count {
        let number = numbers.pointee.cell(row, as: Int64.self)
        if number < previous { tables[index].isCanonical = false }
        previous = number
      }
    } else {
      let column = Column(.bytes)
      column.header.pointee.grow(to: count)
      for (row, text) in texts[index] {
        var text = text
        text.withUTF8 { _ = column.header.pointee.setBytes(row, $0.baseAddress, count: $0.count) }
      }
      tables[index].referenceTexts = column
      if count > 1 {
        for row in 1..<count where !(tables[index].reference(row - 1) < tables[index].reference(row)) {
          tables[index].isCanonical = false
          break
        }
      }
    }
  }

  private func lookup(root: Int) throws(PersistentStoreError) -> ReferenceLookup {
    var least = Int64.max
    var greatest = Int64.min
    var total = 0
    let members = model.records[root].descendants
    for index in members where tables[index].referenceTexts == nil {
      let numbers = tables[index].referenceNumbers.header
      for row in 0..<tables[index].count {
        let number = numbers.pointee.cell(row, as: Int64.self)
        least = min(least, number)
        greatest = max(greatest, number)
      }
      total += tables[index].count
    }
    var lookup = ReferenceLookup(expecting: total, least: least, greatest: greatest)
    for index in members {
      let numbers = tables[index].referenceNumbers.header
      let hasTexts = tables[index].referenceTexts != nil
      for row in 0..<tables[index].count {
        let node = NodeHandle(entity: index, row: row)
        let taken =
          hasTexts
          ? lookup.insert(tables[index].reference(row), node)
          : lookup.insert(numbers.pointee.cell(row, as: Int64.self), node)
        guard let taken else { continue }
        let other = location(entity: taken.entity, row: taken.row, slot: nil)
        throw PersistentStoreError(
          .duplicateReference,
          "the reference is already that of \(other)", at: location(entity: index, row: row, slot: nil))
      }
    }
    return lookup
  }

  private func resolve(_ index: Int, _ lookups: [ReferenceLookup]) throws(PersistentStoreError) {
    let rows = tables[index].count
    guard rows > 0 else { return }
    for slot in model.records[index].slots where slot.isRelationship {
      guard slot.destination >= 0 else { continue }
      let destinationRecord = model.records[slot.destination]
      // Whether a node of an entity may stand here, by entity number.
      var fits = [Bool](repeating: false, count: tables.count)
      for member in destinationRecord.descendants { fits[member] = true }
      let lookup = lookups[destinationRecord.root]
      let header = tables[index].columns[slot.index].header
      switch slot.kind {
      case .toOne:
        for row in 0..<rows {
          let raw = header.pointee.cell(row, as: UInt64.self)
          if raw == NodeHandle.nullBits { continue }
          header.pointee.setCell(row, try resolve(raw, lookup, fits, index, row, slot))
        }
      case .toMany(let ordered):
        for row in 0..<rows {
          let list = header.pointee.handles(row)
          guard list.count > 0 else {
            if header.pointee.isPresent(row) { header.pointee.setNull(row) }
            continue
          }
          var ascending = true
          var previous: UInt64 = 0
          for place in list.indices {
            let raw = list[place]
            // Inline references compare as numbers once the sign bit is turned over.
            let key = raw ^ 0x2000_0000_0000_0000
            if raw & RawReference.tagMask != RawReference.inlineTag || (place > 0 && key <= previous) {
              ascending = false
            }
            previous = key
            list[place] = try resolve(raw, lookup, fits, index, row, slot)
          }
          if !ascending { try tidy(list, ordered: ordered, index, row, slot) }
        }
      case .attribute: break
      }
    }
  }

  @inline(__always) private func resolve(
    _ raw: UInt64, _ lookup: ReferenceLookup, _ fits: [Bool], _ index: Int, _ row: Int, _ slot: Slot
  ) throws(PersistentStoreError) -> UInt64 {
    let node =
      raw & RawReference.tagMask == RawReference.inlineTag
      ? lookup[RawReference.decodeInline(raw)] : lookup[listed[Int(raw & ~RawReference.tagMask)]]
    guard let node, fits[node.entity] else { throw dangling(raw, node, index, row, slot) }
    return node.bits
  }

  private func dangling(
    _ raw: UInt64, _ node: NodeHandle?, _ index: Int, _ row: Int, _ slot: Slot
  ) -> PersistentStoreError {
    let reference: ReferenceObject =
      raw & RawReference.tagMask == RawReference.inlineTag
      ? .integer(RawReference.decodeInline(raw)) : listed[Int(raw & ~RawReference.tagMask)]
    let destination = model.records[slot.destination].description.name
    let place = location(entity: index, row: row, slot: slot.index)
    if let node {
      let found = model.records[node.entity].description.name
      return PersistentStoreError(.danglingReference, "\(reference) is a \(found), not a \(destination)", at: place)
    }
    return PersistentStoreError(.danglingReference, "\(destination)/\(reference) does not exist", at: place)
  }

  /// Refuses an object that stands twice, and brings an unordered list into ascending order.
  private func tidy(
    _ list: UnsafeMutableBufferPointer<UInt64>, ordered: Bool, _ index: Int, _ row: Int, _ slot: Slot
  ) throws(PersistentStoreError) {
    let sorted = list.sorted()
    for place in sorted.indices.dropFirst() where sorted[place] == sorted[place - 1] {
      let node = NodeHandle(bits: sorted[place])
      throw PersistentStoreError(
        .malformed, "\(tables[node.entity].reference(node.row)) stands twice in the relationship",
        at: location(entity: index, row: row, slot: slot.index))
    }
    guard !ordered else { return }
    let ascending = list.sorted {
      let one = NodeHandle(bits: $0)
      let other = NodeHandle(bits: $1)
      return tables[one.entity].reference(one.row) < tables[other.entity].reference(other.row)
    }
    for (place, bits) in ascending.enumerated() { list[place] = bits }
  }
}
