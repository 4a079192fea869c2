/// Objects that cannot be read, and are left out if that is asked for.
extension NodeTableBuilder {
  /// Whether objects that cannot be read are left out: the option `damaged=skip-object`.
  public var skipsDamagedObjects: Bool { rules.damagedObjects == .skip }

  /// Leaves out the node that was begun last, because it cannot be read, and notes that. The format goes on with the
  /// next node.
  ///
  /// - Parameter error: Why it cannot be read, with line and column if they are known.
  /// - Throws: The error, unless ``skipsDamagedObjects`` and the error is one of the object: errors of the whole store,
  ///   such as exceeded limits, are always thrown.
  public func skipNode(because error: PersistentStoreError) throws(PersistentStoreError) {
    guard canSkip(error), state.pointee.row >= 0 else { throw error }
    skip(entity: state.pointee.entity, row: state.pointee.row, because: error)
  }

  /// Notes that a part of the store cannot be read that did not become a node, such as a record without an identifier.
  ///
  /// - Throws: as ``skipNode(because:)``.
  public func skipPart(because error: PersistentStoreError) throws(PersistentStoreError) {
    guard canSkip(error) else { throw error }
    note(error, subject: error.location.entity ?? "object")
  }

  /// Notes that a reference of the node begun last cannot be read, and is left out.
  ///
  /// - Throws: as ``skipNode(because:)``.
  public func skipReference(slot: Int, because error: PersistentStoreError) throws(PersistentStoreError) {
    guard canSkip(error) else { throw error }
    let place = location(slot)
    let line = error.location.line.map { " (line \($0))" } ?? ""
    notes.append(
      SelectionNote(
        subject: "\(place.entity ?? "")/\(place.reference ?? "").\(place.property ?? "")", count: 1,
        text: "reference left out, because it is damaged: \(error.message)\(line)"))
  }

  private func canSkip(_ error: PersistentStoreError) -> Bool {
    guard skipsDamagedObjects else { return false }
    switch error.code {
    case .malformed, .invalidValue, .duplicateReference, .danglingReference: return true
    default: return false
    }
  }

  func skip(entity: Int, row: Int, because error: PersistentStoreError) {
    guard skipped[entity, default: []].insert(row).inserted else { return }
    let place = location(entity: entity, row: row, slot: nil)
    note(
      PersistentStoreError(error.code, error.message, at: error.location.filled(from: place)),
      subject: "\(place.entity ?? "")/\(place.reference ?? "")")
  }

  private func note(_ error: PersistentStoreError, subject: String) {
    var place = ""
    if let line = error.location.line { place = " (line \(line)" + (error.location.property.map { ", " + $0 } ?? "") + ")" }
    notes.append(SelectionNote(subject: subject, count: 1, text: "left out, because it is damaged: \(error.message)\(place)"))
  }

  /// Marks the rows of objects that are left out as deleted, so that nothing finds them.
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
