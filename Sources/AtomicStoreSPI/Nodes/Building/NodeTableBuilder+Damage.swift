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
  /// - Parameter entity: The entity to which the part belongs, if that is known.
  /// - Throws: As ``skipNode(because:)``.
  public func skipPart(of entity: Int? = nil, because error: PersistentStoreError) throws(PersistentStoreError) {
    guard canSkip(error) else { throw error }
    let place = StoreLocation(
      file: entity.flatMap { members[$0] } ?? file, entity: entity.map { model.records[$0].description.name })
    try report("damaged object: \(error.message)", at: error.location.filled(from: place))
  }

  /// Reports that a reference of the node that was begun last cannot be read and is left out. The node itself remains.
  ///
  /// - Throws: As ``skipNode(because:)``.
  public func skipReference(slot: Int, because error: PersistentStoreError) throws(PersistentStoreError) {
    guard canSkip(error) else { throw error }
    try report(
      "damaged reference: \(error.message)", at: error.location.filled(from: location(slot)))
  }

  private func canSkip(_ error: PersistentStoreError) -> Bool {
    guard skipsDamagedObjects else { return false }
    switch error.code {
    case .malformed, .invalidValue, .duplicateReference, .danglingReference: return true
    // A model that was inferred from the other objects lacks only what a damaged object has.
    case .modelMismatch: return model.description.isInferred
    default: return false
    }
  }

  func skip(entity: Int, row: Int, because error: PersistentStoreError) throws(PersistentStoreError) {
    guard skipped[entity, default: []].insert(row).inserted else { return }
    try report(
      "damaged object: \(error.message)",
      at: error.location.filled(from: location(entity: entity, row: row, slot: nil)))
  }

  /// Reports a reference that was removed because its destination does not exist, or was left out.
  func reportRemoved(_ error: PersistentStoreError) throws(PersistentStoreError) {
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
