/// Allocation of columns, and the limit on their memory.
///
/// A column is allocated when the first row has a value in it: the number of properties of a model, multiplied by the
/// number of rows, can be large even for a small file. The remaining memory is limited by the size of the file.
extension NodeTableBuilder {
  /// Gives the entity its own column, with room for at least that many rows. The index after the last slot is that of
  /// the references.
  ///
  /// - Parameter row: The row that needs it, for the error.
  func ownColumn(_ entity: Int, _ slot: Int, rows: Int, row: Int?) throws(PersistentStoreError) {
    let entry = building + entity
    let isReferences = slot == entry.pointee.slotCount
    let header = entry.pointee.headers[slot]
    let layout = header.pointee.layout
    let more = ColumnHeader.size(layout, rows: rows) - ColumnHeader.size(layout, rows: header.pointee.capacity)
    if more > 0 {
      try take(more, at: place(entity, row, isReferences ? nil : slot))
      try requireMemory(ColumnHeader.size(layout, rows: rows), at: place(entity, row, isReferences ? nil : slot))
    }
    // The shared column has zero rows.
    if header.pointee.capacity == 0 {
      let column = Column(layout)
      if isReferences { tables[entity].referenceNumbers = column } else { tables[entity].columns[slot] = column }
      entry.pointee.headers[slot] = column.header
    }
    try grow(entry.pointee.headers[slot], to: rows, at: place(entity, row, isReferences ? nil : slot))
  }

  /// Grows a column.
  ///
  /// - Throws: `.limitExceeded` if the system does not have enough memory.
  func grow(
    _ header: UnsafeMutablePointer<ColumnHeader>, to rows: Int, at location: @autoclosure () -> StoreLocation
  ) throws(PersistentStoreError) {
    guard !header.pointee.tryToGrow(to: rows) else { return }
    throw Self.outOfMemory("a column of \(ColumnHeader.size(header.pointee.layout, rows: rows)) bytes", at: location())
  }

  /// Reserves room at the end of a column's heap.
  ///
  /// - Throws: `.limitExceeded` for more than 256 GiB, or if the system does not have enough memory.
  func reserveHeap(
    _ units: Int, _ header: UnsafeMutablePointer<ColumnHeader>, at location: @autoclosure () -> StoreLocation
  ) throws(PersistentStoreError) {
    guard let grown = header.pointee.grownHeap(units) else { throw .columnFull(location()) }
    guard grown > header.pointee.heapCapacity, !header.pointee.tryToReallocateHeap(grown) else { return }
    throw Self.outOfMemory("a column of \(grown * header.pointee.layout.heapUnit) bytes", at: location())
  }

  private func place(_ entity: Int, _ row: Int?, _ slot: Int?) -> StoreLocation {
    if let row { return location(entity: entity, row: row, slot: slot) }
    let record = model.records[entity]
    return StoreLocation(
      file: members[entity] ?? file, entity: record.description.name, property: slot.map { record.slots[$0].name })
  }

  /// The column of a slot of the current node's entity, with room for the node's row.
  @inline(never)
  func grownColumn(_ slot: Int) throws(PersistentStoreError) -> UnsafeMutablePointer<ColumnHeader> {
    let entity = state.pointee.entity
    try ownColumn(entity, slot, rows: building[entity].capacity, row: state.pointee.row)
    return building[entity].headers[slot]
  }

  /// Reserves room in a column's heap for that many further units.
  @inline(__always)
  func reserve(_ units: Int, _ header: UnsafeMutablePointer<ColumnHeader>) throws(PersistentStoreError) {
    if header.pointee.heapCount + units > header.pointee.heapCapacity { try growHeap(units, header) }
  }

