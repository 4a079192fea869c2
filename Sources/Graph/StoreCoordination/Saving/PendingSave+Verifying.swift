import AtomicStoreSPI
import Synchronization

extension PendingSave {
  /// Reads the staged store with a new value of its format, as another program will, and compares it with what was
  /// saved.
  ///
  /// - Throws: `.unsupportedByFormat` where the format keeps something else than it was given and its traits do not say
  ///   so; what reading throws.
  func verify(_ store: PersistentStore) throws(PersistentStoreError) {
    do throws(PersistentStoreError) {
      guard let source = try stagedSource() else { return }
      var written = try readStaged(source, store)
      written.metadata.lastReference = snapshot.metadata.lastReference
      var wanted = snapshot
      wanted.nodes = try snapshot.nodes.supplied { slot, node, nodes throws(PersistentStoreError) in
        try format.value(slot: slot, of: node, in: nodes)
      }
      wanted.metadata.model = snapshot.metadata.model ?? snapshot.nodes.model.description
      try compare(wanted, written, type(of: format as any AtomicStore).storeType)
    } catch {
      throw error.located(StoreLocation(file: path))
    }
  }

  /// Refuses a save after which the store could not be opened again as it was opened this time.
  ///
  /// - Throws: `.limitExceeded` with the name of the limit; what reading throws.
  func refuseUnreadable(_ store: PersistentStore) throws(PersistentStoreError) {
    do throws(PersistentStoreError) {
      guard let source = try stagedSource() else { return }
      let limits = try store.state.withLock { $0.opening }.ownOptions().limits
      // Nearly all are far from every limit: the readers of all formats count less than this.
      if try limits.hasRoom(for: snapshot.nodes, of: source.totalSize()) { return }
      _ = try readStaged(source, store)
    } catch {
      var error = error.located(StoreLocation(file: path))
      if error.code == .limitExceeded {
        error.message += ": the store could not be opened again, so nothing was saved"
      }
      throw error
    }
  }

  /// Reads the staged store with a new value of its format, as it will be opened again.
  func readStaged(_ source: StoreSource, _ store: PersistentStore) throws(PersistentStoreError) -> StoreSnapshot {
    let opening = store.state.withLock { $0.opening }
    let formatType = type(of: format as any AtomicStore)
    let (own, limits, _, _) = try opening.ownOptions()
    let known = Set(formatType.traits.readOptions.map(\.name))
    var reader: any AtomicStore = try formatType.init(
      StoreConfiguration(
        path: path, configurationName: store.configurationName, options: own.filter { known.contains($0.key) },
        isReadOnly: true, limits: limits))
    let metadata = try reader.metadata(in: source)
    var model = snapshot.nodes.model
    if let carried = metadata.model, !carried.isInferred {
      do {
        model = try ManagedObjectModel(carried)
      } catch {
        throw PersistentStoreError(.invalidModel, "the model that was written is not valid", underlying: error)
      }
    }
    let nodes = try NodeTable.staged(
      source, by: &reader, model: model, file: path, limits: limits, written: snapshot.nodes)
    return StoreSnapshot(nodes: nodes, metadata: metadata)
  }

  private func compare(
    _ wanted: StoreSnapshot, _ written: StoreSnapshot, _ storeType: String
  ) throws(PersistentStoreError) {
    let keepsMetadata = format.traits.keepsMetadata
    let losses = format.traits.losses(for: wanted)
    let differences = GraphComparison.differences(
      wanted, written,
      options: .init(
        comparesIdentity: format.traits.keepsIdentity, comparesMetadata: keepsMetadata,
        comparesMissingDerivedMetadata: true,
        comparesModel: true, comparesUnknownOrder: true, limit: 20)
    ) { losses.isEmpty || !Loss.explain(losses, $0, wanted.nodes, written.nodes) }
    guard !differences.isEmpty else { return }
    throw PersistentStoreError(
      .unsupportedByFormat,
      "the format \(storeType) failed verification: the written store differs from the source; nothing was saved:\n"
        + differences.prefix(20).map { "  \($0)" }.joined(separator: "\n"))
  }
}

extension StoreLimits {
  /// Whether a store of that size with some objects certainly does not exceed a limit.
  fileprivate func hasRoom(for nodes: NodeTable, of size: Int) -> Bool {
    var usual = StoreLimits()
    usual.memory = memory
    return self == usual && nodes.memoryBound <= self.memory(forInput: size) / 4
  }
}
