import AtomicStoreKit
import CommandSupport
import StoreMaintenance

extension PropertyStatistics {
  /// As `inspect --stats --json` prints it.
  var json: JSONValue {
    .object([
      ("values", .integer(valueCount)), ("nulls", .integer(nullCount)),
      ("distinct", distinctCount.map { .integer($0) } ?? .null), ("minimum", minimum?.json() ?? .null),
      ("maximum", maximum?.json() ?? .null), ("mean", mean.map { .number($0) } ?? .null),
      ("longest", longest.map { .integer($0) } ?? .null),
    ])
  }

  fileprivate var cells: [String] {
    [
      propertyName, type, String(valueCount), String(nullCount), distinctCount.map { String($0) } ?? "",
      minimum.map(Self.text) ?? "", maximum.map(Self.text) ?? "", mean.map(Self.text) ?? "",
      longest.map { String($0) } ?? "",
    ]
  }

  private static let longestCell = 28

  private static func text(_ value: StoredValue) -> String {
    let whole = if case .string(let text) = value { text } else { GraphComparison.text(value) }
    let text = RowPrinter.shown(whole)
    return text.count > longestCell ? text.prefix(longestCell - 1) + "…" : text
  }

  /// Six significant digits: more say nothing about many values. JSON has all.
  private static func text(_ mean: Double) -> String {
    guard mean.isFinite else { return mean.description }
    guard mean != 0 else { return "0" }
    var scale = 1.0
    while abs(mean) * scale < 100_000, scale < 1e12 { scale *= 10 }
    let text = ((mean * scale).rounded() / scale).description
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }
}

extension StoreStatistics {
  /// A table for each entity that has objects.
  func table(_ nodes: NodeTable) -> String {
    var text = ""
    for entity in nodes.model.entities where nodes.count(of: entity.index) > 0 {
      let header = ["property", "type", "values", "nulls", "distinct", "min", "max", "mean", "longest"]
      let rows = [header] + properties.filter { $0.entityName == entity.name }.map(\.cells)
      text += "\n\(entity.name): \(Diagnostics.count(nodes.count(of: entity.index), "object"))\n"
      let widths = header.indices.map { column in rows.map { RowPrinter.width($0[column]) }.max() ?? 0 }
      // Counts are numbers under each other.
      let isRight = [false, false, true, true, true, false, false, true, true]
      for row in rows {
        var line = " "
        for column in row.indices {
          let gap = String(repeating: " ", count: widths[column] - RowPrinter.width(row[column]))
          line += " " + (isRight[column] ? gap + row[column] : row[column] + gap)
          if column < row.count - 1 { line += " " }
        }
        while line.hasSuffix(" ") { line.removeLast() }
        text += line + "\n"
      }
    }
    return text
  }
}
