import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import FoundationEssentials
import ModelFiles

/// Stores: loaded as a coordinator loads them, from memory, then saved and loaded again.
extension HostileTrial {
  func xmlStore(_ input: [UInt8]) throws -> HostileOutcome {
    let source = StoreSource(bytes: input, name: "store.xml")
    let outcome = try store("XML", source, [:], nil)
    // With a model the same file goes other ways: what it says is held against it.
    let isFriends = input.prefix(100_000).contains(subsequence: Array("FRIENDINFO".utf8))
    return try store("XML", source, [:], models[isFriends ? 0 : 1]) == .value ? .value : outcome
  }

  func csvStore(_ input: [UInt8]) throws -> HostileOutcome {
    var packed = PackedCSV(input)
    guard packed.isFolder else {
      let source = StoreSource(bytes: packed.file, name: "Person.csv")
      let outcome = try store("CSV", source, packed.options, nil)
      return try store("CSV", source, packed.options, models[0]) == .value ? .value : outcome
    }
    // Else every changed member would be refused for its digest alone.
    if packed.options["edited"] == nil { packed.options["edited"] = "accept" }
    return try store("CSV", StoreSource(members: packed.members, name: "Store.csvstore"), packed.options, nil)
  }

  func binaryStore(_ input: [UInt8]) throws -> HostileOutcome {
    let source = StoreSource(bytes: input, name: "store.binary")
    let outcome = try store("CoreDataBinary", source, [:], nil)
    return try store("CoreDataBinary", source, [:], models[0]) == .value ? .value : outcome
  }

  /// The input is one file of a directory whose other files are as they were written.
  func arrowStore(_ input: [UInt8]) throws -> HostileOutcome {
    let changed = HostileReader.arrowMember(of: input)
    let members = try arrowFiles.get().map { ($0.name, $0.name == changed ? input : $0.bytes) }
    return try store("Arrow", StoreSource(members: members, name: "Store.arrowstore"), [:], nil)
  }

  func sqliteStore(_ input: [UInt8]) throws -> HostileOutcome {
    let source = StoreSource(bytes: input, name: "store.sqlite")
    let outcome = try store("CoreDataSQLite", source, [:], nil)
    // With a model columns are held against it, and rows that fit nowhere are left out.
    _ = try store("CoreDataSQLite", source, ["rows": "skip"], people)
    for skips in [false, true] {
      try besideObjects(source, skips) { format, model throws(PersistentStoreError) in
        _ = try format.history(in: source, model: model)
      }
      try besideObjects(source, skips) { format, model throws(PersistentStoreError) in
        _ = try format.systemTables(in: source, model: model)
      }
    }
    for model in [nil, people] { try salvage(source, model) }
    return try store("CoreDataSQLite", source, [:], people) == .value ? .value : outcome
  }

  /// Reads what can be read of a damaged store.
  private func salvage(_ source: StoreSource, _ model: ManagedObjectModel?) throws {
    var configuration = StoreConfiguration(path: source.name)
    configuration.skipsDamagedObjects = true
    do throws(PersistentStoreError) {
      var format: any AtomicStore = try StoreRegistry.builtIn.storeType(named: "CoreDataSQLite").init(configuration)
      do throws(PersistentStoreError) {
        let metadata = try format.metadata(in: source)
        let chosen = try chosenModel(&format, source, metadata, model)
        let builder = NodeTableBuilder(model: chosen, file: source.name, inputBytes: try source.totalSize())
        builder.rules.damagedObjects = .skip
        try format.load(source, into: builder)
        _ = try builder.finish()
      } catch {
        throw error.located(StoreLocation(file: source.name))
      }
    } catch { _ = try judge(error, file: source.name) }
  }

  /// Reads what is beside the objects, with the store's model and another one.
  private func besideObjects(
    _ source: StoreSource, _ skipsDamage: Bool,
    _ body: (inout any AtomicStore, ManagedObjectModel?) throws(PersistentStoreError) -> Void
  ) throws {
    var configuration = StoreConfiguration(path: source.name)
    configuration.skipsDamagedObjects = skipsDamage
    for model in [nil, people] {
      do throws(PersistentStoreError) {
        var format: any AtomicStore = try StoreRegistry.builtIn.storeType(named: "CoreDataSQLite").init(configuration)
        do throws(PersistentStoreError) {
          let own = try format.metadata(in: source).model.flatMap { try? ManagedObjectModel($0) }
          try body(&format, model ?? own)
        } catch {
          throw error.located(StoreLocation(file: source.name))
        }
      } catch { _ = try judge(error, file: source.name) }
    }
  }

