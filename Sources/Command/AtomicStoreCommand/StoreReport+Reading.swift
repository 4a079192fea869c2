import CommandSupport
import FoundationEssentials
package import StoreCoordination
import StoreMaintenance
package import StoreReports

extension StoreReport {
  /// Reads a store that the command line names, whatever is wrong with its objects, and collects what a page is about.
  ///
  /// - Returns: The coordinator as well, which must be retained as long as objects are asked for.
  package static func read(
    _ store: String, _ source: SourceOptions, maximumFindingCount: Int
  ) throws -> (coordinator: PersistentStoreCoordinator, report: StoreReport) {
    let input = try Input.path(for: store)
    defer { Input.discard() }
    let check = try source.storeCheck(of: store, maximumFindingCount: maximumFindingCount)
    let (coordinator, opened, findings) = try readingTwice { try check.opened(input) }
    let name = store == "-" ? "standard input" : PathParts.name(of: Input.shown(store))
    let isFile = store != "-" && !Input.isURL(store)
    let size = isFile ? try StoreSource(opening: try StorePath.inspect(store)).totalSize() : nil
    return (coordinator, try StoreReport(opened, findings: findings, name: name, byteCount: size))
  }
}