  @inline(never)
  private func growHeap(_ units: Int, _ header: UnsafeMutablePointer<ColumnHeader>) throws(PersistentStoreError) {
    // A borrowed heap was not counted; it is copied now.
    let before = header.pointee.borrowsHeap ? 0 : header.pointee.heapCapacity
    let unit = header.pointee.layout.heapUnit
    let probable = probableUnits(units, header)
    if probable > before + units, probable < Extent.greatestHeap, PagedMemory.hasRoom(for: probable * unit) {
      // Without memory for it, less is tried.
      _ = header.pointee.tryToReallocateHeap(probable)
    }
    // The caller checks whether an extent can address it.
    guard header.pointee.grownHeap(units) != nil else { return }
    try reserveHeap(units, header, at: location())
    try take((header.pointee.heapCapacity - before) * unit)
  }

  /// Makes room for what is read from other files than the store's own, such as a log or values beside it: the size of
  /// the store's file alone would bound it. A limit that the caller set stays.
  ///
  /// - Parameter bytes: The size of the other file.
  public func addInput(bytes: Int) {
    guard limits.memory == nil, room < .max else { return }
    let more = limits.memory(forInput: bytes)
    room = room.addingReportingOverflow(more).overflow ? .max : room + more
  }

  /// Counts bytes that columns took.
  func take(_ bytes: Int, at location: @autoclosure () -> StoreLocation? = nil) throws(PersistentStoreError) {
    room -= bytes
    guard room < 0 else { return }
    if isOutOfMemory { throw Self.outOfMemory("references", at: location() ?? self.location()) }
    throw limits.memoryExceeded(at: location() ?? self.location())
  }

  /// - Throws: `.limitExceeded` if the system does not have memory for a block of that size.
  func requireMemory(
    _ bytes: Int, at location: @autoclosure () -> StoreLocation? = nil
  ) throws(PersistentStoreError) {
    guard !PagedMemory.hasRoom(for: bytes) else { return }
    throw Self.outOfMemory("a column of \(bytes) bytes", at: location() ?? self.location())
  }

  static func outOfMemory(_ what: String, at location: StoreLocation) -> PersistentStoreError {
    PersistentStoreError(.limitExceeded, "the system does not have enough memory for \(what)", at: location)
  }

  /// - Throws: `.invalidValue` for an abstract entity, `.limitExceeded` for too many rows.
  func checkRows(_ entity: Int, rows: Int, adding more: Int) throws(PersistentStoreError) {
    let entry = building + entity
    let name = model.records[entity].description.name
    guard !entry.pointee.isAbstract else {
      throw PersistentStoreError(
        .invalidValue, "\(name) is abstract and cannot have objects", at: StoreLocation(file: file, entity: name))
    }
    guard rows < Int(Int32.max) else {
      throw PersistentStoreError(.limitExceeded, "more than 2^31 objects of \(name)", at: StoreLocation(file: file))
    }
    // Room for rows is reserved in batches, so this error cannot tell the actual number of objects, only that it
    // exceeds the limit.
    roomForRows += rows - entry.pointee.capacity
    if roomForRows > limits.objects { try checkCount(adding: more) }
  }

  /// - Throws: `.limitExceeded` if that many further objects exceed the limit.
  func checkCount(adding more: Int) throws(PersistentStoreError) {
    let count = tables.indices.reduce(more) { $0 + building[$1].count }
    guard count <= limits.objects else {
      throw PersistentStoreError(
        .limitExceeded,
        "there are more than \(limits.objects) objects, against the limit 'maximumObjects' of \(limits.objects)",
        at: StoreLocation(file: file))
    }
  }

  /// Gives every slot of an entity with rows a column, once all references are resolved.
  func fillUnused() throws(PersistentStoreError) {
    for index in tables.indices where tables[index].count > 0 {
      let rows = tables[index].count
      let layouts = Set(tables[index].columns.lazy.map(\.header.pointee).filter { $0.capacity == 0 }.map(\.layout))
      try take(layouts.reduce(0) { $0 + ColumnHeader.size($1, rows: rows) }, at: place(index, nil, nil))
      tables[index].fillUnused()
    }
  }
}
