public import AtomicStoreSPI
import StoreCoordination

/// What turns one graph into another: objects that are inserted and deleted, properties and metadata that change. Each
/// change has the old value as well as the new one, so that a patch is refused where it does not fit, and can be
/// reversed.
///
/// ```swift
/// let patch = try StorePatch(from: old, to: new)
/// try Data(patch.json(store.model)).write(to: file)
/// let result = try patch.apply(to: StoreSnapshot(nodes: store.nodes, metadata: store.metadata))
/// ```
///
/// Objects are known by entity and reference. The stores' UUIDs, and metadata that the kit derives from the model, are
/// not part of a patch.
public struct StorePatch: Sendable {
  /// A change.
  package typealias Change = PatchChange
  /// Why a patch does not fit a store.
  package typealias Conflict = PatchConflict
  /// A patch that does not fit a store. Nothing was changed.
  package typealias ConflictError = PatchConflictError

  /// The changes: metadata, then by entity and reference.
  package var changes: [Change]

  /// Creates a patch of changes.
  package init(changes: [Change] = []) { self.changes = changes }

  /// Creates the patch that turns one graph into another.
  ///
  /// - Parameters:
  ///   - old: The graph that the patch fits.
  ///   - new: The graph that it makes of it.
  ///   - isIncluded: Whether a difference is part of the patch; all are without it.
  /// - Throws: `.modelMismatch` where the graphs have different models.
  public init(
    from old: StoreSnapshot, to new: StoreSnapshot, where isIncluded: (GraphDifference) -> Bool = { _ in true }
  ) throws(PersistentStoreError) {
    try old.nodes.checkModel(of: new.nodes)
    let differences = GraphComparison.differences(
      old, new, options: .init(comparesIdentity: false, comparesUnknownOrder: true))
    changes = []
    for difference in differences where isIncluded(difference) {
      switch (difference.kind, difference.object) {
      case (.inserted, let object?): changes.append(.inserted(object, values: Self.values(of: object, in: new.nodes)))
      case (.deleted, let object?): changes.append(.deleted(object, values: Self.values(of: object, in: old.nodes)))
      case (.changed, let object?):
        changes.append(
          .changed(
            object, property: difference.key ?? "", old: difference.oldValue ?? .null, new: difference.newValue ?? .null
          ))
      case (.metadata, _):
        // What the kit derives from the model, and the texts of dangling references, are not to be patched.
        guard let key = difference.key, !VersionHashes.derivedMetadataKeys.contains(key) else { continue }
        changes.append(
          .metadata(key: key, path: difference.path, old: difference.oldEntry, new: difference.newEntry))
      default: continue
      }
    }
  }

  private static func values(of object: ObjectReference, in nodes: NodeTable) -> [(
    property: String, value: StoredValue
  )] {
    guard let node = nodes.handle(for: object) else { return [] }
    return nodes.model.entity(at: node.entity).slots.compactMap { slot in
      let value = nodes.value(slot: slot.index, of: node)
      if value.isNull || value == .toMany([]) { return nil }
      return (slot.name, value)
    }
  }

  /// The patch that takes this one back.
  public var reversed: StorePatch {
    StorePatch(
      changes: changes.map { change in
        switch change {
        case .inserted(let object, let values): .deleted(object, values: values)
        case .deleted(let object, let values): .inserted(object, values: values)
        case .changed(let object, let property, let old, let new):
          .changed(object, property: property, old: new, new: old)
        case .metadata(let key, let path, let old, let new): .metadata(key: key, path: path, old: new, new: old)
        }
      })
  }

  /// Applies the patch to a graph.
  ///
  /// - Parameters:
  ///   - snapshot: The graph and its metadata.
  ///   - allowsEmptyNonOptionalToMany: Whether the patch may empty, or insert empty, a to-many relationship that is not
  ///     optional and has no minimum count: the coordinator's option of that name.
  /// - Returns: The changed graph. To-many relationships follow from their to-one inverses.
  /// - Throws: ``PatchConflictError`` with everything that does not fit, found in one pass, or otherwise with
  ///   everything in the result that breaks a rule or uniqueness constraint of the model which the graph did not break
  ///   in the same objects before; `PersistentStoreError` for values that are not of the property's type.
  public func apply(
    to snapshot: StoreSnapshot, allowsEmptyNonOptionalToMany: Bool = false
  ) throws -> StoreSnapshot {
    var application = PatchApplication(snapshot, allowsEmptyNonOptionalToMany: allowsEmptyNonOptionalToMany)
    return try application.run(changes)
  }
}
