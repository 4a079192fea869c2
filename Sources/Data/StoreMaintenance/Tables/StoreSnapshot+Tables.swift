package import AtomicStoreSPI

/// A store as tables: what is not in them is an entry of the metadata.
extension StoreSnapshot {
  /// The metadata entry of a store that holds another one as tables: a dictionary with the version of the form, the
  /// model of the other store, its metadata entries, the last reference that it assigned, and what was wrong with it.
  package static let tablesKey = "AtomicStoreTables"
  private static let tablesVersion = 1

  /// The store as tables, with the same UUID.
  ///
  /// - Throws: See ``RelationalForm/tables(of:)``.
  package func asTables(_ form: RelationalForm) throws(PersistentStoreError) -> StoreSnapshot {
    let tables = try form.tables(of: nodes)
    var rest = PropertyListDictionary()
    rest["version"] = .integer(Int128(Self.tablesVersion))
    rest["model"] = (metadata.model ?? nodes.model.description).propertyList
    rest["metadata"] = .dictionary(metadata.entries)
    rest["lastReference"] = .integer(Int128(metadata.lastReference))
    rest["findings"] = KnownFindings(nodes).propertyList
    return StoreSnapshot(
      nodes: tables,
      metadata: StoreMetadata(
        storeType: metadata.storeType, uuid: metadata.uuid, entries: [Self.tablesKey: .dictionary(rest)],
        lastReference: max(metadata.lastReference, tables.greatestIntegerReference), model: form.model.description))
  }

  /// What is wrong with the store that these tables hold and was not when they were made of one: what `check` lists,
  /// and derived attributes that cannot be computed. An empty to-many without a minimum count is not, since its objects
  /// may follow. Nothing where that was not recorded, as by version 0.2.
  ///
  /// - Parameter store: What ``ofTables()`` returned.
  package func newFindings(in store: StoreSnapshot) -> [CheckFinding] {
    knownFindings?.others(in: store.nodes) ?? []
  }

  private var knownFindings: KnownFindings? {
    metadata.entries[Self.tablesKey]?.dictionaryValue?["findings"].map { KnownFindings($0) }
  }

  /// The store that these tables hold, with its references, UUID and metadata. Derived attributes are computed, unless
  /// they had the wrong value already in the store that the tables were made of.
  ///
  /// - Returns: Also which of them had another value in the tables.
  /// - Throws: `.malformed` for a damaged metadata entry, `.unsupportedVersion`, `.modelMismatch` for tables of another
  ///   model; see ``RelationalForm/graph(of:)`` for the rows.
  package func ofTables() throws(PersistentStoreError) -> (store: StoreSnapshot, notes: [SelectionNote]) {
    func bad(_ what: String) -> PersistentStoreError {
      PersistentStoreError(.malformed, "the metadata entry \(Self.tablesKey): \(what)")
    }
    guard let rest = metadata.entries[Self.tablesKey]?.dictionaryValue else { throw bad("it is not a dictionary") }
    guard let version = rest["version"]?.integerValue else { throw bad("'version' is missing") }
    guard version == Self.tablesVersion else {
      throw PersistentStoreError(
        .unsupportedVersion,
        "the tables are of version \(version), but this version of the kit reads version \(Self.tablesVersion)")
    }
    guard let list = rest["model"] else { throw bad("'model' is missing") }
    guard let entries = rest["metadata"]?.dictionaryValue else { throw bad("'metadata' is not a dictionary") }
    guard case .integer(let number)? = rest["lastReference"], let last = Int64(exactly: number) else {
      throw bad("'lastReference' is missing or not an integer")
    }
    let model: ManagedObjectModel
    let description = try ModelDescription(propertyList: list)
    do throws(InvalidModelError) { model = try ManagedObjectModel(description) } catch { throw bad("\(error)") }
    let form = try RelationalForm(model)
    guard let tables = nodes.rebased(on: form.model) else {
      throw PersistentStoreError(
        .modelMismatch,
        "the tables do not fit the model in the metadata entry \(Self.tablesKey): \(form.difference(of: nodes.model))")
    }
    var graph = try form.graph(of: tables)
    let notes = try knownFindings?.recompute(&graph) ?? []
    // What was added to the directory, by its user or while it was read, is the store's.
    var all = entries
    for entry in metadata.entries
    where entry.key != Self.tablesKey && !VersionHashes.derivedMetadataKeys.contains(entry.key) {
      all[entry.key] = entry.value
    }
    let store = StoreSnapshot(
      nodes: graph,
      metadata: StoreMetadata(
        storeType: metadata.storeType, uuid: metadata.uuid, entries: all,
        lastReference: max(last, graph.greatestIntegerReference), model: description))
    return (store, notes)
  }
}
