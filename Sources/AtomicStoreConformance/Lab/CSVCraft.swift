import AtomicStoreSPI

/// A file of comma-separated values cut into records and fields, the fields as they are written: with their quotes.
struct CSVRecords: Sendable {
  var records: [[[UInt8]]] = []
  var delimiter: UInt8 = 0x2C
  var lineEnd: [UInt8] = [0x0A]
  var hasFinalLineEnd = true

  init(_ bytes: [UInt8]) {
    let head = bytes.prefix { $0 != 0x0A && $0 != 0x0D }
    let counts = [UInt8(0x2C), 0x3B, 0x09, 0x7C].map { candidate in (candidate, head.count { $0 == candidate }) }
    if let best = counts.max(by: { $0.1 < $1.1 }), best.1 > counts[0].1 { delimiter = best.0 }
    var record: [[UInt8]] = []
    var field: [UInt8] = []
    var isQuoted = false
    var place = 0
    while place < bytes.count {
      let byte = bytes[place]
      place += 1
      if byte == 0x22, isQuoted || field.isEmpty || field.first == 0x22 { isQuoted.toggle() }
      if isQuoted || (byte != delimiter && byte != 0x0A && byte != 0x0D) {
        field.append(byte)
        continue
      }
      record.append(field)
      field = []
      if byte == delimiter { continue }
      if byte == 0x0D, place < bytes.count, bytes[place] == 0x0A { place += 1 }
      records.append(record)
      record = []
    }
    hasFinalLineEnd = record.isEmpty && field.isEmpty
    if !hasFinalLineEnd { records.append(record + [field]) }
  }

  var bytes: [UInt8] { bytes { _ in lineEnd } }

  func bytes(_ lineEnd: (Int) -> [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    for (place, record) in records.enumerated() {
      result += Array(record.joined(separator: [delimiter]))
      if hasFinalLineEnd || place + 1 < records.count { result += lineEnd(place) }
    }
    return result
  }

  static func content(_ field: [UInt8]) -> String {
    guard field.count >= 2, field.first == 0x22, field.last == 0x22 else { return String(decoding: field, as: UTF8.self) }
    return String(decoding: field.dropFirst().dropLast(), as: UTF8.self).replacing("\"\"", with: "\"")
  }

  /// The first field that holds a word: record and column.
  func place(of word: String) -> (record: Int, column: Int)? {
    for (record, fields) in records.enumerated() {
      if let column = fields.firstIndex(where: { Self.content($0).contains(word) }) { return (record, column) }
    }
    return nil
  }
  /// The column whose name begins with a word.
  func column(named name: String) -> Int? { records.first?.firstIndex { Self.content($0).hasPrefix(name) } }
}

extension Lab {
  /// What the checks of CSV work on: a store one of whose files is records of fields.
  struct CSVSubject {
    var graph: Graph
    var references: [String: String]
    var text: GraphText
    /// All files, by their names in the store's folder; "" is a store that is one file.
    var files: [String: [UInt8]]
    var member: String
    var records: CSVRecords
    /// The field of the second object's first text.
    var needle: (record: Int, column: Int)
  }

  /// Says that files were meant to be changed, to a store that asks.
  var editedOptions: StoreOptions {
    traits.readOptions.contains { $0.name == "edited" && $0.values?.contains("accept") == true } ? ["edited": "accept"] : [:]
  }

  static let sampleModel = Models.attributes([("alpha", .string), ("beta", .string), ("gamma", .integer32)])

  static func samples() -> Graph {
    var graph = Graph(sampleModel)
    for row in 1...5 {
      graph.objects.append(
        .init(
          label: "\(row)", entity: "Sample",
          values: ["alpha": .string("needle \(row)"), "beta": .string("thread \(row)"), "gamma": .integer(Int64(100 + row))]))
    }
    return graph
  }

  func csvSubject(_ graph: Graph = Lab.samples(), needle: String = "needle 2") throws -> CSVSubject {
    let path = self.path("golden\(record.nextFile())")
    let references = try process("save a store of \(graph.objects.count) objects") { try $0.write(graph, to: path) }
    guard let files = Files.content(path) else { throw Inapplicable(reason: "the store writes no file") }
    let suffixes = [".csv", ".tsv"]
    let name = files.keys.sorted().first { name in
      suffixes.contains { (name.isEmpty ? path : name).hasSuffix($0) } && CSVRecords(files[name] ?? []).place(of: needle) != nil
    }
    guard let name, let bytes = files[name] else { throw Inapplicable(reason: "the store is no comma-separated values") }
    let records = CSVRecords(bytes)
    guard records.bytes == bytes, let place = records.place(of: needle) else {
      throw Disappointment(expected: "the store's records can be taken apart and put together", actual: "they come out otherwise")
    }
    return CSVSubject(
      graph: graph, references: references, text: try graph.text(references), files: files, member: name, records: records, needle: place)
  }

  /// A store as another with one file's bytes changed.
  func lay(_ bytes: [UInt8], in store: CSVSubject) throws -> String {
    let path = self.path("craft\(record.nextFile())")
    if !store.member.isEmpty { Files.makeFolder(path) }
    for (name, old) in store.files {
      let bytes = name == store.member ? bytes : old
      guard Files.write(bytes, to: name.isEmpty ? path : path + "/" + name) else { throw Blockage(reason: "\(path) cannot be written") }
    }
    return path
  }

  private func read(_ bytes: [UInt8], in store: CSVSubject, _ what: String) throws -> PhaseEnd<GraphText> {
    let path = try lay(bytes, in: store)
    let options = editedOptions
    let end = try attempt("read records \(what)", seconds: 15, memory: 3 << 30, cpuSeconds: 15) {
      try $0.read(path, store.graph.model, options: options)
    }
    return end
  }

  @discardableResult func expectRefused(_ bytes: [UInt8], in store: CSVSubject, _ what: String, line: Int? = nil) throws -> PhaseError? {
    let end = try read(bytes, in: store, what)
    guard case .refused(let error) = end else {
      if case .value(let text) = end {
        throw Disappointment(expected: "records \(what): refused, with an error", actual: "they were read, as \(text.count) objects")
      }
      try settle(end, "read records \(what)")
      return nil
    }
    try expectProper(error, "records \(what)", needsPlace: line != nil)
    if let line {
      try expect(error.line == line, "records \(what): the error says line \(line)", "\(error.line.map { "line \($0)" } ?? "no line"): \(error.text)")
    }
    return error
  }

  func expectSameGraph(_ bytes: [UInt8], in store: CSVSubject, _ what: String, _ text: GraphText? = nil) throws {
    let end = try read(bytes, in: store, what)
    try expectSame(try settle(end, "read records \(what)"), text ?? store.text, "records \(what)")
  }

  /// Either they are refused, or they mean what they meant.
  func expectRefusedOrSame(_ bytes: [UInt8], in store: CSVSubject, _ what: String, _ text: GraphText? = nil) throws {
    let end = try read(bytes, in: store, what)
    if case .refused(let error) = end { return try expectProper(error, "records \(what)", needsPlace: false) }
    try expectSame(try settle(end, "read records \(what)"), text ?? store.text, "records \(what), if they are read at all")
  }
}
