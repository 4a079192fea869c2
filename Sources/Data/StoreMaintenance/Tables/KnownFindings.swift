import AtomicStoreSPI
import StorePredicates

/// What is wrong with a store that tables are made of, as texts that are the same as long as the same is wrong.
struct KnownFindings {
  private let texts: Set<String>
  /// How many findings of a kind are recorded. Where there are more, all of the kind count as known.
  private static let greatestCount = 10_000

  /// Those of objects.
  init(_ nodes: NodeTable) {
    let report = Self.report(nodes, limit: Self.greatestCount)
    let all = report.counts.filter { $0.value > Self.greatestCount && $0.key != .model }.map(\.key)
    texts = Set(report.findings.filter { !all.contains($0.kind) }.map(\.breach) + all.map(\.rawValue))
  }

  /// Those that were recorded.
  init(_ propertyList: PropertyListValue) { texts = Set((propertyList.arrayValue ?? []).compactMap(\.stringValue)) }

  var propertyList: PropertyListValue { .array(texts.sorted().map { .string($0) }) }

  private static func report(_ nodes: NodeTable, limit: Int) -> StoreCheck.Report {
    var check = StoreCheck(registry: StoreRegistry())
    check.maximumFindingCount = limit
    var report = check.check(nodes)
    report.findings.removeAll { $0.kind == .model || $0.kind == .missing && $0.isWarning }
    return report
  }

  private func contains(_ finding: CheckFinding) -> Bool {
    texts.contains(finding.kind.rawValue) || texts.contains(finding.breach)
  }

  /// What else is wrong with objects.
  func others(in nodes: NodeTable) -> [CheckFinding] {
    // More than are known: so many known ones do not hide all others.
    Self.report(nodes, limit: 2 * Self.greatestCount).findings.filter { !contains($0) }
  }

  /// Computes derived attributes that do not have their value, except those that are known not to have it.
  ///
  /// - Returns: Which of them had another value.
  func recompute(_ nodes: inout NodeTable) throws(PersistentStoreError) -> [SelectionNote] {
    if texts.contains(CheckFinding.Kind.derived.rawValue) { return [] }
    var kept: Set<DerivedAttributes.Failure> = []
    if texts.contains(where: { $0.hasPrefix(CheckFinding.Kind.derived.rawValue) }) {
      var list = FindingList(limit: nil)
      DerivationCheck(nodes).run(&list)
      for finding in list.sorted where contains(finding) {
        finding.object.map { _ = kept.insert(DerivedAttributes.Failure($0, finding.property ?? "")) }
      }
    }
    let replaced = try DerivedAttributes(nodes.model).recompute(&nodes) { kept.contains($0) }
    return replaced.sorted { $0.key < $1.key }.map {
      SelectionNote(subject: $0.key, count: $0.value, text: "the tables have other values than the derivation gives")
    }
  }
}

extension CheckFinding {
  fileprivate var breach: String {
    let what =
      switch kind {
      case .derived: message
      case .unique: value ?? ""
      default: rule ?? ""
      }
    return "\(kind.rawValue) \(object.map(\.description) ?? "").\(property ?? "") \(what)"
  }
}
