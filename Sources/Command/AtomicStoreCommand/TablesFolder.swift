import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import StoreCoordination
import StoreMaintenance

/// A directory that `tables` wrote. It is a store, of which the store that it was made of is made again.
struct TablesFolder {
  /// The store that was made of the tables.
  let snapshot: StoreSnapshot
  /// What is wrong with it and was not with the store that the tables were made of.
  let findings: [CheckFinding]
  /// What of the tables was computed instead.
  let notes: [SelectionNote]
  /// The directory as a store.
  let store: PersistentStore
  private let coordinator: PersistentStoreCoordinator

  /// Opens the directory and makes a store of it.
  ///
  /// - Parameter options: The options of its format.
  init(_ path: String, options: StoreOptions) throws {
    let coordinator = PersistentStoreCoordinator(registry: InstalledFormats.registry)
    self.coordinator = coordinator
    store = try readingTwice { try coordinator.addPersistentStore(at: path, options: options, isReadOnly: true) }
    let tables = StoreSnapshot(nodes: try store.nodesWithDeferredValues(), metadata: store.metadata)
    (snapshot, notes) = try tables.ofTables()
    findings = tables.newFindings(in: snapshot)
  }

  /// Whether there is such a directory. What cannot be read of it is an error: its files are not tables of another
  /// program.
  static func exists(at path: String) throws -> Bool {
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
}
