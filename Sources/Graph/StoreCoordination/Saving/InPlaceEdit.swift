import AtomicStoreSPI
import FoundationEssentials

/// The change of a store whose format edits its file itself: see ``/AtomicStoreSPI/EditableStore``.
///
/// Within the format's transaction the store is read twice: before the change, which is refused if it is based on
/// something else, and after it, which is rolled back if the result is not what it should be.
struct InPlaceEdit {
  let path: String
  /// How the store was opened: it is read in the same way again.
  let opening: StoreOpening
  let before: StoreSnapshot
  let after: StoreSnapshot

  /// - Parameters:
  ///   - before: What was read from the store.
  ///   - after: What it is to hold. Entries that describe the model stay: the tables are not changed.
  init(
    _ path: String, _ opening: StoreOpening, from before: StoreSnapshot, to after: StoreSnapshot
  ) throws(PersistentStoreError) {
    self.path = path
    self.opening = opening
    self.before = StoreSnapshot(nodes: try before.nodes.canonical(), metadata: before.metadata)
    var metadata = after.metadata
    for key in VersionHashes.derivedMetadataKeys { metadata.entries[key] = before.metadata.entries[key] }
    self.after = StoreSnapshot(nodes: try after.nodes.canonical(), metadata: metadata)
  }

  /// Changes the file.
  ///
  /// - Parameter beforeEnd: Called when the result was verified, before the transaction ends.
  /// - Returns: The state of the file after that, and what the format reported.
  /// - Throws: `.changedOnDisk` if the store does not hold what the change is based on. On any error it is as it was.
  func run(
    _ format: inout any EditableStore,
    beforeEnd: () throws(PersistentStoreError) -> Void = { () throws(PersistentStoreError) in }
  ) throws(PersistentStoreError) -> (identity: FileIdentity?, notes: [LoadNote]) {
    let place = try StorePath.inspect(path)
    guard place.holdsContent else { throw .changedMeanwhile(path) }
    let source = try StoreSource(opening: place)
    let files = CompanionChanges(beside: place)
    do throws(PersistentStoreError) {
      try format.edit(
        StoreEdit(source: source, before: before, after: after), beside: files,
        check: check,
        verify: { (read) throws(PersistentStoreError) in
          try files.publish()
          try verify(read)
          try beforeEnd()
        })
    } catch {
      try files.rollBack(after: error)
      throw error.located(StoreLocation(file: path))
    }
    files.conclude()
    return (try? StorePath.inspect(path).identity, source.notes)
  }

  /// Writes a changed copy of the store, reads it back and compares it.
  ///
  /// - Parameter target: The copy's name for errors.
  /// - Returns: The size of the copy, and what the format reported.
  func write(
    _ format: inout any EditableStore, to staged: borrowing StagedStore, shownAs target: String
  ) throws(PersistentStoreError) -> (size: Int, notes: [LoadNote]) {
    let origin = try StoreSource(opening: try StorePath.inspect(path))
    do throws(PersistentStoreError) {
      try format.save(StoreEdit(source: origin, before: before, after: after), to: staged.files, check: check)
      try staged.finish()
    } catch {
      throw error.located(StoreLocation(file: target))
    }
    let copy = try staged.sourceForVerification(name: target)
    let formatType = Swift.type(of: format as any AtomicStore)
    let (own, limits, _, _) = try opening.ownOptions()
    let known = Set(formatType.traits.readOptions.map(\.name))
    let configuration = StoreConfiguration(
      path: staged.targetPath, options: own.filter { known.contains($0.key) }, isReadOnly: true, limits: limits)
    try verify { (nodes) throws(PersistentStoreError) in
      var reader: any AtomicStore = try formatType.init(configuration)
      let metadata = try reader.metadata(in: copy)
      try reader.load(copy, into: nodes)
      return metadata
    }
    return (try copy.totalSize(), origin.notes)
  }

  /// Refuses a store that does not hold what was read from it.
  func check(_ read: StoreEdit.Reading) throws(PersistentStoreError) {
    guard try differences(from: before, read, limit: 1).isEmpty else { throw .changedMeanwhile(path) }
  }

  /// Refuses a result that is not what it should be.
  func verify(_ read: StoreEdit.Reading) throws(PersistentStoreError) {
    let differences = try differences(from: after, read, limit: 20)
    guard !differences.isEmpty else { return }
    throw PersistentStoreError(
      .internalInconsistency,
      "the store would differ from what was saved, so nothing was saved:\n"
        + differences.map { "  \($0)" }.joined(separator: "\n"), at: StoreLocation(file: path))
  }

  private func differences(
    from wanted: StoreSnapshot, _ read: StoreEdit.Reading, limit: Int
  ) throws(PersistentStoreError) -> [GraphDifference] {
    var found = try opening.reread(sharing: wanted.nodes, read)
    var wanted = wanted
    // References that were given out and not used are not in the file, and texts of dangling references only as far as
    // they were written once.
    found.metadata.lastReference = wanted.metadata.lastReference
    for key in [RelationshipRules.danglingReferencesKey] {
      (found.metadata.entries[key], wanted.metadata.entries[key]) = (nil, nil)
    }
    return GraphComparison.differences(
      wanted, found, options: .init(comparesMissingDerivedMetadata: true, comparesUnknownOrder: true, limit: limit))
  }
}

extension StoreOpening {
  /// Reads objects as this opening has read them, from where a format says.
  ///
  /// - Parameter nodes: What they most probably equal.
  func reread(sharing nodes: NodeTable, _ read: StoreEdit.Reading) throws(PersistentStoreError) -> StoreSnapshot {
    let (_, limits, rules, _) = try ownOptions()
    let builder = NodeTableBuilder(
      model: nodes.model, file: path, limits: limits, inputBytes: try StorePath.inspect(path).size)
    builder.rules = rules
    builder.inverseHandling = .enforce
    builder.share(nodes)
    let metadata = try read(builder)
    let found = try builder.finish()
    try refuse(damage: builder.damage)
    return StoreSnapshot(nodes: found, metadata: metadata)
  }
}

extension StoreTraits {
  /// The objects with values as the format keeps them, if it keeps all of them, and only spells some in another way.
  func respelled(_ snapshot: StoreSnapshot) throws(PersistentStoreError) -> NodeTable {
    let losses = losses(for: snapshot, includingMetadata: false)
    guard !losses.isEmpty, losses.allSatisfy({ $0.kind.lossClass == .spelling }) else { return snapshot.nodes }
    return try reduced(snapshot.nodes)
  }
}
