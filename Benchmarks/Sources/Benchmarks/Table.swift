import Foundation

/// A line of the table.
struct TableRow: Codable {
  var objects: Int
  var section: String
  var what: String
  var kind: Measurement.Kind
  var rounds = 0
  var minimum: Double?
  var median: Double?
  /// The most memory that the process held, over all rounds.
  var peak: Int64?
  var against: String?
  /// Of the kit's own and floors its time over that of ``against``; of others the kit's time over theirs.
  var ratio: Double?
  var processorRatio: Double?
  var aim: Double?
  var aimSeconds: Double?
  var bytesPerObject: Double?
  /// Why there are no numbers.
  var note: String?

  /// Whether the aim is met, where there is one.
  var isMet: Bool? {
    if let aim { return ratio.map { $0 <= aim } }
    if let aimSeconds { return median.map { $0 <= aimSeconds } }
    return nil
  }

  static let bytesAim = 250.0
}

/// The rows of all sizes, for a terminal, for a document, or for a program.
struct Table {
  let rows: [TableRow]

  var json: String {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      return String(decoding: try encoder.encode(rows), as: UTF8.self)
    }
  }

  // MARK: For a terminal

  var text: String {
    var lines: [String] = []
    for objects in sizes {
      lines.append("\(objects) objects")
      lines.append(line(["", "median s", "min s", "peak MB", "ratio", "of CPU", "target", "", "compared with"]))
      var section = ""
      for row in rows where row.objects == objects {
        if row.section != section {
          section = row.section
          lines.append("  " + section)
        }
        lines.append(text(row))
      }
      lines.append("")
    }
    lines += growth
    return lines.joined(separator: "\n")
  }

  private func text(_ row: TableRow) -> String {
    if let note = row.note { return pad("    " + row.what, widths[0]) + "– " + note }
    let aim = row.aim.map { number($0, 2) } ?? row.aimSeconds.map { number($0, 3) + " s" } ?? ""
    var remarks = row.against.map { [row.kind == .other ? "\($0) : this" : $0] } ?? []
    if let bytes = row.bytesPerObject {
      // In a small store the program's own pages are more than the objects.
      let verdict = row.objects < 100_000 ? "" : bytes <= TableRow.bytesAim ? " (≤ 250 met)" : " (≤ 250 NOT)"
      remarks.append("\(number(bytes, 0)) bytes an object" + verdict)
    }
    if row.rounds == 1, rows.contains(where: { $0.rounds > 1 && $0.objects == row.objects }) {
      remarks.append("measured once")
    }
    return line([
      "    " + row.what, seconds(row.median), seconds(row.minimum), megabytes(row.peak),
      row.ratio.map { ratio($0) } ?? "",
      row.processorRatio.map { ratio($0) } ?? "", aim, row.isMet.map { $0 ? "met" : "NOT" } ?? "",
      remarks.joined(separator: "; "),
    ])
  }

  private let widths = [36, 10, 10, 9, 8, 8, 8, 5, 0]

  private func line(_ cells: [String]) -> String {
    let padded = zip(cells, widths).map { pad($0, $1) }.joined()
    return String(padded.prefix(through: padded.lastIndex { $0 != " " } ?? padded.startIndex))
  }

  /// Twice the objects should take twice the time.
  private var growth: [String] {
    Measurement.all.filter { $0.kind == .kit }.map(\.name).compactMap { what in
      guard what.hasPrefix("load-") || what.hasPrefix("save-") else { return nil }
      let points = rows.filter { $0.what == what }
      guard let small = points.first, let large = points.last, small.objects < large.objects,
        let before = small.minimum,
        let after = large.minimum
      else { return nil }
      let growth = (after / Double(large.objects)) / (before / Double(small.objects))
      return "growth of \(what): \(number(growth, 2)) × the time an object from \(small.objects) to \(large.objects)"
    }
  }

  // MARK: For a document

  /// A line for each measurement, three columns for each size.
  var markdown: String {
    var lines: [String] = []
    let heads = ["", "compared with", "target"] + sizes.flatMap { ["\(grouped($0)): s", "ratio", "MB"] }
    func append(_ cells: [String]) { lines.append("| " + cells.joined(separator: " | ") + " |") }
    append(heads)
    lines.append("|" + heads.indices.map { $0 < 2 ? "---|" : "---:|" }.joined())
    var notes: [String] = []
    var section = ""
    for measurement in Measurement.all {
      let own = rows.filter { $0.what == measurement.name }
      guard !own.isEmpty else { continue }
      if measurement.section != section {
        section = measurement.section
        append(["**\(section)**"] + heads.dropFirst().map { _ in "" })
      }
      let against = measurement.against.map { measurement.kind == .other ? "`\($0)` : this" : "`\($0)`" } ?? ""
      let aim = measurement.aim.map { "≤ " + plain($0) } ?? measurement.aimSeconds.map { "≤ \(plain($0)) s" } ?? ""
      var cells = ["`\(measurement.name)`", against, aim]
      for objects in sizes {
        guard let row = own.first(where: { $0.objects == objects }), row.note == nil, let median = row.median,
          let least = row.minimum
        else {
          if let note = own.first(where: { $0.objects == objects })?.note {
            notes.append("`\(measurement.name)`, \(grouped(objects)): \(note).")
          }
          cells += ["–", "", ""]
          continue
        }
        let isOnce = row.rounds == 1
        cells.append(seconds(median) + (isOnce ? "¹" : " (\(seconds(least)))"))
        cells.append(
          row.ratio.map { row.isMet == nil ? ratio($0) : row.isMet == true ? "**\(ratio($0))**" : "*\(ratio($0))*" }
            ?? "")
        var memory = megabytes(row.peak)
        if let bytes = row.bytesPerObject, objects >= 100_000 { memory += " (\(number(bytes, 0)) B)" }
        cells.append(memory)
      }
      append(cells)
    }
    lines.append("")
    lines.append(
      "Seconds are the median, in parentheses the minimum; MB is the peak of the whole process, in parentheses the bytes per object "
        + "beyond it. Ratios are the median of the ratios of each round: **met**, *not met*. ¹ measured once.")
    lines += notes.map { "\n" + $0 }
    return lines.joined(separator: "\n")
  }

  // MARK: Numbers

  private var sizes: [Int] { rows.map(\.objects).reduce(into: []) { if !$0.contains($1) { $0.append($1) } } }

  private func seconds(_ value: Double?) -> String { value.map { number($0, $0 < 0.1 ? 4 : $0 < 10 ? 3 : 1) } ?? "" }
  private func ratio(_ value: Double) -> String { number(value, value < 0.1 ? 3 : 2) }
  private func megabytes(_ bytes: Int64?) -> String { bytes.map { number(Double($0) / 1e6, 0) } ?? "" }
  private func number(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }
  /// Without zeros at the end.
  private func plain(_ value: Double) -> String { String(format: "%g", value) }
  private func pad(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  private func grouped(_ value: Int) -> String {
    var digits = String(value)
    var place = digits.count - 3
    while place > 0 {
      digits.insert(",", at: digits.index(digits.startIndex, offsetBy: place))
      place -= 3
    }
    return digits
  }
}
