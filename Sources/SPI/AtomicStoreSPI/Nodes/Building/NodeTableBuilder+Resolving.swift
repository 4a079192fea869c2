/// The second pass: resolving references.
extension NodeTableBuilder {
  /// Resolves all references and returns the table. The builder is empty afterwards and cannot be used again.
  ///
  /// ```swift
  /// let loaded = try builder.finish()
  /// ```
  ///
  /// - Throws: `.duplicateReference`, or `.danglingReference` with the row and property.
  public func finish() throws(PersistentStoreError) -> NodeTable {
    try checkCount(adding: 0)
    if isOutOfMemory { throw Self.outOfMemory("objects and references", at: StoreLocation(file: file)) }
    if limits.valueBytes < StoreLimits().valueBytes { try checkValues() }
    for index in tables.indices {
      try seal(index)
      if !skipped.isEmpty { deleteSkipped(index) }
    }
    var result = NodeTable(model: model, entities: [])
    for root in tables.indices where model.records[root].root == root {
      result.lookups[root] = try lookup(root: root)
    }
    try resolve(result.lookups)
    try checkMemory()
    let endsAgree = inverseHandling == .none ? false : try reconcileInverses()
    for index in tables.indices {
      tables[index].payloads = payloads[index]
      tables[index].deferred = deferred[index]
    }
    result.entities = tables
    if endsAgree { result.noteAgreement() }
    tables = []
    // What is set from now on would change the columns of the result.
    state.pointee = State(entityCount: 0)
    for index in model.records.indices {
      building[index].count = 0
      texts[index] = TextMentions()
      textRows[index] = []
    }
    known = nil
    // The parts of a file are gone.
    PagedMemory.trim()
    return skipped.isEmpty ? result : try result.canonical()
  }

  /// - Throws: `.limitExceeded` for the first value that exceeds the maximum length.
  private func checkValues() throws(PersistentStoreError) {
    for entity in tables.indices {
      for slot in model.records[entity].slots {
        let column = building[entity].headers[slot.index]
        guard column.pointee.layout == .bytes else { continue }
        for place in column.pointee.places(0..<building[entity].count) {
          guard let length = column.pointee.extent(at: place)?.length, length > limits.valueBytes else { continue }
          throw limits.exceeded(
            "maximumValueBytes", limits.valueBytes, "the value has \(length) bytes",
            at: location(entity: entity, row: column.pointee.row(at: place), slot: slot.index))
        }
      }
    }
  }

  /// Extends the columns that have values to the number of rows, and determines whether the rows are in ascending
  /// order.
  private func seal(_ index: Int) throws(PersistentStoreError) {
    let count = building[index].count
    tables[index].count = count
    guard count > 0 else {
      // A column may have been filled with no rows.
      tables[index] = EntityTable(slots: model.records[index].slots)
      return
    }
    for slot in 0...building[index].slotCount {
      let header = building[index].headers[slot]
      guard header.pointee.hasCells else { continue }
      if let own = header.pointee.sparse, !ColumnHeader.isSparse(own.count, of: count) {
        try take(ColumnHeader.size(header.pointee.layout, rows: count))
        // Without memory for it, the column stays sparse.
        _ = header.pointee.tryToSpread(rows: count)
      }
      header.pointee.shrink(to: count)
      guard header.pointee.sparse == nil, header.pointee.capacity < count else { continue }
      if header.pointee.staysSparse(count, of: count), header.pointee.tryToGather(rows: count) {
        header.pointee.sealCells()
      } else {
        try ownColumn(index, slot, rows: count, row: nil)
      }
    }
    let numbers = tables[index].referenceNumbers.header
    if !(known?.hasReferences[index] ?? false) {
      numbers.pointee.presence.initialize(repeating: .max, count: (count + 63) / 64)
    }
    if textRows[index].isEmpty, tables[index].referenceTexts == nil {
      var previous = Int64.min
      for row in 0..<count {
        let number = numbers.pointee.cell(row, as: Int64.self)
        if number < previous { tables[index].isCanonical = false }
        previous = number
      }
    } else {
      if !textRows[index].isEmpty {
        guard tables[index].referenceTexts == nil else { throw filledTwice(index) }
        sortTexts(index)
        tables[index].referenceTexts = try textColumn(index, rows: count)
      }
      let table = tables[index]
      for row in 1..<max(count, 1) where !table.precedes(row - 1, table, row) {
        tables[index].isCanonical = false
        break
      }
    }
  }

