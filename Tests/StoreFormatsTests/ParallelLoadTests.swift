import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import StoreCodecs
import Testing

@testable import CSVStoreFormat
@testable import XMLStoreFormat

/// Large files are loaded in parts at the same time. The result is that of loading them on one thread, in every value,
/// in the order of rows and in every error.
@Suite("Loading the parts of a file at the same time") struct ParallelLoadTests {
  /// What a load gave: all of it, or the error.
  enum Outcome: Equatable {
    case nodes(values: [String: XMLSupport.Exact], order: [[ReferenceObject]])
    case error(PersistentStoreError.Code, String)
  }

  static func outcome(
    _ source: StoreSource, _ model: ManagedObjectModel, jobs: Int, leastPart: Int,
    _ load: (StoreSource, NodeTableBuilder) throws -> Void
  ) -> Outcome {
    do {
      let builder = NodeTableBuilder(model: model, file: source.name)
      builder.inverseHandling = .enforce
      builder.jobs = jobs
      builder.leastPart = leastPart
      try load(source, builder)
      let nodes = try builder.finish()
      let order = model.entities.map { entity in
        let reader = nodes.reader(of: entity.index)
        return (0..<reader.count).map { reader.reference(row: $0) }
      }
      return .nodes(values: XMLSupport.exact(nodes), order: order)
    } catch let error as PersistentStoreError {
      return .error(error.code, error.description)
    } catch {
      return .error(.internalInconsistency, "\(error)")
    }
  }

  static func expectSame(
    _ source: StoreSource, _ model: ManagedObjectModel, leastPart: Int, _ what: String,
    _ load: (StoreSource, NodeTableBuilder) throws -> Void
  ) {
    let one = outcome(source, model, jobs: 1, leastPart: leastPart, load)
    for jobs in [2, 3, 7] {
      let other = outcome(source, model, jobs: jobs, leastPart: leastPart, load)
      // Not by #expect, which would print all values: Foundation ends the process at dates far away.
      if one != other { Issue.record("\(what), \(jobs) jobs: \(summary(other)) is not \(summary(one))") }
    }
  }

  private static func summary(_ outcome: Outcome) -> String {
    switch outcome {
    case .nodes(let values, _): "a graph of \(values.count) values"
    case .error(_, let text): text
    }
  }

  // MARK: XML

  static func loadXML(_ source: StoreSource, _ builder: NodeTableBuilder) throws {
    var store = try XMLSupport.store()
    try store.load(source, into: builder)
  }

  @Test("an XML store is the same in parts: every type, edge values, strings for references", arguments: 1...25)
  func xml(_ seed: Int) throws {
    let (bytes, model) = try XMLCanonicalScannerTests.written(UInt64(seed), schema: "omit")
    let source = StoreSource(bytes: bytes, name: "test.xml")
    Self.expectSame(source, model, leastPart: max(bytes.count / 9, 1), "seed \(seed)", Self.loadXML)
    guard case .loaded = try ObjectLoader.loadParts(4, of: source, into: NodeTableBuilder(model: model)) else {
      Issue.record("the document was not loaded in parts")
      return
    }
  }

  @Test("a model is inferred from parts as from the whole document", arguments: 1...25)
  func inferring(_ seed: Int) throws {
    let (bytes, _) = try XMLCanonicalScannerTests.written(UInt64(seed), schema: "omit")
    let source = StoreSource(bytes: bytes, name: "test.xml")
    let whole = FactCollector(file: source.name)
    #expect(try whole.readCanonical(source))
    for count in [2, 3, 8] {
      guard case .collected(let parts) = try FactCollector.collectParts(count, of: source) else {
        Issue.record("the document was not read in \(count) parts")
        continue
      }
      #expect(try parts.facts().model() == whole.facts().model())
    }
  }

  @Test("a damaged XML store gives the same error in parts", arguments: 1...40)
  func damagedXML(_ seed: Int) throws {
    var (bytes, model) = try XMLCanonicalScannerTests.written(UInt64(seed % 5 + 1), schema: "omit")
    var random = Random(seed: UInt64(seed))
    for _ in 0...(seed % 3) {
      let place = Int.random(in: 0..<bytes.count, using: &random)
      switch seed % 4 {
      case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
      case 1: bytes.remove(at: place)
      case 2: bytes.insert(contentsOf: Array("<!-- <object type=\"TAG\" id=\"z1\"> -->".utf8), at: place)
      default: bytes.insert(UInt8(ascii: "\n"), at: place)
      }
    }
    let source = StoreSource(bytes: bytes, name: "test.xml")
    Self.expectSame(source, model, leastPart: max(bytes.count / 9, 1), "seed \(seed)", Self.loadXML)
  }

