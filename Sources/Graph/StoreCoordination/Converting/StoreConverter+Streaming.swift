import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// From one incremental store to another: row by row, so that memory does not grow with the number of objects.
extension StoreConverter {
  /// Converts a store row by row; nil if that is not possible, or something is asked for that needs all objects.
  func streamed(from source: String, to target: String) throws -> Report? {
    guard subset == nil, model == nil, readOptions.isEmpty, writeOptions.isEmpty, !renumbers, !isDryRun,
      let from = try registry.incrementalType(sourceType, at: source), let to = try incrementalTarget(target),
      from.traits.keepsEverything, to.traits.keepsEverything
    else { return nil }
    let (sourceAddress, address) = (StoreAddress(source, of: from), StoreAddress(target, of: to))
    progress?(.loading)
    let opening = StoreOpening(
      registry: registry, type: from.storeType, path: source, configurationName: nil, options: [:], isReadOnly: true,
      model: nil)
    let opened = try opening.openIncremental(from, readsWhole: false)
    defer { opened.connection?.close() }
    var graph = SourceGraph(opened, NodeTable(model: opened.model), leftOut: [])
    graph.paths = sourceAddress.isFile ? [sourceAddress.full] : []
    do {
      return try streamed(opened, graph, to: address, as: to)
    } catch let error as PersistentStoreError {
      throw error.located(StoreLocation(file: address.shown))
    }
  }

  private func streamed(
    _ source: PersistentStore, _ graph: SourceGraph, to address: StoreAddress, as type: any IncrementalStore.Type
  ) throws -> Report? {
    var metadata = graph.metadata
    metadata.storeType = type.storeType
    metadata.model = source.model.description
    if makesNewIdentifier { metadata.uuid = UUID() }
    metadata.setVersionHashes(of: source.model, configuration: nil, for: type.traits)
    var counts: [Int: Int]?
    do {
      try place(graph, at: address, type) { path, _ in
        counts = try copy(source, metadata, to: path, as: type)
        guard counts != nil else { throw PersistentStoreError(.notSupported, "the store cannot be copied row by row") }
      }
    } catch let error as PersistentStoreError where error.code == .notSupported && counts == nil {
      return nil
    }
    var report = Report(
      sourceType: graph.type, targetType: type.storeType,
      counts: source.model.entities.compactMap { entity in counts?[entity.index].map { (entity.name, $0) } },
      identifier: metadata.uuid, losses: [], selections: [], bytesWritten: 0, isDryRun: false)
    if address.isFile {
      // It is published: an unknown size does not change that.
      let status = try? SystemCall.status(address.full, followLinks: true)
      report.bytesWritten = status.map { Int($0.st_size) } ?? 0
    }
    return report
  }

  /// Has one store copied to another, which is created or replaced.
  private func copy(
    _ source: PersistentStore, _ metadata: StoreMetadata, to path: String, as type: any IncrementalStore.Type
  ) throws(PersistentStoreError) -> [Int: Int]? {
    guard let connection = source.connection else { return nil }
    progress?(.writing)
    let (mayReplace, progress) = (replacesTarget, progress)
    return try connection.use { store throws(PersistentStoreError) in
      var target = try type.init(StoreConfiguration(path: path, isReadOnly: false))
      defer { target.close() }
      let counts = try target.replaceAll(with: store, metadata: metadata, mayReplace: mayReplace) {
        progress?(.verifying)
      }
      if counts != nil { progress?(.publishing) }
      return counts
    }
  }
}

extension StoreTraits {
  /// Whether nothing that a store can hold is lost.
  fileprivate var keepsEverything: Bool {
    references == .all && keepsOrder && keepsNilApartFromEmpty && keepsSpecialFloats && keepsDecimals && keepsMetadata
      && keepsIdentity && maximumEntities == nil && unsupportedTypes.isEmpty && writes == .all
  }
}