  /// Resolves all relationships, one after the other or, if nothing is repaired, several at the same time. Without
  /// repairs, they are independent of each other.
  private func resolve(_ lookups: [ReferenceLookup]) throws(PersistentStoreError) {
    var columns: [(index: Int, slot: Slot)] = []
    var rows = 0
    for index in tables.indices where tables[index].count > 0 {
      for slot in model.records[index].slots where slot.isRelationship {
        let cells = tables[index].columns[slot.index].header.pointee.places(0..<tables[index].count).count
        guard cells > 0, !isResolved(index, slot.index) else { continue }
        columns.append((index, slot))
        rows += cells
      }
    }
    let isIndependent = rules.danglingReferences == .refuse && !skipsDamagedObjects && skipped.isEmpty
    guard isIndependent, jobs > 1, columns.count > 1, rows * 16 >= leastPart else {
      for column in columns { try resolve(column.index, column.slot, lookups) }
      return
    }
    let resolution = Resolution(self, columns, lookups)
    if ParallelWork.allSatisfy(columns.count, jobs: jobs, { resolution.resolve($0) }) { return }
    if let error = resolution.firstError { throw error }
  }

  /// Resolving several columns at the same time.
  ///
  /// `@unchecked Sendable`: without repairs, resolving a column writes to the memory of this column only and reads the
  /// rest of the builder, to which nothing is written meanwhile.
  private final class Resolution: @unchecked Sendable {
    private let nodes: NodeTableBuilder
    private let columns: [(index: Int, slot: Slot)]
    private let lookups: [ReferenceLookup]
    private let errors: ParallelResults<PersistentStoreError>

    init(_ nodes: NodeTableBuilder, _ columns: [(index: Int, slot: Slot)], _ lookups: [ReferenceLookup]) {
      self.nodes = nodes
      self.columns = columns
      self.lookups = lookups
      errors = ParallelResults(columns.count)
    }

    func resolve(_ number: Int) -> Bool {
      do throws(PersistentStoreError) {
        try nodes.resolve(columns[number].index, columns[number].slot, lookups)
        return true
      } catch {
        errors[number] = error
        return false
      }
    }

    /// The error of the first column that has one: all before it were resolved.
    var firstError: PersistentStoreError? { errors.all.first }
  }

  private func resolve(_ index: Int, _ slot: Slot, _ lookups: [ReferenceLookup]) throws(PersistentStoreError) {
    guard let destination = slot.destination else { return }
    let rows = tables[index].count
    let hasSkipped = !skipped.isEmpty && tables[index].deletedCount > 0
    let root = model.records[destination].root
    let lookup = lookups[root]
    let mentions = texts[root]
    let header = tables[index].columns[slot.index].header
    if slot.isToMany {
      try resolveLists(header, lookup, mentions, destination, index, slot, hasSkipped: hasSkipped)
    } else {
      let run = lookup.cellRun(of: destination, model: model)
      for place in header.pointee.places(0..<rows) {
        let raw = header.pointee.cell(at: place, as: UInt64.self)
        if raw == NodeHandle.nullBits { continue }
        if !hasSkipped, let node = run[raw] {
          header.pointee.setCell(at: place, node)
          continue
        }
        let row = header.pointee.row(at: place)
        if hasSkipped, tables[index].isDeleted(row) {
          header.pointee.setNull(at: place)
          continue
        }
        header.pointee.setCell(at: place, try resolve(raw, lookup, mentions, destination, index, row, slot))
      }
    }
    noteDropped(index, slot)
  }

