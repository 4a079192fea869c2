import ArgumentParser
import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import StoreCodecs
import StorePredicates

struct Extract: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "extract",
    abstract: "Write each value of a property to a separate file.",
    discussion: """
        atomicstore extract Company.xml --entity Employee --property photo -o photos
        atomicstore extract Company.xml --entity Employee --property photo --where "kind:(photo) == 'image/png'" -o photos
        atomicstore extract Notes.sqlite --entity ICNoteData --property "text:(protobuf:(gunzip:(data), '2.3.2'))" -o notes

      A file is named by the object's reference, and its extension by what the value is: binary data by its first bytes, a
      text as .txt. files.csv in the directory lists them: file, entity, reference, property, kind, size. Objects without a
      value have no file. The directory appears as a whole or not at all.
      """)

  @Argument(help: ArgumentHelp("The store; - for standard input.", valueName: "store")) var path: String
  @Option(help: "The entity; its sub-entities are included.", completion: Completions.entities) var entity: String
  @Option(
    help: "The property, or an expression that results in binary data or text.", completion: Completions.keyPaths)
  var property: String
  @Option(name: .customLong("where"), help: "Only objects that match this predicate.") var predicate: String?
  @Option(
    name: [.customShort("o"), .customLong("output")], help: "The directory to create.", completion: .directory)
  var output: String
  @Flag(help: "Replace a directory that an earlier run has written.") var force = false
  @OptionGroup(title: "Options for reading") var source: SourceOptions
  @OptionGroup(title: "Common options") var common: CommonOptions

  private static let listName = "files.csv"

  func run() throws {
    try guarded(common) {
      try checkTarget()
      let (coordinator, opened) = try source.open(path, inParts: true) { _ in ReadNeeds() }
      let known = try opened.model.entity(asked: entity)
      var request = FetchRequest<ManagedObject>(entityName: entity)
      request.predicate = try predicate.map { try Fetch.parse($0, "--where", for: known) }
      let column = try Fetch.column(property, nil, "--property", known)
      request.propertiesToFetch = [FetchColumn("objectID", .evaluatedObject), column]
      let rows = try ManagedObjectContext(coordinator).fetchedRows(request)
      let unit = try Publication(madeOf: try FileOutput.places([path]))
      try unit.makeDirectory(PathParts.directory(of: output))
      var files = ExtractedFiles(property: column.name)
      try unit.addTree(
        at: output, policy: force ? .replaceAny : .createNew,
        replacing: { (old) throws(PersistentStoreError) in try Self.checkReplaced(old) },
        { (tree) throws(PersistentStoreError) in
          try files.write(rows, to: tree)
          try tree.file(at: Self.listName).write(files.list())
        })
      try unit.commit()
      try Diagnostics.put(
        common.json
          ? JSONValue.object([("folder", .string(output)), ("files", .integer(files.count))]).text + "\n"
          : "\(output): \(files.count) files, listed in \(Self.listName)\n")
    }
  }

  private func checkTarget() throws {
    guard !output.isEmpty else { throw CommandFailure("an empty path is not a directory name", exitCode: 64) }
    Publication.undoInterrupted(beside: output)
    let target = try StorePath.inspect(output)
    for place in try FileOutput.places([path])
    where StorePath.isSame(place, path: output) || place.contains(target) || target.contains(place) {
      throw CommandFailure("\(output): the store is there", exitCode: 73)
    }
    switch target.kind {
    case .nothing: return
    case .file, .zeroLength: throw CommandFailure("\(output): this is a file", exitCode: 73)
    case .folder, .emptyFolder:
      guard force else {
        throw CommandFailure("\(output): the directory exists; --force replaces what this command wrote", exitCode: 73)
      }
    }
  }

  /// Only what this command wrote is replaced with everything in it.
  private static func checkReplaced(_ old: String) throws(PersistentStoreError) {
    let place = try StorePath.inspect(old)
    guard place.kind == .folder else { return }
    func refused(_ why: String) -> PersistentStoreError {
      PersistentStoreError(
        .alreadyExists, "\(why), so this command did not write the directory; remove it first",
        at: StoreLocation(file: old))
    }
    let list = old + "/" + listName
    guard try StorePath.inspect(list).kind == .file, let data = FileManager.default.contents(atPath: list) else {
      throw refused("there is no \(listName)")
    }
    let lines = data.split(separator: UInt8(ascii: "\n"))
    guard let first = lines.first, first.elementsEqual(ExtractedFiles.names.joined(separator: ",").utf8) else {
      throw refused("\(listName) is not a list of values")
    }
    // A name with a comma is in quotes, and none contains a quote.
    let quote = UInt8(ascii: "\"")
    let listed = Set(
      lines.map { line in
        line.first == quote ? line.dropFirst().prefix { $0 != quote } : line.prefix { $0 != UInt8(ascii: ",") }
      })
    for name in try place.allNames() where name != listName && !listed.contains(Data(name.utf8)) {
      throw refused("\(listName) does not list \(name)")
    }
  }
}

/// The files that values were written to.
private struct ExtractedFiles {
  let property: String
  private var rows: [[FetchedRow.Value]] = []
  private var taken: Set<String> = ["files.csv"]
  static let names = ["file", "entity", "reference", "property", "kind", "size"]

  init(property: String) { self.property = property }

  var count: Int { rows.count }

  mutating func write(_ values: FetchedRows, to tree: StagedFiles) throws(PersistentStoreError) {
    var failure: PersistentStoreError?
    values.forEachRow { row in
      guard failure == nil, case .object(let id) = row[0] else { return }
      do throws(PersistentStoreError) { try write(row[1], of: id, to: tree) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  private mutating func write(
    _ value: FetchedRow.Value, of id: ManagedObjectID, to tree: StagedFiles
  ) throws(PersistentStoreError) {
    let reference = id.reference.map(\.description) ?? ""
    let bytes: [UInt8]
    let type: MediaType
    switch value {
    case .value(.null): return
    case .value(.data(let data)):
      bytes = [UInt8](data)
      type = MediaType(of: bytes)
    case .value(.string(let text)), .value(.uri(let text)):
      bytes = Array(text.utf8)
      type = .text
    default:
      throw PersistentStoreError(
        .invalidOption, "--property: the value is neither binary data nor text",
        at: StoreLocation(entity: id.entityName, reference: reference, property: property))
    }
    let name = StagedFiles.memberName(for: reference, extension: type.fileExtension, taken: &taken)
    try tree.file(at: name).write(bytes)
    rows.append(
      [name, id.entityName, reference, property, type.name].map { .value(.string($0)) }
        + [.value(.integer(Int64(bytes.count)))])
  }

  /// The list of all files as CSV.
  func list() -> [UInt8] {
    let writer = ByteWriter()
    for row in [Self.names.map { .value(.string($0)) }] + rows {
      for (column, value) in row.enumerated() {
        if column > 0 { writer.append(byte: UInt8(ascii: ",")) }
        RowPrinter.cell(value, to: writer)
      }
      writer.append(byte: UInt8(ascii: "\n"))
    }
    return writer.takeBytes()
  }
}
