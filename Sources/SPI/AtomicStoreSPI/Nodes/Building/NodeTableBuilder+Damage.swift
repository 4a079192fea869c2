/// Objects that cannot be read, and are left out if the option `damaged=skip-object` requests that.
extension NodeTableBuilder {
  /// Whether objects that cannot be read are left out.
  public var skipsDamagedObjects: Bool { rules.damagedObjects == .skip }

  /// Leaves out the node that was begun last because it cannot be read, and reports the loss. The format continues with
  /// the next node.
  ///
  /// - Parameter error: Why it cannot be read, with line and column if they are known.
  /// - Throws: The error, unless ``skipsDamagedObjects`` and the error concerns one object: errors that concern the
  ///   whole store, such as exceeded limits, are always thrown.
  public func skipNode(because error: PersistentStoreError) throws(PersistentStoreError) {
    guard canSkip(error), state.pointee.row >= 0 else { throw error }
    try skip(entity: state.pointee.entity, row: state.pointee.row, because: error)
  }

  /// Reports the loss of a part of the store that did not become a node, such as a record without an identifier.
  ///
  /// - Parameters:
  ///   - entity: The entity to which the part belongs, if that is known.
  ///   - slot: Its relationship, if the part has nothing but references of that.
  ///   - error: Why it cannot be read.
  /// - Throws: As ``skipNode(because:)``.
  public func skipPart(
    of entity: Int? = nil, slot: Int? = nil, because error: PersistentStoreError
  ) throws(PersistentStoreError) {
    let place = StoreLocation(
      file: entity.map { self.file(of: $0) } ?? file, entity: entity.map { model.records[$0].description.name },
      property: slot.flatMap { slot in entity.map { model.records[$0].slots[slot].name } })
    guard canSkip(error), !isNeeded(place) else { throw error }
    try report("damaged object: \(error.message)", at: error.location.filled(from: place))
  }

  /// Reports that a reference of the node that was begun last cannot be read and is left out. The node itself remains.
  ///
  /// - Throws: As ``skipNode(because:)``.
  public func skipReference(slot: Int, because error: PersistentStoreError) throws(PersistentStoreError) {
    let place = location(slot)
    guard canSkip(error), !isNeeded(place) else { throw error }
    try report(
      "damaged reference: \(error.message)", at: error.location.filled(from: place))
  }

  /// Whether nothing may be left out at a location.
  private func isNeeded(_ location: StoreLocation) -> Bool {
    rules.neededObjects.map { $0.contains(location, in: model) } ?? false
  }

  private func canSkip(_ error: PersistentStoreError) -> Bool {
    // A model that was inferred from the other objects lacks only what a damaged object has.
    skipsDamagedObjects && (error.isOfOneObject || error.code == .modelMismatch && model.description.isInferred)
  }

  func skip(entity: Int, row: Int, because error: PersistentStoreError) throws(PersistentStoreError) {
    guard !isNeeded(StoreLocation(entity: model.records[entity].description.name)) else { throw error }
    guard skipped[entity, default: []].insert(row).inserted else { return }
    try report(
      "damaged object: \(error.message)",
      at: error.location.filled(from: location(entity: entity, row: row, slot: nil)))
  }

  /// Reports a reference that was removed because its destination does not exist, or was left out.
  func reportRemoved(_ error: PersistentStoreError) throws(PersistentStoreError) {
    if isNeeded(error.location) { throw error }
    // What the caller does not read was lost with the object that is reported already.
    if rules.neededObjects != nil, !damage.isEmpty { return }
    try report("reference left out: \(error.message)", at: error.location)
  }

  /// The report of a hostile file, each of whose bytes is a damaged object, may not exceed the memory limit either.
  private func report(_ text: String, at location: StoreLocation) throws(PersistentStoreError) {
    reportedBytes += 512 + text.utf8.count
    try take(512 + text.utf8.count, at: location)
    damage.append(
      LoadNote(subject: location.description, text: text, isLoss: true, location: location))
  }

  /// Marks the rows of objects that are left out as deleted, so that no reference finds them.
  func deleteSkipped(_ entity: Int) {
    for row in skipped[entity] ?? [] { delete(entity, row) }
  }

  func delete(_ entity: Int, _ row: Int) {
    let words = (tables[entity].count + 63) / 64
    while tables[entity].deleted.count < words { tables[entity].deleted.append(0) }
    guard !tables[entity].isDeleted(row) else { return }
    tables[entity].deleted[row >> 6] |= 1 << UInt64(row & 63)
    tables[entity].deletedCount += 1
    tables[entity].isCanonical = false
  }
}

extension PersistentStoreError {
  /// Whether it may concern one object, or a part of the store, and not the rest.
  package var isOfOneObject: Bool {
    [.malformed, .invalidValue, .duplicateReference, .danglingReference].contains(code)
  }
}
