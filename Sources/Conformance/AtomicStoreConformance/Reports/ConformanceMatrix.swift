import FoundationEssentials

/// A table of formats and profiles: what each format may claim.
package struct ConformanceMatrix: Sendable {
  /// One record for each format, in the order of the table.
  let records: [ConformanceRecord]

  /// Creates a table.
  ///
  /// - Parameter records: The records, one for each format.
  package init(_ records: [ConformanceRecord]) { self.records = records }

  private static let profiles = ConformanceCheck.Profile.allCases

  /// A cell: the claim in a word, how many checks were passed, and the IDs of those that stand against the claim.
  private struct Cell: Codable {
    var claim: String
    /// Passed, refused as declared, or not applicable.
    var met: Int
    var run: Int
    var of: Int
    var against: [String]

    init(_ record: ConformanceRecord, _ profile: ConformanceCheck.Profile) {
      let own = record.entries.filter { $0.profile == profile }
      let claim = record.claim(profile)
      self.claim = claim.word
      met = own.count { [.passed, .refusalVerified, .notApplicable].contains($0.outcome) }
      run = own.count
      of = record.totals[profile] ?? 0
      against = own.filter { $0.outcome.isFailure || $0.outcome == .blocked }.map(\.id)
    }

    /// For people: `full`, `partial (191/193)`, `7/193 run`, or a dash where no check was run.
    var text: String {
      if run == 0 { return "-" }
      if run < of { return "\(run)/\(of) run" + (against.isEmpty ? "" : ", \(against.count) against") }
      return claim == "partial" ? "partial (\(met)/\(of))" : claim
    }
  }

  // MARK: Text

  /// The table as text, followed by the checks that stand against a claim.
  package var text: String {
    var rows = [["format"] + Self.profiles.map(\.rawValue)]
    for record in records { rows.append([record.storeType] + Self.profiles.map { Cell(record, $0).text }) }
    let widths = rows[0].indices.map { column in rows.map { $0[column].unicodeScalars.count }.max() ?? 0 }
    var lines = rows.map { row in
      zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.unicodeScalars.count) }.joined(separator: "  ")
    }
    lines.insert(widths.map { String(repeating: "-", count: $0) }.joined(separator: "  "), at: 1)
    var text = lines.map { Self.withoutTrailingSpaces($0) + "\n" }.joined()
    for record in records {
      let against = Self.profiles.flatMap { Cell(record, $0).against }
      if !against.isEmpty { text += "against \(record.storeType): \(against.joined(separator: ", "))\n" }
    }
    return text + ConformanceReport.caveat + "\n"
  }

  private static func withoutTrailingSpaces(_ line: String) -> String {
    var line = line[...]
    while line.last == " " { line.removeLast() }
    return String(line)
  }

  // MARK: JSON

  private struct Document: Encodable {
    struct Format: Encodable {
      var storeType: String
      var profiles: [String: Cell]
    }
    var schema = "atomicstore-conformance-matrix-1"
    var formats: [Format]
    var caveat = ConformanceReport.caveat
  }

  /// The table as JSON.
  ///
  /// - Throws: An error if it cannot be encoded.
  package func json() throws -> [UInt8] {
    let document = Document(
      formats: records.map { record in
        .init(
          storeType: record.storeType,
          profiles: Dictionary(uniqueKeysWithValues: Self.profiles.map { ($0.rawValue, Cell(record, $0)) }))
      })
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(document)) + [.lineFeed]
  }

  // MARK: HTML

  /// The table as one page that loads nothing.
  package var html: String {
    let head = Self.profiles.map { "<th scope=\"col\">\($0.rawValue)</th>" }.joined()
    let rows = records.map { record in
      "<tr><th scope=\"row\">\(ConformanceReport.escaped(record.storeType))</th>"
        + Self.profiles.map { Self.cell(Cell(record, $0), $0) }.joined() + "</tr>\n"
    }.joined()
    return """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
      <title>Conformance of store formats</title>
      <style>
      \(ConformanceReport.style)
      td { white-space: normal } td .count { color: var(--soft) } tbody th { font-weight: 600 }
      .full { color: var(--good); font-weight: 600 } .partial { color: var(--late); font-weight: 600 }
      .unclaimed { color: var(--soft) }
      @media (max-width: 45em) { tbody th { padding-top: 1em } td::before { content: attr(data-profile) ": "; color: var(--soft) } }
      </style></head><body>
      <main><h1>Conformance of store formats</h1>
      <table><thead><tr><th scope="col">Format</th>\(head)</tr></thead><tbody>
      \(rows)</tbody></table>
      <p><small>\(ConformanceReport.escaped(ConformanceReport.caveat))</small></p></main></body></html>

      """
  }

  private static func cell(_ cell: Cell, _ profile: ConformanceCheck.Profile) -> String {
    let style = cell.claim == "not claimed" ? "unclaimed" : cell.claim == "full" ? "full" : "partial"
    var text = "<td class=\"rule\" data-profile=\"\(profile.rawValue)\">"
    text += "<span class=\"\(style)\">\(cell.claim)</span>"
    if cell.run > 0 {
      text +=
        " <span class=\"count\">" + (cell.run < cell.of ? "\(cell.run) of \(cell.of) run" : "\(cell.met) of \(cell.of)")
        + "</span>"
    }
    if !cell.against.isEmpty {
      let count = cell.against.count
      text += "<details><summary>\(count) check\(count == 1 ? "" : "s") against it</summary>"
      text += cell.against.map { ConformanceReport.escaped($0) }.joined(separator: ", ") + "</details>"
    }
    return text + "</td>"
  }
}
