import AtomicStoreSPI

extension CheckContext {
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

  static let sampleModel = Models.attributes([("alpha", .string), ("beta", .string), ("gamma", .integer32)])

  static func samples() -> Graph {
    var graph = Graph(sampleModel)
    for row in 1...5 {
      graph.objects.append(
        .init(
          label: "\(row)", entity: "Sample",
          values: [
            "alpha": .string("needle \(row)"), "beta": .string("thread \(row)"), "gamma": .integer(Int64(100 + row)),
          ]))
    }
    return graph
  }

  func csvSubject(_ graph: Graph = CheckContext.samples(), needle: String = "needle 2") throws -> CSVSubject {
    let path = self.path("golden\(record.nextFile())")
    let references = try process("save a store of \(graph.objects.count) objects") { try $0.write(graph, to: path) }
    guard let files = Files.content(path) else { throw NotApplicable(reason: "the store writes no file") }
    let suffixes = [".csv", ".tsv"]
    let name = files.keys.sorted().first { name in
      suffixes.contains { (name.isEmpty ? path : name).hasSuffix($0) }
        && CSVRecords(files[name] ?? []).place(of: needle) != nil
    }
    guard let name, let bytes = files[name] else {
      throw NotApplicable(reason: "the store is not a CSV file")
    }
    let records = CSVRecords(bytes)
    guard records.bytes == bytes, let place = records.place(of: needle) else {
      throw ExpectationFailure(
        expected: "the store's records can be taken apart and put together", actual: "they come out otherwise")
    }
    return CSVSubject(
      graph: graph, references: references, text: try graph.text(references), files: files, member: name,
      records: records, needle: place)
  }

  /// A store as another with one file's bytes changed.
  func lay(_ bytes: [UInt8], in store: CSVSubject) throws -> String {
    let path = self.path("craft\(record.nextFile())")
    if !store.member.isEmpty { Files.makeFolder(path) }
    for (name, old) in store.files {
      let bytes = name == store.member ? bytes : old
      guard Files.write(bytes, to: name.isEmpty ? path : path + "/" + name) else {
        throw Skipped(reason: "\(path) cannot be written")
      }
    }
    return path
  }

  private func read(_ bytes: [UInt8], in store: CSVSubject, _ what: String) throws -> PhaseEnd<GraphText> {
    let path = try lay(bytes, in: store)
    let options = handmade
    return try attempt("read records \(what)", seconds: 15, memory: 3 << 30, cpuSeconds: 15) {
      try $0.read(path, store.graph.model, options: options)
    }
  }

  @discardableResult func expectRefused(
    _ bytes: [UInt8], in store: CSVSubject, _ what: String, line: Int? = nil
  ) throws -> PhaseError {
    let error = try refusal(in: read(bytes, in: store, what), "records \(what)") {
      "they were read, as \($0.count) objects"
    }
    try expectProper(error, "records \(what)", needsPlace: line != nil)
    if let line {
      try expect(
        error.line == line, "records \(what): the error says line \(line)",
        "\(error.line.map { "line \($0)" } ?? "no line"): \(error.text)")
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
    try expectSame(
      try settle(end, "read records \(what)"), text ?? store.text, "records \(what), if they are read at all")
  }
}
