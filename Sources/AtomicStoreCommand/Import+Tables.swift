import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import StoreCoordination
import StoreMaintenance

/// What `tables` wrote is a store, and becomes one again.
extension Import {
  /// Imports a directory that `tables` wrote.
  ///
  /// - Returns: Whether the only argument is such a directory; otherwise nothing is done.
  func importStore() throws -> Bool {
    guard tables.count == 1, let folder = tables.first, try Self.isOfTables(folder) else { return false }
    if let option = optionOfOtherTables {
      throw CommandFailure(
        "\(option) is not for a directory that 'tables' wrote, which is a whole store: import it to a new store, and 'merge' that",
        exitCode: 64)
    }
    let options = try parseOptions(readOptions)
    let coordinator = PersistentStoreCoordinator(registry: InstalledFormats.registry)
    defer { withExtendedLifetime(coordinator) {} }
    let opened = try readingTwice {
      try coordinator.addPersistentStore(at: folder, options: options, isReadOnly: true)
    }
    let snapshot = try StoreSnapshot(nodes: try opened.nodesWithDeferredValues(), metadata: opened.metadata).ofTables()
    let report = try result.write(snapshot, describedAs: "tables", madeOf: [opened])
    try result.tell(report, of: folder, verb: ("imported", "would import"), json: common.json)
    return true
  }

  /// Whether a directory is one that `tables` wrote. What cannot be read of it is an error: its files are not tables of
  /// another program.
  private static func isOfTables(_ path: String) throws -> Bool {
    guard FileManager.default.fileExists(atPath: path + "/metadata.plist") else { return false }
    do throws(PersistentStoreError) {
      let metadata = try PersistentStoreCoordinator.metadataForPersistentStore(
        at: path, registry: InstalledFormats.registry)
      return metadata.entries[StoreSnapshot.tablesKey] != nil
    } catch {
      if error.code == .unrecognizedFormat || error.code == .foreignFormat { return false }
      throw error
    }
  }

  /// An option that is for tables of other programs; nil if there is none.
  private var optionOfOtherTables: String? {
    let given: [(String, Bool)] = [
      ("--into", into != nil), ("--append", append), ("--upsert", !upsert.isEmpty), ("--model", model != nil),
      ("--key", !columns.key.isEmpty), ("--relationship", !columns.relationship.isEmpty),
      ("--join", !columns.join.isEmpty), ("--types", !columns.types.isEmpty),
      ("--write-model", columns.writeModel != nil), ("--report", problems.reportPath != nil),
      ("--reject", problems.reject != nil), ("--dangling", problems.dangling != nil),
      ("--encoding", texts.encoding != nil), ("--delimiter", texts.delimiter != nil),
      ("--decimal", texts.decimal != nil), ("--thousands", texts.thousands != nil),
      ("--date-format", !texts.dateFormats.isEmpty), ("--comment", texts.comment != nil),
      ("--quotes", texts.quotes != nil), ("--columns", texts.columnNames != nil),
      ("--null", !texts.nullWords.isEmpty), ("--boolean", !texts.boolean.isEmpty),
    ]
    return given.first { $0.1 }?.0
  }
}
