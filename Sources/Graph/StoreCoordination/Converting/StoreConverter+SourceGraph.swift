import AtomicStoreSPI
import Synchronization

extension StoreConverter {
  /// A store's objects, or the part that is asked for, with deferred values supplied.
  func graph(of store: PersistentStore) throws -> SourceGraph {
    var graph: SourceGraph
    if let connection = store.connection {
      graph = try self.graph(of: store, connection)
    } else {
      let (nodes, left) = try subset?.nodes(of: store) ?? (store.nodes, [])
      graph = SourceGraph(store, try store.supplyingDeferredValues(of: nodes), leftOut: left)
    }
    try recompute(&graph, madeOf: [store])
    if renumbers { try graph.renumber() }
    return graph
  }

  /// A graph in memory.
  func graph(
    _ snapshot: StoreSnapshot, type: String, _ notes: [StoreSelection.Note], madeOf sources: [PersistentStore]
  ) throws -> SourceGraph {
    var graph = try SourceGraph(snapshot, type: type, notes, madeOf: sources)
    try recompute(&graph, madeOf: sources)
    return graph
  }

  private func recompute(_ graph: inout SourceGraph, madeOf sources: [PersistentStore]) throws {
    guard let recomputesDerived, sources.contains(where: \.isReadInPart) else { return }
    graph.notes += try recomputesDerived(&graph.nodes)
  }

  /// The objects of a database that is open, as they are in it now.
  func graph(of store: PersistentStore, _ connection: IncrementalConnection) throws(PersistentStoreError) -> SourceGraph
  {
    guard subset == nil else {
      throw PersistentStoreError(
        .notSupported, "of a database that is open in a coordinator no part is converted: convert it by its path",
        at: StoreLocation(file: store.path))
    }
    let builder = NodeTableBuilder(model: store.model, file: store.path)
    builder.compareEnds(by: try store.rules().inverses)
    let (nodes, found) = try connection.readWithMetadata(into: builder)
    guard found.uuid == store.identifier else {
      throw PersistentStoreError(
        .unavailable, "the store was replaced since it was opened: open it again", at: StoreLocation(file: store.path))
    }
    var graph = SourceGraph(store, nodes, leftOut: [])
    // Numbers of objects that are gone stay used up. Other processes may have set entries; unsaved ones move.
    graph.metadata.lastReference = max(graph.metadata.lastReference, found.lastReference)
    if !store.hasUnsavedMetadata { graph.metadata.entries = found.entries }
    return graph
  }

  /// What is written.
  struct SourceGraph {
    var nodes: NodeTable
    var metadata: StoreMetadata
    /// The paths of the stores that it was made of.
    var paths: [String]
    /// Which databases it was made of.
    var instances: Set<String>
    var type: String
    var configurationName: String?
    var notes: [StoreSelection.Note]
    /// What the store's format left out when it loaded.
    var loadNotes: [LoadNote] = []
    /// Ends of relationships that were changed, since the target does not keep ends that contradict each other.
    var reconciled: [Loss] = []
    /// What the target must still be, for a graph that takes the place of the store it was made of.
    var replaced: FileIdentity?
    /// For such a graph, the format as it read the store: it knows the store's delimiter, columns and the like.
    var format: (any AtomicStore)?
    /// The objects that got other references.
    var renumbering: Renumbering?
    /// What such a store was opened with.
    var readOptions: StoreOptions = [:]

    init(_ store: PersistentStore, _ nodes: NodeTable, leftOut: [StoreSelection.Note]) {
      self.nodes = nodes
      metadata = store.metadata
      paths = store.isReachedByURL ? [] : [store.path]
      instances = Self.instances(of: [store])
      type = store.type
      configurationName = store.configurationName
      notes = store.readNotes + leftOut
      loadNotes = store.loadNotes
    }

