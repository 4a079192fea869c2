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
      let opening = store.state.withLock { $0.opening }
      let formatType = type(of: format as any AtomicStore)
      let (own, limits, _, _) = try opening.ownOptions()
      let known = Set(formatType.traits.readOptions.map(\.name))
      var reader: any AtomicStore = try formatType.init(
        StoreConfiguration(
          path: path, configurationName: store.configurationName, options: own.filter { known.contains($0.key) },
          isReadOnly: true, limits: limits))
      var metadata = try reader.metadata(in: source)
      var model = snapshot.nodes.model
      if let carried = metadata.model, !carried.isInferred {
        do {
          model = try ManagedObjectModel(carried)
        } catch {
          throw PersistentStoreError(.invalidModel, "the model that was written is not valid", underlying: error)
        }
      }
      let builder = NodeTableBuilder(model: model, file: path)
      builder.compareEnds(by: .asStored)
      builder.share(snapshot.nodes)
      try reader.load(source, into: builder)
      metadata.lastReference = snapshot.metadata.lastReference
      var written = StoreSnapshot(nodes: try builder.finish(), metadata: metadata)
      try Self.supplyAll(&written.nodes, &reader)
      var wanted = snapshot
      try Self.supplyAll(&wanted.nodes, &format)
      wanted.metadata.model = snapshot.metadata.model ?? snapshot.nodes.model.description
      try compare(wanted, written, formatType.storeType)
    } catch {
      throw error.located(StoreLocation(file: path))
    }
  }

  private static func supplyAll(
    _ nodes: inout NodeTable, _ format: inout any AtomicStore
  ) throws(PersistentStoreError) {
    for (node, slot) in nodes.deferredSlots where nodes.contains(node) {
      try nodes.set(try format.value(slot: slot, of: node, in: nodes), slot: slot, of: node)
    }
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
      "the format \(storeType) does not keep all of it: what it wrote does not read back equal; nothing was saved:\n"
        + differences.prefix(20).map { "  \($0)" }.joined(separator: "\n"))
  }
}