  private func resolveLists(
    _ header: UnsafeMutablePointer<ColumnHeader>, _ lookup: ReferenceLookup, _ mentions: TextMentions,
    _ destination: Int, _ index: Int, _ slot: Slot, hasSkipped: Bool
  ) throws(PersistentStoreError) {
    let keepsSequence = slot.keepsSequence
    let run = lookup.cellRun(of: destination, model: model)
    for cell in header.pointee.places(0..<tables[index].count) {
      let list = header.pointee.handles(at: cell)
      let row = header.pointee.row(at: cell)
      if list.count == 0 || hasSkipped && tables[index].isDeleted(row) {
        header.pointee.setNull(at: cell)
        continue
      }
      var (ascending, hasDropped) = (true, false)
      // Less than each inline reference.
      var previous: UInt64 = 0
      for place in list.indices {
        let raw = list[place]
        // Inline references can be compared as numbers once the sign bit is inverted.
        let key = raw ^ 0x2000_0000_0000_0000
        if key <= previous { ascending = false }
        previous = key
        if let node = run[raw] {
          list[place] = node
          continue
        }
        if raw & RawReference.tagMask != RawReference.inlineTag { ascending = false }
        let node = try resolve(raw, lookup, mentions, destination, index, row, slot)
        if node == NodeHandle.nullBits { hasDropped = true }
        list[place] = node
      }
      if hasDropped { header.pointee.removeNullHandles(at: cell) }
      if !ascending { try tidy(header, at: cell, keepsSequence: keepsSequence, index, row, slot) }
    }
  }

  @inline(__always) private func resolve(
    _ raw: UInt64, _ lookup: ReferenceLookup, _ mentions: TextMentions, _ destination: Int, _ index: Int, _ row: Int,
    _ slot: Slot
  ) throws(PersistentStoreError) -> UInt64 {
    let node =
      switch raw & RawReference.tagMask {
      case RawReference.inlineTag: lookup[RawReference.decodeInline(raw)]
      case RawReference.textTag: mentions.node(of: Int(raw & RawReference.numberMask))
      case RawReference.rowTag: present(NodeHandle(bits: raw), lookup)
      default: lookup[listed[Int(raw & RawReference.numberMask)]]
      }
    guard let node, node.entity == destination || model.isKind(node.entity, of: destination) else {
      return try drop(raw, node, index, row, slot)
    }
    return node.bits
  }

  /// Removes a reference without a destination, if the rules allow it.
  @inline(never) private func drop(
    _ raw: UInt64, _ node: NodeHandle?, _ index: Int, _ row: Int, _ slot: Slot
  ) throws(PersistentStoreError) -> UInt64 {
    guard rules.danglingReferences != .refuse else { throw dangling(raw, node, index, row, slot) }
    droppedCount += 1
    if rules.reportsRemovedReferences { try reportRemoved(dangling(raw, node, index, row, slot)) }
    guard rules.danglingReferences == .keepAsText else { return NodeHandle.nullBits }
    let reference = reference(raw, root: destinationRoot(of: slot))
    let owner = "\(model.records[index].description.name)/\(tables[index].reference(row)).\(slot.name)"
    let destination = node.map { model.records[$0.entity].description.name } ?? destinationName(of: slot)
    keptReferences[owner, default: []].append("\(destination)/\(reference)")
    return NodeHandle.nullBits
  }

  private func destinationRoot(of slot: Slot) -> Int { slot.destination.map { model.records[$0].root } ?? 0 }

  private func destinationName(of slot: Slot) -> String { slot.relationship?.destinationEntityName ?? slot.name }

  private func noteDropped(_ index: Int, _ slot: Slot) {
    guard droppedCount > 0 else { return }
    if rules.reportsRemovedReferences {
      // Each was reported.
      droppedCount = 0
      return
    }
    notes.append(
      .init(
        subject: "\(model.records[index].description.name).\(slot.name)", count: droppedCount,
        text: rules.danglingReferences == .keepAsText
          ? "references to objects that do not exist, kept as text in the metadata"
          : "references to objects that do not exist, removed"))
    droppedCount = 0
  }