  /// Loads a store; what is loaded must come back from a save.
  func store(
    _ type: String, _ source: StoreSource, _ options: StoreOptions, _ model: ManagedObjectModel?
  ) throws -> HostileOutcome {
    let format = try StoreRegistry.builtIn.storeType(named: type)
    do throws(PersistentStoreError) { try format.traits.check(options, of: type) } catch { return .refused("option") }
    var opened: (snapshot: StoreSnapshot, value: any AtomicStore)
    do throws(PersistentStoreError) { opened = try load(format, source, options, model) } catch {
      return try judge(error, file: error.code == .invalidOption ? nil : source.name)
    }
    guard let first = try saved(&opened.value, opened.snapshot, as: source) else { return .value }
    let reread: (snapshot: StoreSnapshot, value: any AtomicStore)
    do throws(PersistentStoreError) {
      reread = try load(format, try first.sourceForVerification(name: source.name), options, model)
    } catch {
      throw finding("what was saved cannot be read: \(error)")
    }
    let differences = GraphComparison.differences(opened.snapshot, reread.snapshot, options: .init(limit: 3))
    guard differences.isEmpty else {
      throw finding("another graph after a round trip: \(differences.map(\.description).joined(separator: "; "))")
    }
    var value = reread.value
    if let second = try saved(&value, reread.snapshot, as: source) {
      guard try content(first, source.name) == content(second, source.name) else {
        throw finding("other bytes at the second save")
      }
    }
    return .value
  }

  private func load(
    _ format: any AtomicStore.Type, _ source: StoreSource, _ options: StoreOptions, _ model: ManagedObjectModel?
  ) throws(PersistentStoreError) -> (snapshot: StoreSnapshot, value: any AtomicStore) {
    var value = try format.init(StoreConfiguration(path: source.name, options: options))
    let place = StoreLocation(file: source.name)
    do throws(PersistentStoreError) {
      var metadata = try value.metadata(in: source)
      let chosen = try chosenModel(&value, source, metadata, model)
      metadata.model = chosen.description
      let builder = NodeTableBuilder(model: chosen, file: source.name, inputBytes: try source.totalSize())
      try value.load(source, into: builder)
      let nodes = try builder.finish()
      metadata.lastReference = max(metadata.lastReference, nodes.greatestIntegerReference)
      return (StoreSnapshot(nodes: nodes, metadata: metadata), value)
    } catch {
      throw error.located(place)
    }
  }

  private func chosenModel(
    _ value: inout any AtomicStore, _ source: StoreSource, _ metadata: StoreMetadata, _ model: ManagedObjectModel?
  ) throws(PersistentStoreError) -> ManagedObjectModel {
    if let model {
      if let stored = metadata.model, !stored.isInferred, !model.differences(from: stored).isEmpty {
        throw PersistentStoreError(.modelMismatch, "the store was written with another model")
      }
      return model
    }
    let description = if let stored = metadata.model { stored } else { try value.inferModel(from: source) }
    do { return try ManagedObjectModel(description) } catch {
      throw PersistentStoreError(.invalidModel, "the store's own model is not valid", underlying: error)
    }
  }

  /// Nil where the format says that it cannot carry what was read: a single CSV file under a model with more than it
  /// holds.
  private func saved(_ value: inout any AtomicStore, _ snapshot: StoreSnapshot, as source: StoreSource) throws
    -> StagedStore?
  {
    let staged = try StagedStore(
      target: scratch + "/" + source.name, layout: source.isFolder ? .folder : .file, policy: .replaceAny)
    // Columns cannot hold every value that other formats can; what they lose is forecast.
    if reader == .coreDataSQLite || reader == .coreDataBinary, !value.traits.losses(for: snapshot).isEmpty {
      return nil
    }
    do {
      try value.save(
        StoreSnapshot(nodes: try snapshot.nodes.canonical(), metadata: snapshot.metadata), to: staged.files)
      try staged.finish()
    } catch {
      if error.code == .unsupportedByFormat,
        reader == .csvStore && !source.isFolder || reader == .coreDataSQLite
          || reader == .coreDataBinary
      {
        return nil
      }
      throw finding("what was read cannot be saved: \(error)")
    }
    return staged
  }

  private func content(_ staged: borrowing StagedStore, _ name: String) throws -> [[UInt8]] {
    let source = try staged.sourceForVerification(name: name)
    guard source.isFolder else { return [try source.bytes().withUnsafeBytes { Array($0) }] }
    return try source.memberNames.flatMap {
      [Array($0.utf8), try source.bytes(ofMember: $0).withUnsafeBytes { Array($0) }]
    }
  }
}

extension Sequence where Element == UInt8 {
  fileprivate func contains(subsequence wanted: [UInt8]) -> Bool {
    let bytes = Array(self)
    guard bytes.count >= wanted.count else { return false }
    return (0...bytes.count - wanted.count).contains { bytes[$0] == wanted[0] && bytes[$0...].starts(with: wanted) }
  }
}
