import ArgumentParser
import AtomicStoreKit
import CommandSupport
import StoreCodecs

/// Where a command writes a file that is not a store.
struct FileOutput: ParsableArguments {
  @Option(name: .shortAndLong, help: "The file to write; standard output without it, or with -.") var output: String?
  @Flag(help: "Replace an existing file.") var force = false

  /// The path of the file; nil for standard output.
  var path: String? { output == "-" ? nil : output }

  /// Writes a text. A file appears as a whole or not at all.
  ///
  /// - Parameter sources: What the text was made of: a new file grants no more than each of them does.
  func write(_ text: String, limitedBy sources: [String]) throws {
    guard let path else { return try Diagnostics.put(text) }
    try Self.write(to: path, madeOf: [], limitedBy: sources, replaces: force) { try $0.write(Array(text.utf8)) }
  }

  /// Writes what `body` appends.
  ///
  /// - Parameter sources: The files that the content comes from: a new file grants no more than they do, and replaces
  ///   none of them.
  func write(madeOf sources: [String] = [], _ body: (ByteWriter) throws -> Void) throws {
    guard let path else { return try Diagnostics.stream(body) }
    try Self.write(to: path, madeOf: sources, replaces: force) { file in
      let writer = ByteWriter { bytes throws(PersistentStoreError) in try file.write(bytes) }
      try body(writer)
      try writer.finish()
    }
  }

  /// Writes a file beside its place, and moves it there when it is whole.
  ///
  /// - Parameters:
  ///   - sources: The stores that the content comes from: a new file grants no more than they do, and is not one of
  ///     their files.
  ///   - others: What else it comes from, and grants no more than.
  static func write(
    to path: String, madeOf sources: [String], limitedBy others: [String] = [], replaces: Bool,
    _ body: (StagedFile) throws -> Void
  ) throws {
    let places = try places(sources)
    try check(path, besides: places, replaces: replaces)
    let unit = try Publication(madeOf: places + self.places(others))
    try unit.addFile(at: path, replaces: replaces, body)
    try unit.commit()
  }

  /// Undoes what a killed command has published half-way, and refuses a path where a file cannot be written.
  ///
  /// - Parameter stores: They and their files are not replaced, also with `--force`; nor are directories.
  static func check(_ path: String, besides stores: [StorePath], replaces: Bool) throws {
    guard !path.isEmpty else { throw CommandFailure("an empty path is not a file name", exitCode: 64) }
    try checkIsNot(of: stores, path)
    Publication.undoInterrupted(beside: path)
    let place = try StorePath.inspect(path)
    try InstalledFormats.registry.refuseWithinStore(place)
    switch place.kind {
    case .nothing: return
    case .folder, .emptyFolder: throw CommandFailure("\(path): this is a directory", exitCode: 73)
    case .file, .zeroLength: break
    }
    guard replaces else { throw CommandFailure("\(path): the file exists; --force replaces it", exitCode: 73) }
  }

  /// Where sources are, apart from standard input and URLs, which say nothing about permissions.
  static func places(_ sources: [String]) throws -> [StorePath] {
    try sources.filter { $0 != "-" && !$0.isEmpty && !Input.isURL($0) && !Input.isStaged($0) }.map {
      try StorePath.inspect($0)
    }
  }

  private static func checkIsNot(of places: [StorePath], _ path: String) throws {
    let target = try StorePath.inspect(path)
    for place in places {
      if StorePath.isSame(place, path: path) { throw CommandFailure("\(path): this is the store itself", exitCode: 73) }
      let isLog = ["-wal", "-shm", "-journal"].contains { StorePath.isSame(target, path: place.resolvedPath + $0) }
      if isLog, Input.isIncremental(place.path) {
        throw CommandFailure("\(path): this belongs to the store", exitCode: 73)
      }
      if place.contains(target) { throw CommandFailure("\(path): this is inside the store", exitCode: 73) }
    }
  }

  /// - Throws: An error if the file would be the model that the command reads, or a part of it, also with `--force`.
  func refuseToReplace(model: String?) throws { if let path { try Self.refuse(path, toReplaceModel: model) } }

  static func refuse(_ path: String, toReplaceModel model: String?) throws {
    guard let model, model != "-", !Input.isURL(model) else { return }
    let place = try StorePath.inspect(model)
    // A directory that is searched for models may have results in it, a model's own has not.
    let isModel = ["xcdatamodel", "xcdatamodeld", "momd"].contains(place.fileExtension)
    guard try StorePath.isSame(place, path: path) || isModel && place.contains(StorePath.inspect(path)) else { return }
    throw CommandFailure("\(path): this is the model that is read", exitCode: 73)
  }
}
