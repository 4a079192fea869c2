public import FoundationEssentials

/// A store format: adopt it to teach the kit another way to keep a graph of objects in a file or directory.
///
/// The requirements are in the order of an atomic store's life, as Apple's *Atomic Store Life-cycle* describes it:
///
/// | Core Data | here |
/// |---|---|
/// | `registerStoreClass:forStoreType:` | `StoreRegistry.register(_:)` under ``storeType`` |
/// | `initWithPersistentStoreCoordinator:configurationName:URL:options:` | ``init(_:)`` |
/// | `metadata` | ``metadata(in:)`` |
/// | `load:`, `addCacheNodes:`, `objectIDForEntity:referenceObject:` | ``load(_:into:)`` |
/// | `newReferenceObjectForManagedObject:` | ``newReferenceObject(for:in:metadata:)`` |
/// | `newCacheNodeForManagedObject:` | ``newCacheNode(for:in:)`` |
/// | `updateCacheNode:fromManagedObject:` | ``updateCacheNode(_:from:in:)`` |
/// | `willRemoveCacheNodes:` | ``willRemoveCacheNodes(_:from:)`` |
/// | `save:` | ``save(_:to:)`` |
/// | `willRemoveFromPersistentStoreCoordinator:` | ``willRemove(from:)`` |
///
/// **You implement** ``storeType``, ``traits-type.property``, ``recognize(_:)``, ``init(_:)``, ``metadata(in:)``,
/// ``load(_:into:)`` and ``save(_:to:)``. **You may customize** the rest; each says what its default does.
///
/// Before it calls a format, the kit finds out what is at the path: nothing, zero bytes, this format, another one, a
/// directory, a link, or something unreadable. It creates and removes reservation files, sets type and UUID, resolves
/// relationships, assigns references, stages what is written and renames it. A format only reads content that it
/// recognized, never an empty file, and an error in its clean-up does not prevent the kit's.
///
/// Adopt it with a `struct`. There is one value for each open store, and its methods are called one at a time, so it
/// needs no locks.
///
/// ## A whole format
///
/// This one passes the conformance checks that `Conformance.smoke(for:)` selects. It keeps no metadata and no model,
/// and says so in its traits.
///
/// ```swift
/// import AtomicStoreSPI
/// import FoundationEssentials
///
/// /// Objects as lines of text: entity, reference, and a cell for each property by name, separated by tabs. The first line
/// /// has the UUID, the last reference and the number of objects. In a cell `\t`, `\n` and `\\` stand for tab, line feed
/// /// and backslash.
/// struct TabbedStore: AtomicStore {
///   static let storeType = "Tabbed"
///   static let traits = StoreTraits(
///     summary: "Lines of cells, separated by tabs", fileExtensions: ["tabbed"], references: .integersOnly,
///     keepsMetadata: false, isSelfDescribing: false)
///
///   static func recognize(_ probe: StoreProbe) -> Recognition { probe.begins(with: "TABBED\t") ? .yes : .no }
///
///   init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {}
///
///   mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
///     try header(try lines(source, limit: 256), source).metadata
///   }
///
///   mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
///     let lines = try lines(source)
///     let count = try header(lines, source).count
///     let slots = nodes.model.entities.map(slotsByName)
///     for (number, cells) in zip(2..., lines.dropFirst().dropLast()) {
///       guard cells.count >= 2, let entity = nodes.model.entity(named: cells[0]), entity.slots.count == cells.count - 2
///       else { throw malformed("there is no entity '\(cells[0])' with so many properties", source, number) }
///       try nodes.beginNode(entity: entity.index, reference: try integer(cells[1], source, number), line: number)
///       for (slot, cell) in zip(slots[entity.index], cells.dropFirst(2)) where !cell.isEmpty {
///         switch slot.kind {
///         case .attribute:
///           guard let value = StoredValue(typedText: cell) else {
///             throw malformed("'\(cell)' is not a value", source, number)
///           }
///           try nodes.set(value, slot: slot.index)
///         case .toOne:
///           try nodes.set(toOne: try integer(cell, source, number), slot: slot.index)
///         case .toMany:
///           for reference in cell.split(separator: " ") {
///             try nodes.append(toMany: try integer(String(reference), source, number), slot: slot.index)
///           }
///         }
///       }
///     }
///     // A file that was cut at the end of a line looks whole, except for the count.
///     guard lines.last == [""], lines.count - 2 == count else {
///       throw malformed("the header counts \(count) objects, and others follow", source, lines.count)
///     }
///   }
///
///   mutating func save(_ snapshot: StoreSnapshot, to files: StagedFiles) throws(PersistentStoreError) {
///     let (nodes, metadata) = (snapshot.nodes, snapshot.metadata)
///     let file = try files.file()
///     var bytes: [UInt8] = []
///     append(["TABBED", "1", metadata.uuid.uuidString, "\(metadata.lastReference)", "\(nodes.count)"], to: &bytes)
///     for entity in nodes.model.entities {
///       let reader = nodes.reader(of: entity.index)
///       let slots = slotsByName(entity)
///       for row in 0..<reader.count {
///         guard let reference = reader.integerReference(row: row) else {
///           throw PersistentStoreError(
///             .unsupportedByFormat, "a reference must be an integer, not '\(reader.reference(row: row))'",
///             at: StoreLocation(entity: entity.name))
///         }
///         let cells = slots.map { slot in
///           switch reader.value(slot: slot.index, row: row) {
///           case .toOne(let object): object.reference.description
///           case .toMany(let objects): objects.map(\.reference.description).joined(separator: " ")
///           case let value: value.typedText
///           }
///         }
///         append([entity.name, "\(reference)"] + cells, to: &bytes)
///         if bytes.count > 1 << 16 {
///           try file.write(bytes)
///           bytes.removeAll(keepingCapacity: true)
///         }
///       }
///     }
///     try file.write(bytes)
///   }
///
///   /// The order of the cells: another model of the store may list its properties in another one.
///   private func slotsByName(_ entity: Entity) -> [Slot] {
///     entity.slots.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
///   }
///
///   // MARK: Lines
///
///   /// Appends a line. It works on bytes: the characters of a string would hide the line feed of `\r\n`.
///   private func append(_ cells: [String], to bytes: inout [UInt8]) {
///     for (index, cell) in cells.enumerated() {
///       if index > 0 { bytes.append(UInt8(ascii: "\t")) }
///       for byte in cell.utf8 {
///         switch byte {
///         case UInt8(ascii: "\t"): bytes += "\\t".utf8
///         case UInt8(ascii: "\n"): bytes += "\\n".utf8
///         case UInt8(ascii: "\\"): bytes += "\\\\".utf8
///         default: bytes.append(byte)
///         }
///       }
///     }
///     bytes.append(UInt8(ascii: "\n"))
///   }
///
///   /// Reads lines, with a limit as many as are in the first bytes. The last one is what follows the last line feed.
///   private func lines(_ source: StoreSource, limit: Int? = nil) throws(PersistentStoreError) -> [[String]] {
///     var lines: [[String]] = []
///     let bytes = try source.bytes(limit: limit).withUnsafeBytes { Array($0) }
///     for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
///       var cells: [String] = []
///       for cell in line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false) {
///         var plain: [UInt8] = []
///         var rest = cell.makeIterator()
///         while let byte = rest.next() {
///           guard byte == UInt8(ascii: "\\") else {
///             plain.append(byte)
///             continue
///           }
///           switch rest.next() {
///           case UInt8(ascii: "t"): plain.append(UInt8(ascii: "\t"))
///           case UInt8(ascii: "n"): plain.append(UInt8(ascii: "\n"))
///           case UInt8(ascii: "\\"): plain.append(byte)
///           default: throw malformed("a backslash that stands for nothing", source, lines.count + 1)
///           }
///         }
///         guard let text = String(validating: plain, as: UTF8.self) else {
///           throw malformed("the text is not UTF-8", source, lines.count + 1)
///         }
///         cells.append(text)
///       }
///       lines.append(cells)
///       if limit != nil { break }
///     }
///     return lines
///   }
///
///   private func header(
///     _ lines: [[String]], _ source: StoreSource
///   ) throws(PersistentStoreError) -> (metadata: StoreMetadata, count: Int) {
///     let cells = lines[0]
///     guard cells.count == 5, cells[0] == "TABBED", let uuid = UUID(uuidString: cells[2]) else {
///       throw malformed("this is not a header", source, 1)
///     }
///     guard cells[1] == "1" else {
///       throw malformed("the version is '\(cells[1])', and this code reads 1", source, 1, .unsupportedVersion)
///     }
///     let last = try integer(cells[3], source, 1)
///     let metadata = StoreMetadata(storeType: Self.storeType, uuid: uuid, lastReference: last)
///     return (metadata, Int(try integer(cells[4], source, 1)))
///   }
///
///   private func integer(_ text: String, _ source: StoreSource, _ line: Int) throws(PersistentStoreError) -> Int64 {
///     guard let number = Int64(text) else { throw malformed("'\(text)' is not an integer", source, line) }
///     return number
///   }
///
///   private func malformed(
///     _ message: String, _ source: StoreSource, _ line: Int, _ code: PersistentStoreError.Code = .malformed
///   ) -> PersistentStoreError {
///     PersistentStoreError(code, message, at: StoreLocation(file: source.name, line: line))
///   }
/// }
/// ```
public protocol AtomicStore: Sendable {
  /// The name that the format is registered under, such as `XML`.
  static var storeType: String { get }