    /// A graph in memory.
    ///
    /// - Throws: `.internalInconsistency` for one with values that were never read: they would be lost.
    init(
      _ snapshot: StoreSnapshot, type: String, _ notes: [StoreSelection.Note], madeOf sources: [PersistentStore]
    ) throws(PersistentStoreError) {
      nodes = snapshot.nodes
      metadata = snapshot.metadata
      paths = sources.filter { !$0.isReachedByURL }.map(\.path)
      instances = Self.instances(of: sources)
      self.type = type
      self.notes = notes
      loadNotes = sources.flatMap(\.loadNotes)
      if let (node, slot) = nodes.deferredSlots.first(where: { nodes.contains($0.0) }) {
        let entity = nodes.model.entity(at: node.entity)
        throw PersistentStoreError(
          .internalInconsistency, "the value was never read from the store that it is in",
          at: StoreLocation(entity: entity.name, property: entity.slots[slot].name))
      }
    }

    private static func instances(of stores: [PersistentStore]) -> Set<String> {
      Set(stores.compactMap { store in store.state.withLock { $0.instance } })
    }

    /// Whether the store that is replaced never stored what would be lost: a table that another program wrote has
    /// neither a UUID nor references.
    func hadNone(of loss: Loss) -> Bool {
      guard let format else { return false }
      return loss.kind == .storeIdentity || (loss.kind == .referenceRenumbered && format.traits.references == .derived)
    }

    /// Takes the place of an open store.
    ///
    /// - Throws: `.notSupported` if the format does not change stores; `.invalidOption` for options: the form is kept.
    mutating func replace(_ store: PersistentStore, _ options: StoreOptions) throws(PersistentStoreError) {
      let open = store.state.withLock { $0 }
      guard open.format.traits.writes == .all else {
        throw PersistentStoreError(
          .notSupported,
          "\(store.type) \(StoreTraits.changeRefusal): write the result to another path",
          at: StoreLocation(file: store.path), remedy: .init(.newStore))
      }
      guard options.isEmpty else {
        throw PersistentStoreError(
          .invalidOption,
          "a store that is changed in place keeps its form; name another path for a result with write options",
          at: StoreLocation(file: store.path))
      }
      configurationName = store.configurationName
      replaced = open.fileIdentity
      format = open.format
      readOptions = open.opening.options
    }
  }
}

extension StoreConverter.SourceGraph {
  /// Writes the graph. If ends of its relationships contradict each other, and the target does not keep them, as a
  /// format does that has one end only, the to-one ends decide, which is a loss.
  ///
  /// - Throws: What `write` throws for the graph as it is.
  func writtenAgreeing<Result: ~Copyable>(_ write: (Self) throws -> Result) throws -> Result {
    do {
      return try write(self)
    } catch let error where isOfEnds(error) {
      for keepsToOnes in [true, false] where !nodes.inverseDisagreements(limit: 1).isEmpty {
        var copy = self
        let agreeing = try nodes.reconciled(by: .fromToOne, keepsToOnes: keepsToOnes)
        copy.nodes = agreeing.nodes
        copy.reconciled = agreeing.notes.map {
          Loss(kind: .endsReconciled, subject: "\($0.subject), \($0.text)", count: $0.count)
        }
        do { return try write(copy) } catch let error where isOfEnds(error) { continue }
      }
      throw error
    }
  }

  /// Whether a result did not read back equal, in relationships that have an inverse only. Databases compare within
  /// their transaction, and name the first difference.
  private func isOfEnds(_ error: any Error) -> Bool {
    guard let error = error as? StoreConverter.VerificationError else {
      return (error as? PersistentStoreError)?.code == .internalInconsistency
    }
    return error.differences.allSatisfy { difference in
      guard let entity = difference.object.flatMap({ nodes.model.entity(named: $0.entityName) }),
        let slot = difference.key.flatMap({ entity.slot(named: $0) })
      else { return false }
      return entity.slots[slot].inverseSlot != nil
    }
  }
}
