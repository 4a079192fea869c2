import AtomicStoreSPI

/// What stands behind a store's lock.
struct OpenStore: Sendable {
  var format: any AtomicStore
  var version: NodeVersion
  /// Values that the format deferred at the load and has supplied since.
  var suppliedValues: [SuppliedValue: StoredValue] = [:]
  var metadata: StoreMetadata
  var metadataChanged = false
  /// The last reference as the store has it on disk.
  var storedLastReference: Int64 = 0
  /// What the file was when it was last read or written; nil for a store that was never saved.
  var fileIdentity: FileIdentity?
  var reservation: Reservation?
  /// Files in the store's folder that the format passed over.
  var bystanders: [String] = []
  /// What the load changed by the rules for relationships.
  var readNotes: [StoreSelection.Note] = []
  /// What the format reported when the file was read.
  var notes: [LoadNote] = []
  var isOpen = true
  /// How it was opened, to open it again when somebody else changed the file.
  var opening: StoreOpening

  struct SuppliedValue: Hashable, Sendable {
    var node: NodeHandle
    var slot: Int
  }

  var nodes: NodeTable { version.nodes }

  /// Whether a save without changes to objects has nothing to write but metadata entries.
  var keepsContent: Bool {
    guard metadataChanged, reservation == nil, fileIdentity?.isEmpty == false,
      metadata.lastReference == storedLastReference
    else {
      return false
    }
    // What was asked of the writing holds for all of the file; what the load mended is to be written.
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

  /// Tells the format and cleans up, once. The kit's part does not depend on the format's.
  mutating func close(from coordinator: (any StoreCoordinating)?) {
    guard isOpen else { return }
    isOpen = false
    endClosing(from: coordinator)
  }

  /// For one that is not open any more.
  mutating func endClosing(from coordinator: (any StoreCoordinating)?) {
    format.willRemove(from: coordinator)
    reservation?.removeIfUnsaved()
    reservation = nil
  }
}

extension PersistentStoreError {
  static func changedMeanwhile(_ path: String) -> PersistentStoreError {
    PersistentStoreError(
      .changedOnDisk, "the store was modified on disk since it was opened", at: StoreLocation(file: path))
  }
  static func readOnly(_ path: String) -> PersistentStoreError {
    PersistentStoreError(.readOnly, "the store is open for reading only", at: StoreLocation(file: path))
  }
}
