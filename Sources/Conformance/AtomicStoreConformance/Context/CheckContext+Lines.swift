import AtomicStoreSPI
import FoundationEssentials

// The lines that errors name.

extension Checks {
  /// What ``CheckContext/expectLine(of:about:in:without:_:)`` expects, as a part of a check's procedure.
  static let errorLines =
    "An error that names a line or byte of a text file names the line that was changed, or the first line of its object; and the file, in a store that is a directory"
}

extension CheckContext {
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
    for found in named {
      let start = first.map(\.upperBound) ?? changed
      let object = start == changed ? "" : ", or \(start), on which the object begins"
      try expect(
        found == changed || first?.contains(found) ?? false, "\(what): the error names line \(changed)\(object)",
        "line \(found): \(error.text)")
    }
  }

  /// The first line of what a file has and another one does not have: several where the line before it is as its last
  /// one, as lines that end objects are. Nil if what it has besides the other's lines is not one piece.
  private static func beginnings(of file: [UInt8], without other: [UInt8], upTo line: Int) -> ClosedRange<Int>? {
    func lines(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
      bytes.split(separator: .lineFeed, omittingEmptySubsequences: false)
    }
    let (all, rest) = (lines(file), lines(other))
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
