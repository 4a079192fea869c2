import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

// Values that are changed in files, and the lines that errors name.

extension CheckContext {
  /// A value is found in the file as text, and written otherwise: that must be refused. Formats that do not write it as
  /// text have nothing to edit.
  func expectEditedValueRefused(_ type: AttributeType, _ value: StoredValue, _ text: String, to others: [String]) throws
  {
    guard !traits.unsupportedTypes.contains(type.modelName) else { return }
    let (path, uuid) = (self.path("edit\(text)"), UUID())
    // Where a value has its own line, it is not the second one of its object.
    var graph = Graph(
      Models.attributes([("first", .string), ("second", .string), ("value", type)]),
      ["before", "edited", "after"].map { ($0, "Sample") })
    for label in ["before", "edited", "after"] {
      graph.set(label, "first", .string(label == "before" ? "two\nlines" : label))
      graph.set(label, "second", .string("second of \(label)"))
    }
    graph.set("edited", "value", value)
    let whole = graph
    let names = try process("save \(text)") { try $0.forge(whole, to: path, uuid: uuid) }
    let found = places(of: text, at: path)
    if found.count != 1 { return note("\(text) is \(found.count) times in the file as text: not edited") }
    let copy = self.path("edited")
    // An error of a checksum is about the whole file.
    let next = text.dropLast() + (text.hasSuffix("8") ? "7" : "8")
    self.copy(path, to: copy, replacing: text, at: found[0], with: String(next))
    let hasLines =
      try unlessRefused("read it as '\(next)'") { try $0.read(copy, whole.model, options: handmade) } != nil
    let (intact, rest) = (Files.content(path) ?? [:], try files(of: graph, without: "edited", uuid))
    for other in others {
      self.copy(path, to: copy, replacing: text, at: found[0], with: other)
      let error = try refusal(
        of: "read it as '\(other)'", codes: ["malformed", "invalidValue", "changedOnDisk", "modelMismatch"]
      ) { session in
        try session.read(copy, whole.model, options: handmade)
      }
      if hasLines {
        try expectLine(of: error, about: found[0], in: intact, without: rest, "\(text) changed to '\(other)'")
      }
    }
    // The control: what was not spoilt can be edited.
    self.copy(path, to: copy, replacing: text, at: found[0], with: text)
    try expectSame(
      try process("read it as it was") { try $0.read(copy, whole.model, options: handmade) }, try graph.text(names),
      "the file as it was")
  }

  /// An error about a value or a reference that was changed in a text file names the line of that, or the line on which
  /// its object begins, if it names a line or a byte; in a store that is a directory, it names the file, too.
  ///
  /// - Parameters:
  ///   - place: Where the change is.
  ///   - files: The store's files, with as many lines as they have after the change.
  ///   - others: The same without the object.
  func expectLine(
    of error: PhaseError, about place: (file: String, offset: Int), in files: [String: [UInt8]],
    without others: [String: [UInt8]], _ what: String
  ) throws {
    guard let bytes = files[place.file], !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil else {
      return
    }
    func line(_ offset: Int) -> Int { 1 + bytes.prefix(offset).count { $0 == .lineFeed } }
    let named = [error.line, error.offset.map(line)].compactMap { $0 }
    guard !named.isEmpty else { return note("\(what): the error names no line") }
    if !place.file.isEmpty {
      let isNamed = error.file.map { $0 == place.file || $0.hasSuffix("/" + place.file) } ?? false
      try expect(isNamed, "\(what): the error names the file \(place.file) of the store", error.text)
    }
    let changed = line(place.offset)
    let first = Self.beginnings(of: bytes, without: others[place.file] ?? [], upTo: changed)
    if first == nil, !named.allSatisfy({ $0 == changed }) {
      return note("\(what): the error names line \(named[0]); where the object of line \(changed) begins is not known")
    }
    for found in named {
      let start = first.map(\.upperBound) ?? changed
      let object = start == changed ? "" : ", or \(start), on which the object begins"
      try expect(
        found == changed || first?.contains(found) ?? false, "\(what): the error names line \(changed)\(object)",
        "line \(found): \(error.text)")
    }
  }

  /// The first line of what a file has and another one does not have: several where the line before it is as its last
  /// one, as lines that end objects are. Nil if what it has besides the other's lines is not one piece. The last lines
  /// may differ: some formats count their objects there.
  private static func beginnings(of file: [UInt8], without other: [UInt8], upTo line: Int) -> ClosedRange<Int>? {
    func lines(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
      bytes.split(separator: .lineFeed, omittingEmptySubsequences: false)
    }
    for skipped in 0...3 {
      let (all, rest) = (lines(file).dropLast(skipped), lines(other).dropLast(skipped))
      if let found = beginnings(of: Array(all), without: Array(rest), upTo: line) { return found }
    }
    return nil
  }

  private static func beginnings(
    of all: [ArraySlice<UInt8>], without rest: [ArraySlice<UInt8>], upTo line: Int
  ) -> ClosedRange<Int>? {
    let count = all.count - rest.count
    let after = zip(all.reversed(), rest.reversed()).prefix { $0 == $1 }.count
    var last = all.count - after - count
    guard count > 0, last >= 0 else { return nil }
    let first = last
    while last + count < all.count, all[last] == all[last + count] { last += 1 }
    // The index of a line is one less than its number.
    guard first < line, line <= last + count else { return nil }
    return first + 1...min(last + 1, line)
  }

  /// The files of a store as they are without one of its objects.
  ///
  /// - Parameter references: What each object is called, by its place in the whole graph.
  func files(
    of graph: Graph, without label: String, _ uuid: UUID,
    references: (Int) -> ReferenceObject = StoreSession.counting
  ) throws -> [String: [UInt8]] {
    let places = graph.objects.indices.filter { graph.objects[$0].label != label }
    var graph = graph
    graph.remove(label)
    let (rest, path) = (graph, self.path("without\(record.nextFile())"))
    _ = try process("write it without '\(label)'") {
      try $0.forge(rest, to: path, uuid: uuid, references: { references(places[$0]) })
    }
    return Files.content(path) ?? [:]
  }
}