  /// What the format can keep, and what it cannot.
  static var traits: StoreTraits { get }

  /// Returns whether the content is this format's. Called for every file that is opened without a type, so keep it
  /// cheap: the probe has the first bytes. Do not decide by the file name; the kit does that if no format is sure.
  static func recognize(_ probe: StoreProbe) -> Recognition

  /// What this store can keep, where its options or its path make it differ from ``traits-type.property``, the default.
  var traits: StoreTraits { get }

  /// Whether this store is written as one file or as a directory. The default is the layout of the traits; a format
  /// that supports both decides by path and options.
  var layout: StoreLayout { get }

  /// Creates the value for a store that is opened, or created, at the configuration's path. Does not read or write.
  ///
  /// - Throws: `.invalidOption` for option values that are not valid. Unknown options never get here.
  init(_ configuration: StoreConfiguration) throws(PersistentStoreError)

  /// Reads the metadata without decoding objects. Called before every load, and alone when a caller wants only
  /// metadata: keep it cheap. For a file that has no metadata, derive the UUID from something stable.
  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata

  /// Infers the model from the data, for a file that has none (``StoreMetadata/model`` is nil) when the caller has none
  /// either. The default throws `.modelNeeded`.
  mutating func inferModel(from source: StoreSource) throws(PersistentStoreError) -> ModelDescription

