public import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// Core Data's XML store: one document, read and written as Apple's own code does; see FORMAT.md.
///
/// Entities are in upper case and properties in lower case in the file, so names are compared case-insensitively. The
/// store's schema is written to a metadata entry unless the file alone contains the same information.
public struct XMLStore: AtomicStore {
  public static let storeType = Schema.storeType

  public static let traits = StoreTraits(
    summary: "Core Data's XML store, in one file", fileExtensions: ["xml", "storedata"],
    trustedHashes: .ofInferredLayouts,
    readOptions: [
      StoreOption(
        name: parserOption,
        help:
          "libxml2 for the whole document, or auto: a scanner for files as Core Data writes them, libxml2 for others",
        values: ParserChoice.allCases.map(\.rawValue))
    ],
    writeOptions: [
      StoreOption(
        name: schemaOption,
        help:
          "whether to write the model to the metadata: embed, omit, or auto (only if the file does not contain the same information)",
        values: SchemaChoice.allCases.map(\.rawValue))
    ])

  static let parserOption = "parser"
  static let schemaOption = "schema"

  /// The choice affects only the time.
  enum ParserChoice: String, CaseIterable { case auto, libxml2 }

  enum SchemaChoice: String, CaseIterable { case auto, embed, omit }

  private let path: String
  let maximumDepth: Int
  private let parser: ParserChoice
  private let schema: SchemaChoice
  private let skipsDamagedObjects: Bool
  /// As in the file that was read.
  private var declaration = XMLDeclaration.standaloneYes
  /// The head that the metadata was read from. A load that finds the same bytes need not read them again.
  private var knownHead: KnownHead?

  public init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {
    path = configuration.path
    maximumDepth = configuration.limits.depth
    skipsDamagedObjects = configuration.skipsDamagedObjects
    parser = try Self.choice(Self.parserOption, in: configuration) ?? .auto
    schema = try Self.choice(Self.schemaOption, in: configuration) ?? .auto
  }

  private static func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ name: String, in configuration: StoreConfiguration
  ) throws(PersistentStoreError) -> Choice? {
    guard let text = configuration.options[name] else { return nil }
    guard let choice = Choice(rawValue: text) else {
      throw PersistentStoreError(
        .invalidOption,
        "the option \(name) must be \(Choice.allCases.map(\.rawValue).joined(separator: " or ")), not '\(text)'",
        at: StoreLocation(file: configuration.path))
    }
    return choice
  }

  // MARK: Reading

  public mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    guard let header = try readHead(of: source), let uuid = header.uuid else {
      throw PersistentStoreError(
        .malformed, "the document does not have a <databaseInfo>", at: StoreLocation(file: source.name))
    }
    declaration = header.declaration
    var entries = header.entries
    let model = try Schema.take(
      from: &entries, at: StoreLocation(file: source.name, line: header.endLine, property: Schema.key))
    return StoreMetadata(
      storeType: Self.storeType, uuid: uuid, entries: entries, lastReference: header.lastReference, model: model)
  }

  private mutating func readHead(of source: StoreSource) throws(PersistentStoreError) -> StoreHeader? {
    knownHead = nil
    if parser == .auto {
      let reader = HeaderReader(file: source.name)
      reader.maximumDepth = maximumDepth
      if let head = try reader.readPlainHead(source) {
        knownHead = head
        return reader.header
      }
    }
    let reader = HeaderReader(file: source.name)
    reader.maximumDepth = maximumDepth
    // The head is a few kilobytes, regardless of the size of the file.
    try reader.read(source, chunk: 16 * 1024)
    return reader.header
  }

  public mutating func inferModel(from source: StoreSource) throws(PersistentStoreError) -> ModelDescription {
    var collector = FactCollector(file: source.name)
    var isRead = false
    if parser == .auto, !skipsDamagedObjects {
      let count = ParallelWork.partCount(forInput: (try? source.totalSize()) ?? 0)
      switch try FactCollector.collectParts(count, of: source) {
      case .collected(let found):
        collector = found
        isRead = true
      case .undivided: isRead = try collector.readCanonical(source)
      case .unexpected: break
      }
    }
    if !isRead {
      collector = FactCollector(file: source.name)
      collector.skipsDamagedObjects = skipsDamagedObjects
      try collector.read(source, chunk: 256 * 1024)
    }
    return try collector.facts().model()
  }

  public mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    let head = knownHead
    // Read once: it has the size of the model.
    knownHead = nil
    // The scanner does not know where a damaged object ends.
    if parser == .auto, !skipsDamagedObjects {
      let outcome = try ObjectLoader.loadParts(
        nodes.partCount(forInput: (try? source.totalSize()) ?? 0), of: source, head: head, into: nodes)
      switch outcome {
      case .loaded: return
      case .undivided:
        let loader = try ObjectLoader(nodes, file: source.name)
        loader.knownHead = head
        if try loader.readCanonical(source) { return }
      case .unexpected: break
      }
      // libxml2 starts again, without anything that the scanner created.
      nodes.removeAll()
    }
    let loader = try ObjectLoader(nodes, file: source.name)
    loader.skipsDamagedObjects = skipsDamagedObjects
    do throws(PersistentStoreError) { try loader.read(source, chunk: Self.chunk) } catch {
      guard let number = loader.duplicate else { throw error }
      throw try DuplicateFinder.error(for: number, in: source, of: nodes.model, chunk: Self.chunk) ?? error
    }
  }

  private static let chunk = 32 * 1024

  // MARK: Writing

  public mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    let file = try staged.file()
    let writer = ByteWriter { bytes throws(PersistentStoreError) in try file.write(bytes) }
    let metadata = snapshot.metadata
    let nodes = snapshot.nodes
    var entries = metadata.entries
    try Self.refuseOwnKeys(entries)
    let embedded = try schemaToWrite(metadata, nodes)
    if let embedded { entries[Schema.key] = embedded.propertyList }
    // Create it before the first byte is written: it refuses what cannot be written.
    let objects = try StoreWriter(nodes, to: writer, keepsNames: embedded != nil)
    writer.append(declaration.text)
    writer.append("<!DOCTYPE database SYSTEM \"file:///System/Library/DTDs/CoreData.dtd\">\n\n<database>\n")
    writer.append("    <databaseInfo>\n        <version>134481920</version>\n        <UUID>")
    writer.append(uuid: metadata.uuid)
    writer.append("</UUID>\n        <nextObjectID>")
    // Despite its name, it is the last one assigned, as in nearly all of Core Data's files.
    writer.append(integer: max(metadata.lastReference, nodes.greatestIntegerReference))
    writer.append("</nextObjectID>\n")
    try MetadataText.append(entries, to: writer)
    writer.append("    </databaseInfo>\n")
    try objects.writeObjects()
    // No line break at the end: Core Data does not write one.
    writer.append("</database>")
    try writer.finish()
  }

  /// The model to write, or nil.
  private func schemaToWrite(
    _ metadata: StoreMetadata, _ nodes: NodeTable
  ) throws(PersistentStoreError) -> ModelDescription? {
    let model = metadata.model ?? nodes.model.description
    switch schema {
    case .embed: return model
    case .omit: return nil
    case .auto:
      // A file of Core Data's is kept as it was: nothing is added unless reading would miss it.
      if model.isInferred, let again = try? StoreFacts(nodes, entries: metadata.entries).model(), again == model {
        return nil
      }
      return model
    }
  }
}
