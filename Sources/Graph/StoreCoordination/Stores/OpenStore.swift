import AtomicStoreSPI

/// The state of a store, protected by its lock.
struct OpenStore: Sendable {
  var format: any AtomicStore
  var version: NodeVersion
  /// Deferred values that the format has supplied since the load.
  var suppliedValues: [SuppliedValue: StoredValue] = [:]
  var metadata: StoreMetadata
  var metadataChanged = false
  /// The last reference in the file.
  var storedLastReference: Int64 = 0
  /// The metadata in the file, if there is one.
  var storedMetadata: StoreMetadata?
  /// The file's identity when it was last read or written; nil for a store that was never saved.
  var fileIdentity: FileIdentity?
  /// For a database: which one it was when it was opened, whatever its address.
  var instance: String?
  /// Whether the file was found to hold something else, although its identity is the same: changes may be in a log.
  var isStale = false
  var reservation: Reservation?
  /// For an in-process store: what it shares with other coordinators, and the save that it was last read or written by.
  var shared: SharedVersion?
  /// Files in the store's directory that the format ignored.
  var unrelatedFiles: [String] = []
  /// The changes that the load made by the rules for relationships.
  var readNotes: [StoreSelection.Note] = []
  /// What the format reported when the file was read.
  var notes: [LoadNote] = []
  var isOpen = true
  /// How it was opened, to reopen it if another process changed the file.
  var opening: StoreOpening

  struct SuppliedValue: Hashable, Sendable {
    var node: NodeHandle
    var slot: Int
  }

  struct SharedVersion: Sendable {
    var content: SharedContent
    var number: Int
  }

  var nodes: NodeTable { version.nodes }

  /// Whether there is no content at the path yet.
  var wasNeverSaved: Bool {
    guard !format.traits.isInProcess else { return false }
    return reservation != nil || fileIdentity?.isEmpty != false
  }

  /// Whether a save without changes to objects writes only metadata entries.
  var keepsContent: Bool {
    guard metadataChanged, !wasNeverSaved,
      metadata.lastReference == storedLastReference
    else {
      return false
    }
    // Options for writing apply to the whole file, and what the load repaired has to be written.
    let asked = Set(format.traits.writeOptions.map(\.name) + RelationshipRules.options.map(\.name))
    return asked.isDisjoint(with: opening.options.keys)
  }

  mutating func value(slot: Int, of node: NodeHandle) throws(PersistentStoreError) -> StoredValue {
    guard version.nodes.isDeferred(slot: slot, of: node) else { return version.nodes.value(slot: slot, of: node) }
    let key = SuppliedValue(node: node, slot: slot)
    if let value = suppliedValues[key] { return value }
    let value = try format.value(slot: slot, of: node, in: version.nodes)
    let description = version.nodes.model.entity(at: node.entity).slots[slot]
    guard description.attributeType?.accepts(value) ?? false else {
      throw PersistentStoreError(
        .invalidValue, "the format supplied \(value.kindDescription)",
        at: StoreLocation(
          entity: version.nodes.model.entity(at: node.entity).name,
          reference: version.nodes.reference(of: node).description, property: description.name))
    }
    suppliedValues[key] = value
    return value
  }

  /// Closes the format and cleans up, once. The kit's clean-up does not depend on the format's.
  mutating func close(from coordinator: (any StoreCoordinating)?) {
    guard isOpen else { return }
    isOpen = false
    endClosing(from: coordinator)
  }

  /// For a store that is no longer open.
  mutating func endClosing(from coordinator: (any StoreCoordinating)?) {
    format.willRemove(from: coordinator)
    reservation?.removeIfUnsaved()
    reservation = nil
    shared = nil
  }
}

extension PersistentStoreError {
  static func changedMeanwhile(_ path: String) -> PersistentStoreError {
    PersistentStoreError(
      .changedOnDisk, "the store was modified on disk since it was opened", at: StoreLocation(file: path))
  }
  package static func readOnly(_ path: String) -> PersistentStoreError {
    PersistentStoreError(.readOnly, "the store is open read-only", at: StoreLocation(file: path))
  }
}
