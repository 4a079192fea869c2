import CommandSupport
import StoreCoordination
package import StoreReports

extension ComparisonReport {
  /// Reads two stores that the command line names, and collects what a page about their differences shows.
  ///
  /// - Returns: Both stores as well.
  /// - Throws: What prevents one of them from being read; objects that are damaged do.
  package static func read(
    _ store: String, _ other: String, _ source: SourceOptions
  ) throws -> (pair: StorePair, report: ComparisonReport) {
    var pair = try StorePair(store, other, source)
    func differences(_ pair: StorePair, _ isIncluded: @escaping (GraphDifference) -> Bool) -> [GraphDifference] {
      GraphComparison.differences(
        pair.one, pair.other, options: .init(comparesModel: true, comparesModelOrder: false), isIncluded: isIncluded)
    }
    var found = differences(pair) { _ in true }
    var remarks: [String] = []
    let models = found.filter { $0.kind == .model }
    if !models.isEmpty {
      remarks = try pair.placeModelsBeside().map(\.text)
      found = models + differences(pair) { $0.kind != .model && pair.concerns($0) }
    }
    func side(_ name: String, _ store: PersistentStore, _ nodes: NodeTable) -> ComparisonReport.Side {
      ComparisonReport.Side(
        name: name == "-" ? "standard input" : PathParts.name(of: name), type: store.type, nodes: nodes,
        model: store.model)
    }
    let report = ComparisonReport(
      side(pair.names.0, pair.left, pair.one.nodes), side(pair.names.1, pair.right, pair.other.nodes),
      differences: found, remarks: remarks)
    return (pair, report)
  }
}
