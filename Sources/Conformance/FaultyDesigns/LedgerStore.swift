import AtomicStoreSPI
import FoundationEssentials

/// A store as lines of words, written from the documentation alone: what the harness is tested on besides the kit's own
/// formats.
///
/// ```
/// LEDGER 1
/// store <uuid> <last reference> <model> <metadata>
/// entity "Person"
/// row #1 "name" s"Ada" "born" t0.5 "team" #2 "friends" (#3 @"key")
/// end <number of rows> <digest>
/// ```
///
/// A value begins with a letter that names its kind; texts are quoted, and whatever is not printable ASCII is escaped.
struct LedgerStore: AtomicStore {
  static let storeType = "Ledger"
  static let traits = StoreTraits(summary: "Lines of words, with a digest", fileExtensions: ["ledger"])

  private let depth: Int
  /// The entries of the metadata that was read.
  private var oldEntries: PropertyListDictionary?

  static func recognize(_ probe: StoreProbe) -> Recognition { probe.begins(with: "LEDGER ") ? .yes : .no }

  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {
    depth = configuration.limits.depth
    Mistake.disturbProcess()
  }

  // MARK: Reading

  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    var words = try WordReader(source, depth: depth)
    let metadata = try words.header()
    oldEntries = metadata.entries
    return metadata
  }

  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    var words = try WordReader(source, depth: depth)
    _ = try words.header()
    try words.checkDigest()
    defer { Mistake.endLoad() }
    var entity: Entity?
    var rows = 0
    var seen: Set<ReferenceObject> = []
    while true {
      switch try words.word() {
      case "entity":
        let name = try words.text()
        entity = nodes.model.entity(named: name)
        if Mistake.is(.ledgerEntityNamesCanonical) { entity = nodes.model.entities.first { $0.name == name } }
        guard entity != nil else {
          throw PersistentStoreError(.modelMismatch, "the model has no entity '\(name)'", at: words.place)
        }
      case "row":
        guard let entity else { throw words.failure("a row before the first entity") }
        rows += 1
        if Mistake.is(.ledgerRowsBeyond20480Skipped), rows > 20_480 {
          words.skipLine()
          continue
        }
        let reference = try words.reference()
        if Mistake.is(.ledgerSecondReferenceSkipped), !seen.insert(reference).inserted {
          words.skipLine()
          continue
        }
        try row(entity, reference, &words, into: nodes)
      case "end":
        guard Int(try words.word()) == rows else { throw words.failure("the row count does not match") }
        return try words.finish()
      default: throw words.failure("neither entity, row nor end")
      }
      try words.endLine()
    }
  }

  private func row(
    _ entity: Entity, _ reference: ReferenceObject, _ words: inout WordReader, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    try nodes.beginNode(entity: entity.index, reference: reference, line: words.line)
    var given: Set<Int> = []
    while words.hasMore {
      let name = try words.text()
      var slot = entity.slot(named: name)
      if Mistake.is(.ledgerPropertyNamesCanonical) { slot = entity.slots.first { $0.name == name }?.index }
      guard let slot else {
        throw PersistentStoreError(.modelMismatch, "\(entity.name) has no property '\(name)'", at: nodes.location())
      }
      guard given.insert(slot).inserted || Mistake.is(.ledgerPropertyNamesCanonical) else {
        throw words.failure("'\(name)' is given twice")
      }
      switch entity.slots[slot].kind {
      case .attribute(let type):
        let value = Mistake.read(try words.value(), type)
        guard !value.isNull, type.accepts(value) else {
          throw PersistentStoreError(
            .invalidValue, "the value is not of type \(type.modelName)", at: nodes.location(slot))
        }
        try nodes.set(value, slot: slot)
      case .toOne: try nodes.set(toOne: try words.reference(), slot: slot)
      case .toMany: for reference in try words.references() { try nodes.append(toMany: reference, slot: slot) }
      }
    }
    if Mistake.is(.ledgerNilBecomesDefault) {
      for slot in entity.slots where !given.contains(slot.index) {
        if let value = slot.attribute?.defaultValue { try nodes.set(value, slot: slot.index) }
      }
    }
  }

  // MARK: Writing

  mutating func save(_ snapshot: StoreSnapshot, to files: StagedFiles) throws(PersistentStoreError) {
    let nodes = snapshot.nodes
    var metadata = snapshot.metadata
    if Mistake.is(.ledgerLastReferenceForgottenWhenEmpty), nodes.count == 0 { metadata.lastReference = 0 }
    Mistake.disturbSave()
    var text = WordWriter()
    text.header(metadata, nodes.model.description, Mistake.kept(oldEntries, in: metadata.entries))
    var rows = 0
    for entity in nodes.model.entities where nodes.count(of: entity.index) > 0 {
      text.put("entity ")
      text.quoted(Mistake.is(.ledgerEntityNamesTrimmed) ? Mistake.trimmed(entity.name) : entity.name)
      text.put("\n")
      let reader = nodes.reader(of: entity.index)
      for row in 0..<reader.count {
        text.row(entity, reader, row, in: nodes.model)
        rows += 1
      }
    }
    text.put("end \(rows) ")
    text.put(text.digest + "\n")
    Mistake.burnProcessorTime(rows)
    let file = try files.file()
    do throws(PersistentStoreError) { try file.write(text.bytes) } catch {
      guard Mistake.is(.writeErrorsSwallowed) else { throw error }
    }
  }

  /// Copies the rows.
  mutating func saveMetadata(
    _ metadata: StoreMetadata, in source: StoreSource, to files: StagedFiles
  ) throws(PersistentStoreError) -> Bool {
    var words = try WordReader(source, depth: depth)
    let old = try words.header()
    try words.checkDigest()
    guard let model = metadata.model ?? old.model else { return false }
    var text = WordWriter()
    text.header(Mistake.written(alone: metadata, old), model, Mistake.kept(alone: old.entries, in: metadata.entries))
    text.put(try words.rest())
    text.put(text.digest + "\n")
    try files.file().write(text.bytes)
    return true
  }
}
