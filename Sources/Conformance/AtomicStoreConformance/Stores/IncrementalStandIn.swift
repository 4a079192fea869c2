import AtomicStoreSPI

/// Where the harness lists store formats, an incremental type is listed as this one: it has the name and the traits of
/// the type, and neither reads nor writes.
struct IncrementalStandIn<Base: IncrementalStore>: AtomicStore {
  static var storeType: String { Base.storeType }
  static var traits: StoreTraits { Base.traits }
  static func recognize(_ probe: StoreProbe) -> Recognition { .no }

  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) { throw Self.failure }
  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata { throw Self.failure }
  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    throw Self.failure
  }
  mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    throw Self.failure
  }
  private static var failure: PersistentStoreError {
    PersistentStoreError(.notSupported, "\(Base.storeType) is an incremental store, and is not read as a file")
  }
}
