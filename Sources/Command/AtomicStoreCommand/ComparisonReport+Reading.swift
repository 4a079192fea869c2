import CommandSupport
import StoreCoordination
package import StoreReports

extension ComparisonReport {
  /// Reads two stores that the command line names, and collects what a page about their differences shows.
  ///
  /// - Parameter keys: By which properties objects are matched.
  /// - Returns: Both stores as well.
  /// - Throws: What prevents one of them from being read; objects that are damaged do.
  package static func read(
    _ store: String, _ other: String, _ source: SourceOptions, _ keys: ObjectKeyOption
  ) throws -> (pair: StorePair, report: ComparisonReport) {
    var pair = try StorePair(store, other, source)
    var named = try keys.names(pair)
    func differences(_ isIncluded: @escaping (GraphDifference) -> Bool) -> [GraphDifference] {
      GraphComparison.differences(
        pair.one, pair.other, options: .init(comparesModel: true, comparesModelOrder: false), names: named.names,
        isIncluded: isIncluded)
    }
    var found = differences { _ in true }
    var remarks: [String] = []
    let models = found.filter { $0.kind == .model }
    if !models.isEmpty {
      remarks = try pair.placeModelsBeside().map(\.text)
      named = try keys.names(pair)
      found = models + differences { $0.kind != .model && pair.concerns($0) }
    }
    for note in named.notes { Diagnostics.say(note) }
    func side(_ name: String, _ store: PersistentStore, _ nodes: NodeTable) -> ComparisonReport.Side {
      ComparisonReport.Side(
        name: name == "-" ? "standard input" : PathParts.name(of: name), type: store.type, nodes: nodes,
        model: store.model)
    }
    let report = ComparisonReport(
      side(pair.names.0, pair.left, try named.names?.renamedNodes(.one) ?? pair.one.nodes),
      side(pair.names.1, pair.right, try named.names?.renamedNodes(.other) ?? pair.other.nodes),
      differences: found, remarks: remarks)
    return (pair, report)
  }
}