  private func dangling(
    _ raw: UInt64, _ node: NodeHandle?, _ index: Int, _ row: Int, _ slot: Slot
  ) -> PersistentStoreError {
    let reference = reference(raw, root: destinationRoot(of: slot))
    let destination = destinationName(of: slot)
    let place = location(entity: index, row: row, slot: slot.index)
    let remedy: PersistentStoreError.Remedy? =
      rules.namesOptions && rules.danglingReferences == .refuse
      ? .readOption("dangling=nullify", or: ["dangling=keep-as-text"], effect: "reads the rest") : nil
    if let node {
      let found = model.records[node.entity].description.name
      return PersistentStoreError(
        .danglingReference, "\(reference) is a \(found), not a \(destination)", at: place, remedy: remedy)
    }
    return PersistentStoreError(
      .danglingReference, "\(destination)/\(reference) does not exist", at: place, remedy: remedy)
  }

  private func repeated(_ bits: UInt64, _ index: Int, _ row: Int, _ slot: Slot) -> PersistentStoreError {
    let node = NodeHandle(bits: bits)
    return PersistentStoreError(
      .malformed, "\(tables[node.entity].reference(node.row)) occurs twice in the relationship",
      at: location(entity: index, row: row, slot: slot.index))
  }

  /// Replaces all but the first occurrence of an object by null, and reports them. Returns whether there are any.
  private func dropRepeated(
    _ list: UnsafeMutableBufferPointer<UInt64>, _ index: Int, _ row: Int, _ slot: Slot
  ) throws(PersistentStoreError) -> Bool {
    var seen: Set<UInt64> = []
    var found = false
    for place in list.indices where !seen.insert(list[place]).inserted {
      try reportRemoved(repeated(list[place], index, row, slot))
      list[place] = NodeHandle.nullBits
      found = true
    }
    return found
  }

  /// Refuses an object that occurs twice, and sorts an unordered list.
  private func tidy(
    _ header: UnsafeMutablePointer<ColumnHeader>, at place: Int, keepsSequence: Bool, _ index: Int, _ row: Int,
    _ slot: Slot
  ) throws(PersistentStoreError) {
    if skipsDamagedObjects, try dropRepeated(header.pointee.handles(at: place), index, row, slot) {
      header.pointee.removeNullHandles(at: place)
    }
    let list = header.pointee.handles(at: place)
    if isTidy(list) { return }
    let sorted = list.sorted()
    for place in sorted.indices.dropFirst() where sorted[place] == sorted[place - 1] {
      throw repeated(sorted[place], index, row, slot)
    }
    guard !keepsSequence else { return }
    // In the order of handles, objects of one canonical table are in the order of references.
    let isOneTable =
      sorted.first.map { NodeHandle(bits: $0).entity } == sorted.last.map { NodeHandle(bits: $0).entity }
    let isAscending = isOneTable && sorted.first.map { tables[NodeHandle(bits: $0).entity].isCanonical } ?? true
    let ascending =
      isAscending
      ? sorted
      : list.sorted {
        let one = NodeHandle(bits: $0)
        let other = NodeHandle(bits: $1)
        return tables[one.entity].precedes(one.row, tables[other.entity], other.row)
      }
    for (place, bits) in ascending.enumerated() { list[place] = bits }
  }

  /// Whether all objects of a list are of one canonical table, in ascending order, none twice.
  private func isTidy(_ list: UnsafeMutableBufferPointer<UInt64>) -> Bool {
    guard let first = list.first, let last = list.last else { return true }
    for place in list.indices.dropFirst() where list[place - 1] >= list[place] { return false }
    let entity = NodeHandle(bits: first).entity
    return entity == NodeHandle(bits: last).entity && tables[entity].isCanonical
  }
}
