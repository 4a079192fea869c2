package import AtomicStoreSPI

/// A store as tables: what is not in them is an entry of the metadata.
extension StoreSnapshot {
  /// The metadata entry of a store that holds another one as tables: a dictionary with the version of the form, the
  /// model of the other store, its metadata entries, and the last reference that it assigned.
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
    return StoreSnapshot(
      nodes: tables,
      metadata: StoreMetadata(
        storeType: metadata.storeType, uuid: metadata.uuid, entries: [Self.tablesKey: .dictionary(rest)],
        lastReference: max(metadata.lastReference, tables.greatestIntegerReference), model: form.model.description))
  }

  /// The store that these tables hold, with its references, UUID and metadata.
  ///
  /// - Throws: `.malformed` for a damaged metadata entry, `.unsupportedVersion`, `.modelMismatch` for tables of another
  ///   model; see ``RelationalForm/graph(of:)`` for the rows.
  package func ofTables() throws(PersistentStoreError) -> StoreSnapshot {
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
    let graph = try form.graph(of: tables)
    // What was added to the directory, by its user or while it was read, is the store's.
    var all = entries
    for entry in metadata.entries
    where entry.key != Self.tablesKey && !VersionHashes.derivedMetadataKeys.contains(entry.key) {
      all[entry.key] = entry.value
    }
    return StoreSnapshot(
      nodes: graph,
      metadata: StoreMetadata(
        storeType: metadata.storeType, uuid: metadata.uuid, entries: all,
        lastReference: max(last, graph.greatestIntegerReference), model: description))
  }
}