  /// Reads all nodes. For each: begin it with its entity and reference object, set its values, and name the
  /// destinations of its relationships by reference. The kit resolves those afterwards and creates the object IDs.
  ///
  /// - Throws: `.malformed`, with the location, for anything that the format does not understand: what is skipped here
  ///   is lost with the next save.
  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError)

  /// Returns the saves that the file itself records, oldest first. The default returns none. Called instead of
  /// ``load(_:into:)``, after ``metadata(in:)``.
  ///
  /// - Parameters:
  ///   - source: Where the store is.
  ///   - model: The model that the caller specified, or that the store carries; nil if there is none.
  mutating func history(
    in source: StoreSource, model: ManagedObjectModel?
  ) throws(PersistentStoreError) -> [HistoryTransaction]

  /// Returns the tables of the file that hold nothing of the objects. The default returns none. Called as
  /// ``history(in:model:)``.
  mutating func systemTables(
    in source: StoreSource, model: ManagedObjectModel?
  ) throws(PersistentStoreError) -> [SystemTable]

  /// Returns the value of a slot that `load` deferred, when it is first read. The default throws: implement it if you
  /// defer values.
  ///
  /// Find the object by its reference: saves move nodes to other rows.
  mutating func value(slot: Int, of node: NodeHandle, in nodes: NodeTable) throws(PersistentStoreError) -> StoredValue

  /// Whether ``save(_:to:)`` itself writes values that are still deferred, for example by copying their bytes from the
  /// file that it read. ``NodeTable/isDeferred(slot:of:)`` says which those are; they stay deferred after the save.
  /// The default is false: before a save the kit reads every deferred value, and the nodes hold them all from then on.
  var writesDeferredValues: Bool { get }

  /// Returns a permanent reference for a new object, unique in its hierarchy. The default is the next integer that was
  /// never used in this store, and is not the text of a string reference either. A format may derive the reference from
  /// the object's values instead (a natural key).
  mutating func newReferenceObject(
    for object: ManagedObjectSnapshot, in nodes: NodeTable, metadata: inout StoreMetadata
  ) throws(PersistentStoreError) -> ReferenceObject

  /// Adds the node of a new object, which has its reference. The kit sets relationships afterwards, when all new nodes
  /// exist. The default adds the node and sets its attributes: `for (slot, value) in object.values`, without the slots
  /// whose ``Slot/isRelationship`` is true.
  mutating func newCacheNode(
    for object: ManagedObjectSnapshot, in nodes: inout NodeTable
  ) throws(PersistentStoreError) -> NodeHandle

  /// Sets the changed values of an object in its node. The default sets each of them: `for (slot, value) in
  /// object.values { try nodes.set(value, slot: slot, of: node) }`.
  mutating func updateCacheNode(
    _ node: NodeHandle, from object: ManagedObjectSnapshot, in nodes: inout NodeTable
  ) throws(PersistentStoreError)

  /// Called before nodes are removed, so that the format can release payloads attached to them. The default does
  /// nothing; the kit removes the nodes.
  mutating func willRemoveCacheNodes(_ removed: [NodeHandle], from nodes: inout NodeTable)

  /// Returns the part of a graph that this store's options select; nil, the default, for all of it.
  func selection(from snapshot: StoreSnapshot) throws(PersistentStoreError) -> StoreSelection?

  /// Writes all nodes and the metadata to staged files, and to nothing else. When this returns, the kit publishes them
  /// as the store, in one step; when it throws, the old store stays.
  ///
  /// - Throws: `.unsupportedByFormat` for what the format cannot keep.
  mutating func save(_ snapshot: StoreSnapshot, to files: StagedFiles) throws(PersistentStoreError)

  /// Writes the store with other metadata entries, and everything else byte for byte as in `source`. Called instead of
  /// ``save(_:to:)`` when only metadata entries have changed.
  ///
  /// The default returns false. Implement it if a full save would change more of the file than the metadata.
  ///
  /// - Parameters:
  ///   - metadata: The entries to write; UUID, last reference and model are as they were read.
  ///   - source: The store as it is on disk.
  ///   - files: Where to write, as in ``save(_:to:)``.
  /// - Returns: False if this is not possible. Nothing may have been written then, and the kit calls ``save(_:to:)``.
  mutating func saveMetadata(
    _ metadata: StoreMetadata, in source: StoreSource, to files: StagedFiles
  ) throws(PersistentStoreError) -> Bool

  /// Called once before the store is closed: with its coordinator when it is removed from that, with nil after a load
  /// that failed and when the coordinator is deallocated. The default does nothing; the kit's own clean-up follows in
  /// any case.
  mutating func willRemove(from coordinator: (any StoreCoordinating)?)
}