  @Test("an object that does not exist is reported with its line, whichever part names it", arguments: [1, 40, 79])
  func danglingXML(_ number: Int) throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Node",
          properties: [
            .relationship(RelationshipDescription(name: "next", destinationEntityName: "Node", maximumCount: 1))
          ])
      ]))
    let objects = (1...80).map {
      """
          <object type="NODE" id="z\(100 + $0)">
              <relationship name="next" type="0/1" destination="NODE" idrefs="z\($0 == number ? 999 : 101)"></relationship>
          </object>
      """
    }.joined(separator: "\n")
    let source = StoreSource(bytes: Array(XMLSupport.document(objects).utf8), name: "test.xml")
    Self.expectSame(source, model, leastPart: 500, "object \(number)", Self.loadXML)
    guard
      case .error(.danglingReference, let text) = Self.outcome(
        source, model, jobs: 4, leastPart: 500, Self.loadXML)
    else {
      Issue.record("nothing was reported")
      return
    }
    // The line of the object's first tag.
    let before = XMLSupport.document(objects).components(separatedBy: "id=\"z\(100 + number)\"")[0]
    #expect(text.contains(":\(before.components(separatedBy: "\n").count) "))
  }

  // MARK: CSV

  static func loadCSV(_ options: StoreOptions) -> (StoreSource, NodeTableBuilder) throws -> Void {
    { source, builder in
      var store = try CSVStore(StoreConfiguration(path: source.name, options: options))
      try store.load(source, into: builder)
    }
  }

  /// The members of a store with random values, and its model.
  static func members(_ seed: Int) throws -> (members: [(name: String, bytes: [UInt8])], model: ManagedObjectModel) {
    var snapshot = try RandomGraphs.make(seed: UInt64(seed))
    snapshot.metadata.storeType = "CSV"
    let folder = try CSVFolder()
    let path = folder.path + "/store.csvstore"
    let staged = try StagedStore(target: path, layout: .folder, policy: .createNew)
    var store = try CSVStore(StoreConfiguration(path: path, options: [:]))
    try store.save(
      StoreSnapshot(nodes: try snapshot.nodes.canonical(), metadata: snapshot.metadata), to: staged.files)
    try staged.finish()
    try staged.commit()
    let names = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    let members = try names.map { ($0, [UInt8](try Data(contentsOf: URL(filePath: path + "/" + $0)))) }
    return (members, snapshot.nodes.model)
  }

  @Test("a CSV store is the same in parts: every type, edge values, strings for references", arguments: 1...25)
  func csv(_ seed: Int) throws {
    let (members, model) = try Self.members(seed)
    let source = StoreSource(members: members, name: "test.csvstore")
    Self.expectSame(source, model, leastPart: 200, "seed \(seed)", Self.loadCSV([:]))
  }

  @Test("a damaged CSV store gives the same error in parts", arguments: 1...40)
  func damagedCSV(_ seed: Int) throws {
    var (members, model) = try Self.members(seed % 5 + 1)
    var random = Random(seed: UInt64(seed))
    let member = Int.random(in: 0..<members.count, using: &random)
    guard members[member].name.hasSuffix(".csv") else { return }
    let place = Int.random(in: 0..<members[member].bytes.count, using: &random)
    switch seed % 3 {
    case 0: members[member].bytes[place] = UInt8.random(in: 0...255, using: &random)
    case 1: members[member].bytes.insert(UInt8(ascii: "\""), at: place)
    default: members[member].bytes.remove(at: place)
    }
    let source = StoreSource(members: members, name: "test.csvstore")
    Self.expectSame(source, model, leastPart: 200, "seed \(seed)", Self.loadCSV(["edited": "accept"]))
  }

  /// Loads members in pieces of few bytes, as large ones are loaded.
  static func loadPieces(_ options: StoreOptions, piece: Int) -> (StoreSource, NodeTableBuilder) throws -> Void {
    { source, builder in
      var store = try CSVStore(StoreConfiguration(path: source.name, options: options))
      store.streamSizes = StreamSizes(leastFile: 1, head: 700, piece: piece)
      try store.load(source, into: builder)
    }
  }

  /// Both ways give the same, for any number of threads.
  static func expectSamePieces(
    _ source: StoreSource, _ model: ManagedObjectModel, _ options: StoreOptions, _ what: String
  ) {
    let whole = outcome(source, model, jobs: 1, leastPart: 1 << 20, loadCSV(options))
    for (jobs, piece) in [(1, 700), (1, 50), (2, 300), (7, 17)] {
      let other = outcome(source, model, jobs: jobs, leastPart: 200, loadPieces(options, piece: piece))
      if whole != other { Issue.record("\(what), pieces of \(piece): \(summary(other)) is not \(summary(whole))") }
    }
  }

  @Test("a CSV store is the same in pieces: every type, edge values, strings for references", arguments: 1...12)
  func csvPieces(_ seed: Int) throws {
    let (members, model) = try Self.members(seed)
    let source = StoreSource(members: members, name: "test.csvstore")
    Self.expectSamePieces(source, model, [:], "seed \(seed)")
    // Some members have less than a head, or a long first record.
    let folder = try FolderMetadata.read(source, storeType: "CSV", maximumDepth: 100)
    let streams = try folder.members.map { member in
      try source.withReader(ofMember: member.file) { (file) throws(PersistentStoreError) in
        try CSVStream(
          file, name: "", layout: nil, digest: member.digest, StreamSizes(leastFile: 1, head: 700, piece: 64),
          into: NodeTableBuilder(model: model)) != nil
      }
    }
    #expect(streams.contains(true))
  }

  @Test("a damaged CSV store gives the same error in pieces, whether edits are accepted or not", arguments: 1...32)
  func damagedPieces(_ seed: Int) throws {
    var (members, model) = try Self.members(seed % 5 + 1)
    var random = Random(seed: UInt64(seed))
    let tables = members.indices.filter { members[$0].name.hasSuffix(".csv") }
    let member = try #require(tables.randomElement(using: &random))
    let place = Int.random(in: 0..<members[member].bytes.count, using: &random)
    switch seed % 4 {
    case 0: members[member].bytes[place] = UInt8.random(in: 0...255, using: &random)
    case 1: members[member].bytes.insert(UInt8(ascii: "\""), at: place)
    case 2: members[member].bytes.insert(contentsOf: Array(",,,,\n,,\n".utf8), at: place)
    default: members[member].bytes.remove(at: place)
    }
    let source = StoreSource(members: members, name: "test.csvstore")
    Self.expectSamePieces(source, model, ["edited": "accept"], "seed \(seed)")
    Self.expectSamePieces(source, model, [:], "seed \(seed), strictly")
  }

  /// Records with quotes, delimiters, line breaks of every kind and multi-byte text in their fields.
  static func foreignText(_ seed: Int, rows: Int) -> String {
    var random = Random(seed: UInt64(seed))
    let pieces = ["a", "Ü", "世界", "\"\"", ",", "\n", "\r\n", "\r", " ", "🙂", "1"]
    let ending = ["\n", "\r\n"][seed % 2]
    var text = "code,name,notes" + ending
    for row in 1...rows {
      var fields = ["k\(row)"]
      for _ in 0..<2 {
        let content = (0..<Int.random(in: 0...6, using: &random)).map { _ in
          pieces.randomElement(using: &random) ?? ""
        }.joined()
        let isPlain = !content.contains { "\",\n\r\r\n".contains($0) } && Bool.random(using: &random)
        fields.append(isPlain ? content : "\"\(content)\"")
      }
      text += fields.joined(separator: ",") + (row == rows && seed % 3 == 0 ? "" : ending)
    }
    return text
  }

  static func foreignModel(_ bytes: [UInt8]) throws -> ManagedObjectModel {
    var store = try CSVStore(StoreConfiguration(path: "test.csv", options: [:]))
    return try ManagedObjectModel(try store.inferModel(from: StoreSource(bytes: bytes, name: "test.csv")))
  }

  @Test("a CSV file of another program is the same in parts: records with numbers, or with keys", arguments: 1...30)
  func foreign(_ seed: Int) throws {
    let bytes = Array(Self.foreignText(seed, rows: 120).utf8)
    let model = try Self.foreignModel(bytes)
    for options in [[:], ["key": "code"], ["header": "no", "columns": "column1=code,column2=name,column3=notes"]] {
      let source = StoreSource(bytes: bytes, name: "test.csv")
      Self.expectSame(
        source, model, leastPart: 100, "seed \(seed), \(options)", Self.loadCSV(options))
    }
    let file = try CSVFile(StoreSource(bytes: bytes, name: "test.csv"), member: nil, options: [:])
    #expect(file.partRanges(6).count > 1)
  }

  @Test("a damaged CSV file of another program gives the same error in parts", arguments: 1...60)
  func damagedForeign(_ seed: Int) throws {
    var bytes = Array(Self.foreignText(seed, rows: 60).utf8)
    let model = try Self.foreignModel(bytes)
    var random = Random(seed: UInt64(seed))
    let place = Int.random(in: 20..<bytes.count, using: &random)
    switch seed % 4 {
    case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
    case 1: bytes.insert(UInt8(ascii: "\""), at: place)
    case 2: bytes.insert(contentsOf: Array("\n\n".utf8), at: place)
    default: bytes.removeSubrange(place..<min(place + 5, bytes.count))
    }
    let source = StoreSource(bytes: bytes, name: "test.csv")
    Self.expectSame(source, model, leastPart: 60, "seed \(seed)", Self.loadCSV([:]))
    Self.expectSame(source, model, leastPart: 60, "seed \(seed), keys", Self.loadCSV(["key": "code"]))
  }

  @Test("parts of a CSV file begin where a record begins", arguments: 1...30)
  func recordStarts(_ seed: Int) throws {
    let bytes = Array(Self.foreignText(seed, rows: 50).utf8)
    var starts: Set<Int> = []
    try bytes.withUnsafeBufferPointer { text in
      var reader = try CSVReader(text, dialect: .comma)
      starts.insert(reader.offset)
      while let field = try reader.nextField() { if field.isLastInRecord { starts.insert(reader.offset) } }
      for count in 2...9 {
        let pieces = (0..<count).map { bytes.count * $0 / count..<bytes.count * ($0 + 1) / count }
        let counts = pieces.map { CSVParts.quoteCount(text, in: $0) }
        #expect(counts.reduce(0, +) == bytes.count { $0 == UInt8(ascii: "\"") })
        let ranges = CSVParts.ranges(text, pieces: pieces, quoteCounts: counts)
        #expect(ranges.allSatisfy { starts.contains($0.lowerBound) })
        #expect(ranges.first?.lowerBound == 0 && ranges.last?.upperBound == bytes.count)
        #expect(zip(ranges, ranges.dropFirst()).allSatisfy { $0.upperBound == $1.lowerBound })
      }
      for end in stride(from: 0, through: bytes.count, by: 7) {
        let records = CSVParts.endOfRecords(UnsafeBufferPointer(rebasing: text[..<end]), hasQuotes: true)
        let last = starts.filter { $0 <= end && $0 > 0 && bytes[$0 - 1] == UInt8(ascii: "\n") }.max()
        #expect(records == last ?? 0)
      }
    }
  }

  @Test("limits apply to all parts together: objects, and memory")
  func limits() throws {
    let bytes = Array(Self.foreignText(1, rows: 120).utf8)
    let model = try Self.foreignModel(bytes)
    func load(_ limits: StoreLimits, jobs: Int) -> String {
      do {
        let builder = NodeTableBuilder(model: model, file: "test.csv", limits: limits, inputBytes: bytes.count)
        builder.jobs = jobs
        builder.leastPart = 100
        try Self.loadCSV([:])(StoreSource(bytes: bytes, name: "test.csv"), builder)
        return "\(try builder.finish().count(of: 0)) objects"
      } catch { return "\(error)" }
    }
    for objects in [50, 119, 120, 121] {
      var limits = StoreLimits()
      limits.objects = objects
      #expect(load(limits, jobs: 1) == load(limits, jobs: 4))
    }
    for memory in stride(from: 0, to: 40_000, by: 500) {
      var limits = StoreLimits()
      limits.memory = memory
      #expect(load(limits, jobs: 1) == load(limits, jobs: 4))
    }
  }
}
