import AtomicStoreSPI

extension CheckContext {
  /// What the checks of XML work on: a store that is one XML document.
  struct XMLSubject {
    var graph: Graph
    var text: GraphText
    var pieces: XMLPieces
    /// A leaf that holds a text of the graph's.
    var leaf: Int
  }

  static let needle = "Knoten 3"

  func xmlSubject() throws -> XMLSubject {
    let graph = Models.golden()
    let path = self.path("golden")
    let metadata: PropertyListDictionary? = traits.keepsMetadata ? Self.nestedMetadata : nil
    let references = try process("save a store of \(graph.objects.count) objects") {
      try $0.write(graph, to: path, metadata: metadata)
    }
    guard !Files.isFolder(path), let bytes = Files.read(path), bytes.starts(with: "<".utf8),
      let pieces = XMLPieces(bytes)
    else {
      throw NotApplicable(reason: "the store is not an XML document")
    }
    guard let leaf = pieces.leaf(with: Self.needle) else {
      throw NotApplicable(reason: "texts do not stand in their own elements")
    }
    return XMLSubject(graph: graph, text: try graph.text(references), pieces: pieces, leaf: leaf)
  }

  static var nestedMetadata: PropertyListDictionary {
    var metadata = PropertyListDictionary()
    metadata["note"] = .string("Notiz: <&> ä")
    metadata["nested"] = .array([.array([.array([.array([.string("deep")])])])])
    return metadata
  }

  /// Lays bytes down as a store, and expects that reading them is refused with a store error that names the file, and a
  /// place in it.
  func expectRefused(
    _ bytes: [UInt8], _ what: String, model: ModelDescription?, codes: Set<String> = [], needsPlace: Bool = true,
    faults: FaultPlan? = nil
  ) throws {
    let path = try lay(bytes)
    let end = try attempt("read a store \(what)", seconds: 15, faults: faults, memory: 3 << 30, cpuSeconds: 15) {
      try $0.read(path, model)
    }
    let error = try refusal(in: end, "a store \(what)") { "it was read, as \($0.count) objects" }
    try expectProper(error, "a store \(what)", codes: codes, needsPlace: needsPlace)
    Files.remove(path)
  }

  func expectProper(_ error: PhaseError, _ what: String, codes: Set<String> = [], needsPlace: Bool = true) throws {
    try expect(error.code != nil, "\(what): refused with a store error", "an error of another type: \(error.text)")
    try expect(
      codes.isEmpty || codes.contains(error.code ?? ""),
      "\(what): refused as \(codes.sorted().joined(separator: " or "))",
      "\(error.code ?? ""): \(error.text)")
    try expect(error.hasFile, "\(what): the error names the file", error.text)
    // What is not a store of this kind at all has no place in it.
    let isForeign = ["foreignFormat", "unrecognizedFormat", "storeTypeMismatch"].contains(error.code)
    try expect(!needsPlace || isForeign || error.hasPlace, "\(what): the error names the place", error.text)
  }

  /// Lays bytes down as a store, and expects the same graph from them.
  func expectSameGraph(_ bytes: [UInt8], _ what: String, _ graph: Graph, _ text: GraphText) throws {
    let path = try lay(bytes)
    let actual = try process("read a store \(what)") { try $0.read(path, graph.model) }
    try expectSame(actual, text, "a store \(what) is the same")
    Files.remove(path)
  }

  func lay(_ bytes: [UInt8]) throws -> String {
    let path = self.path("craft\(record.nextFile())")
    guard Files.write(bytes, to: path) else { throw Skipped(reason: "\(path) cannot be written") }
    return path
  }
}
