package import AtomicStoreSPI
import FoundationEssentials

/// Changes a database where it is.
extension StoreConverter {
  /// Replaces everything in a database by what a function makes of it, in one transaction, which ends only after
  /// everything was read back and compared.
  ///
  /// - Parameters:
  ///   - target: The path or URL.
  ///   - change: Called with all objects and the metadata; nil leaves the store as it is. It may be called again.
  /// - Returns: What the store has now, or would have: in a dry run, the transaction is rolled back.
  /// - Throws: `.notSupported` for a type that cannot do that; ``LossError``, ``VerificationError``, and what `change`
  ///   throws. On any error the store is as it was.
  package func rewrite(
    _ target: String, as type: any IncrementalStore.Type,
    _ change: (NodeTable, StoreMetadata) throws -> StoreSnapshot?
  ) throws -> Report {
    let address = StoreAddress(target, of: type)
    do {
      return try rewrite(address, type, change)
    } catch let error as PersistentStoreError {
      throw error.located(StoreLocation(file: address.shown))
    }
  }

  private func rewrite(
    _ address: StoreAddress, _ type: any IncrementalStore.Type,
    _ change: (NodeTable, StoreMetadata) throws -> StoreSnapshot?
  ) throws -> Report {
    var store: any IncrementalStore = try type.init(
      StoreConfiguration(path: address.full, options: readOptions, isReadOnly: false))
    defer { store.close() }
    var isRehearsed = false
    var report: Report?
    var wanted: StoreSnapshot?
    do throws(PersistentStoreError) {
      let isDone = try store.rewrite { found, read throws(PersistentStoreError) in
        do {
          progress?(.loading)
          let nodes = try Self.nodes(of: found, address, read)
          let changed = try change(nodes, found)
          let result = try prepared(changed ?? StoreSnapshot(nodes: nodes, metadata: found), found, type)
          (report, wanted) = (result.report, result.snapshot)
          guard changed != nil else { return nil }
          progress?(.writing)
          return result.snapshot
        } catch {
          throw CallbackError.passed(error)
        }
      } verify: { read throws(PersistentStoreError) in
        do {
          progress?(.verifying)
          guard let wanted else { return }
          let builder = NodeTableBuilder(model: wanted.nodes.model, file: address.shown)
          builder.compareEnds(by: .asStored)
          let metadata = try read(builder)
          let written = StoreSnapshot(nodes: try builder.finish(), metadata: metadata)
          try Self.verify(written, against: wanted, [], targetType: type.storeType, comparesMetadata: true)
          if isDryRun {
            isRehearsed = true
            throw Self.rehearsed
          }
          progress?(.publishing)
        } catch {
          throw CallbackError.passed(error)
        }
      }
      guard isDone else {
        throw PersistentStoreError(
          .notSupported, "\(type.storeType) stores cannot be changed as a whole where they are")
      }
    } catch {
      guard isRehearsed else { throw CallbackError.thrown(error) }
    }
    guard let report else { throw PersistentStoreError(.internalInconsistency, "the store was not read") }
    return report
  }

  /// What ends the transaction of a dry run, so that it is rolled back.
  static var rehearsed: PersistentStoreError {
    PersistentStoreError(.internalInconsistency, "a dry run rolls back its transaction")
  }

  private static func nodes(
    of metadata: StoreMetadata, _ address: StoreAddress,
    _ read: (NodeTableBuilder) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> NodeTable {
    guard let description = metadata.model else {
      throw PersistentStoreError(.modelNeeded, "the store does not contain a model")
    }
    let model: ManagedObjectModel
    do { model = try ManagedObjectModel(description) } catch {
      throw PersistentStoreError(.invalidModel, "the store's own model is not valid", underlying: error)
    }
    let builder = NodeTableBuilder(model: model, file: address.shown)
    builder.compareEnds(by: .toOneAsStored)
    try read(builder)
    return try builder.finish()
  }

  private func prepared(
    _ changed: StoreSnapshot, _ found: StoreMetadata, _ type: any IncrementalStore.Type
  ) throws -> (snapshot: StoreSnapshot, report: Report) {
    var metadata = changed.metadata
    let model = changed.nodes.model
    metadata.storeType = type.storeType
    metadata.model = model.description
    metadata.setVersionHashes(of: model, configuration: nil, for: type.traits)
    metadata.lastReference = max(metadata.lastReference, found.lastReference, changed.nodes.greatestIntegerReference)
    let snapshot = StoreSnapshot(nodes: try changed.nodes.canonical(), metadata: metadata)
    try UniquenessGroup.refuse(in: snapshot.nodes)
    let losses = type.traits.losses(for: snapshot, includingMetadata: true)
    let refused = losses.filter { $0.kind.lossClass == .value }
    guard refused.isEmpty else { throw LossError(targetType: type.storeType, losses: refused) }
    let report = Report(
      sourceType: type.storeType, targetType: type.storeType,
      counts: model.entities.compactMap { entity in
        let count = snapshot.nodes.count(of: entity.index)
        return count > 0 ? (entity.name, count) : nil
      },
      identifier: metadata.uuid, losses: losses, selections: [], bytesWritten: 0, isDryRun: isDryRun)
    guard !losses.isEmpty else { return (snapshot, report) }
    return (StoreSnapshot(nodes: try type.traits.reduced(snapshot.nodes), metadata: metadata), report)
  }
}
