import AtomicStoreSPI

/// Findings as they come, of each kind as many as are asked for.
struct FindingList {
  let limit: Int?
  private var findings: [CheckFinding] = []
  /// How many there are of each kind, those that are not listed included.
  private(set) var counts: [CheckFinding.Kind: Int] = [:]

  init(limit: Int?) { self.limit = limit }

  mutating func add(_ finding: @autoclosure () -> CheckFinding, kind: CheckFinding.Kind) {
    counts[kind, default: 0] += 1
    if let limit, counts[kind, default: 0] > limit { return }
    findings.append(finding())
  }
  mutating func add(_ finding: CheckFinding) { add(finding, kind: finding.kind) }
  mutating func add(_ list: [CheckFinding]) { for finding in list { add(finding) } }

  /// The findings by kind, entity and reference.
  var sorted: [CheckFinding] {
    let order = CheckFinding.Kind.allCases
    return findings.enumerated().sorted {
      let (one, other) = ($0.element, $1.element)
      if one.kind != other.kind {
        return (order.firstIndex(of: one.kind) ?? 0) < (order.firstIndex(of: other.kind) ?? 0)
      }
      guard let first = one.object, let second = other.object else {
        return one.object == nil && other.object != nil
          || (one.object == nil) == (other.object == nil) && $0.offset < $1.offset
      }
      if first.entityName != second.entityName {
        return ScalarString(first.entityName) < ScalarString(second.entityName)
      }
      return first.reference == second.reference ? $0.offset < $1.offset : first.reference < second.reference
    }.map(\.element)
  }
}
