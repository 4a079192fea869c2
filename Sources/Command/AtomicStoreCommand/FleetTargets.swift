import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import Glibc
import StoreCoordination
import Synchronization

/// Where the results of a list of stores are written: below one directory, with the paths of the sources.
struct FleetTargets: Sendable {
  private enum Target: Sendable {
    case path(String)
    case refused(String)
  }
  private let targets: [Target]
  /// The files of the sources, if a result may replace a file.
  private let sources: Set<FileNumber>
  private let prepared = PreparedDirectories()

  /// - Parameters:
  ///   - type: The name of the results' type, whose extension they get.
  ///   - mayReplace: Whether a result may replace a file, but never another store of the list.
  init(
    _ paths: [String], below directory: String, type: String, in registry: StoreRegistry, mayReplace: Bool
  ) throws {
    var directory = directory
    while directory.count > 1, directory.hasSuffix("/") { directory.removeLast() }
    let fileExtension = try Self.fileExtension(of: type, registry)
    var taken: [ScalarString: String] = [:]
    targets = paths.map { path in
      Input.hidePassword(of: path)
      if Input.isURL(path) { return .refused("a result below a directory cannot have the name of a URL") }
      let parts = path.split(separator: "/").filter { $0 != "." }
      guard let name = parts.last else { return .refused("the path has no file name") }
      guard !parts.contains("..") else {
        return .refused("the path contains '..', so its result would not be in \(directory)")
      }
      let names = parts.dropLast().map(String.init) + [Self.stem(String(name), registry) + fileExtension]
      let target = directory + "/" + names.joined(separator: "/")
      if let first = taken[ScalarString(target)] {
        return .refused("its result would be \(target), which is that of \(first)")
      }
      taken[ScalarString(target)] = path
      return .path(target)
    }
    sources = mayReplace ? Set(paths.compactMap { FileNumber($0) }) : []
  }

  /// The extension of a type's files, with its dot.
  private static func fileExtension(of type: String, _ registry: StoreRegistry) throws -> String {
    guard let database = registry.incrementalType(named: type) else {
      return try registry.storeType(named: type).traits.fileExtensions.first.map { "." + $0 } ?? ""
    }
    guard let first = database.traits.fileExtensions.first else {
      throw CommandFailure("the results of --files-from are files, but a store of type '\(type)' is not", exitCode: 64)
    }
    return "." + first
  }

  /// The name without the extension of a store type.
  private static func stem(_ name: String, _ registry: StoreRegistry) -> String {
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return name }
    let fileExtension = name[name.index(after: dot)...].lowercased()
    let isKnown =
      !registry.storeTypes(forFileExtension: fileExtension).isEmpty
      || registry.incrementalTypes.contains { $0.traits.fileExtensions.contains(fileExtension) }
    return isKnown ? String(name[..<dot]) : name
  }

  /// The path of a result.
  ///
  /// - Throws: 73 if another store has the same, or it would be elsewhere, or replace a store of the list.
  func target(_ index: Int) throws -> String {
    switch targets[index] {
    case .refused(let reason): throw CommandFailure(reason, exitCode: 73)
    case .path(let path):
      if !sources.isEmpty, let file = FileNumber(path), sources.contains(file) {
        throw CommandFailure("its result \(path) would replace a store of the list", exitCode: 73)
      }
      return path
    }
  }

  // MARK: Directories

  private static func directory(of target: String) -> String {
    guard let slash = target.lastIndex(of: "/"), slash != target.startIndex else { return "/" }
    return String(target[..<slash])
  }

  static func directoryExists(of target: String) -> Bool {
    var status = stat()
    return stat(directory(of: target), &status) == 0
  }

  /// Creates the directories of a result that do not exist, and prepares the one that it is written into, once for all
  /// results in it. Another worker may do the same at the same time.
  func prepareDirectory(of target: String, for converter: inout StoreConverter) throws {
    let directory = Self.directory(of: target)
    if !Self.directoryExists(of: target) { try Publication.makeDirectory(directory) }
    if !prepared.names.withLock({ $0.contains(directory) }) {
      try converter.prepareDirectory(of: target)
      prepared.names.withLock { _ = $0.insert(directory) }
    }
    converter.isDirectoryPrepared = true
  }

  /// The directories that need not be listed again.
  private final class PreparedDirectories: Sendable {
    let names = Mutex<Set<String>>([])
  }
}