/// What a format sees of the coordinator that its store is removed from.
public protocol StoreCoordinating: AnyObject, Sendable {
  /// The UUIDs of the open stores.
  var storeIdentifiers: [UUID] { get }
}

extension AtomicStore {
  public var traits: StoreTraits { Self.traits }
  public var layout: StoreLayout { traits.layout }

  public func selection(from snapshot: StoreSnapshot) throws(PersistentStoreError) -> StoreSelection? { nil }

  public mutating func saveMetadata(
    _ metadata: StoreMetadata, in source: StoreSource, to files: StagedFiles
  ) throws(PersistentStoreError) -> Bool { false }

  public mutating func inferModel(from source: StoreSource) throws(PersistentStoreError) -> ModelDescription {
    throw PersistentStoreError(
      .modelNeeded, "a \(Self.storeType) store is not self-describing: specify a model",
      at: StoreLocation(file: source.name))
  }

  public mutating func history(
    in source: StoreSource, model: ManagedObjectModel?
  ) throws(PersistentStoreError) -> [HistoryTransaction] { [] }

  public mutating func systemTables(
    in source: StoreSource, model: ManagedObjectModel?
  ) throws(PersistentStoreError) -> [SystemTable] { [] }

  public mutating func value(
    slot: Int, of node: NodeHandle, in nodes: NodeTable
  ) throws(PersistentStoreError) -> StoredValue {
    let entity = nodes.model.entity(at: node.entity)
    throw PersistentStoreError(
      .internalInconsistency,
      "\(Self.storeType) deferred a value but does not implement value(slot:of:in:)",
      at: StoreLocation(
        entity: entity.name, reference: nodes.reference(of: node).description, property: entity.slots[slot].name))
  }

  public var writesDeferredValues: Bool { false }

  public mutating func newReferenceObject(
    for object: ManagedObjectSnapshot, in nodes: NodeTable, metadata: inout StoreMetadata
  ) throws(PersistentStoreError) -> ReferenceObject {
    metadata.lastReference = try nodes.nextIntegerReference(after: metadata.lastReference, entity: object.entity)
    return .integer(metadata.lastReference)
  }

  public mutating func newCacheNode(
    for object: ManagedObjectSnapshot, in nodes: inout NodeTable
  ) throws(PersistentStoreError) -> NodeHandle {
    guard let reference = object.reference else {
      throw PersistentStoreError(.internalInconsistency, "a new node must have a reference")
    }
    let node = try nodes.addCacheNode(entity: object.entity, reference: reference)
    for slot in 0..<object.values.slotLimit {
      guard let value = object.values[slot], !nodes.model.isRelationship(slot: slot, of: object.entity) else {
        continue
      }
      try nodes.set(value, slot: slot, of: node)
    }
    return node
  }

  public mutating func updateCacheNode(
    _ node: NodeHandle, from object: ManagedObjectSnapshot, in nodes: inout NodeTable
  ) throws(PersistentStoreError) {
    for slot in 0..<object.values.slotLimit {
      if let value = object.values[slot] { try nodes.set(value, slot: slot, of: node) }
    }
  }

  public mutating func willRemoveCacheNodes(_ removed: [NodeHandle], from nodes: inout NodeTable) {}

  public mutating func willRemove(from coordinator: (any StoreCoordinating)?) {}
}
