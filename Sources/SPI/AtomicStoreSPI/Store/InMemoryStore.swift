/// Objects that a process keeps in memory: nothing is written to disk, and they end with the process.
///
/// Register it as any format, or use `StoreRegistry.builtIn`, which has it. The path of such a store is `memory:NAME`;
/// all coordinators of a process that open the same name share one store, as if it were a file, until the last of them
/// removes it or is released. Without a name, `memory:` or `/dev/null`, each store is private.
///
/// ```swift
/// let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
/// try coordinator.addPersistentStore(type: "InMemory", at: "memory:")
/// ```
///
/// Everything that applies to stores in files applies to it: saves are all or nothing, conflicts between contexts and
/// coordinators are found, references are never used again, the model's rules hold. The coordinator keeps the objects,
/// so ``load(_:into:)`` and ``save(_:to:)`` are never called.
package struct InMemoryStore: AtomicStore {
  package static let storeType = "InMemory"
  package static let traits = StoreTraits(
    summary: "Objects in memory, shared by name within a process", fileExtensions: [], isInProcess: true)

  /// No file is a store of this type.
  package static func recognize(_ probe: StoreProbe) -> Recognition { .no }

  package init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {}

  /// Throws `.notSupported`: there is no file.
  package mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    throw Self.refusal
  }
  /// Throws `.notSupported`: there is no file.
  package mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    throw Self.refusal
  }
  /// Throws `.notSupported`: a conversion needs a format that writes files.
  package mutating func save(_ snapshot: StoreSnapshot, to files: StagedFiles) throws(PersistentStoreError) {
    throw Self.refusal
  }

  private static var refusal: PersistentStoreError {
    PersistentStoreError(.notSupported, "InMemory stores exist in the memory of a process only, not as files")
  }
}
