/// Finds the name that a misspelt name probably means.
package enum Suggestion {
  package static func text(for name: String, among names: [String]) -> String {
    var best: (name: String, distance: Int)?
    // Another case does not count as an error.
    let folded = Array(name.lowercased().unicodeScalars)
    for candidate in names {
      let distance = distance(folded, Array(candidate.lowercased().unicodeScalars))
      if distance <= max(1, min(name.count, candidate.count) / 3), distance < best?.distance ?? .max {
        best = (candidate, distance)
      }
    }
    return best.map { "; did you mean '\($0.name)'?" } ?? ""
  }

  /// What is reported about a name that nothing has: with the name that it probably means, or else with all that there
  /// are. `unknown entity 'Persn'; did you mean 'Person'?`
  package static func unknown(_ kind: String, _ name: String, among names: [String]) -> String {
    let near = text(for: name, among: names)
    let choice = near.isEmpty && !names.isEmpty ? "; choose one of \(names.joined(separator: ", "))" : near
    return "unknown \(kind) '\(name)'" + choice
  }

  /// The edit distance of two words; swapping neighbors counts as one edit.
  private static func distance(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
    guard a.count <= 64, b.count <= 64 else { return .max }
    var rows = [Array(0...b.count)]
    for i in 0..<a.count {
      var row = [i + 1]
      for j in 0..<b.count {
        var cost = min(rows[i][j] + (a[i] == b[j] ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, rows[i - 1][j - 1] + 1) }
        row.append(cost)
      }
      rows.append(row)
    }
    return rows[a.count][b.count]
  }
}
