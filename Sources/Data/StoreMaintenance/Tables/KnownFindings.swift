import AtomicStoreSPI
import StorePredicates

/// What is wrong with a store that tables are made of, as texts that are the same as long as the same is wrong.
struct KnownFindings {
  private var texts: Set<String>
  /// How far numbers of objects are beyond their bounds, by the texts of the findings.
  private var excesses: [String: Int] = [:]
  /// How many findings of a kind are recorded. Where there are more, all of the kind count as known.
  private static let greatestCount = 10_000

  /// Those of objects.
  init(_ nodes: NodeTable) {
    let report = Self.report(nodes, limit: Self.greatestCount)
    let all = report.counts.filter { $0.value > Self.greatestCount && $0.key != .model }.map(\.key)
    texts = Set(all.map(\.rawValue))
    for finding in report.findings where !all.contains(finding.kind) {
      let text = finding.breach(in: nodes)
      if let excess = finding.excess { excesses[text] = excess } else { texts.insert(text) }
    }
  }

  /// Those that were recorded.
  init(_ propertyList: PropertyListValue) {
    texts = Set((propertyList.arrayValue ?? []).compactMap(\.stringValue))
    for text in texts {
      guard let space = text.lastIndex(of: " "), text[...space].hasSuffix(Self.by),
        let excess = Int(text[text.index(after: space)...])
      else { continue }
      excesses[String(text[...space].dropLast(Self.by.count))] = excess
    }
  }

  var propertyList: PropertyListValue {
    .array((texts + excesses.map { $0.key + Self.by + String($0.value) }).sorted().map { .string($0) })
  }

  private static let by = " by "

  private static func report(_ nodes: NodeTable, limit: Int) -> StoreCheck.Report {
    var check = StoreCheck(registry: StoreRegistry())
    check.maximumFindingCount = limit
    check.allowsEmptyToManys = true
    var report = check.check(nodes)
    report.findings.removeAll { $0.kind == .model }
    return report
  }

  /// Whether a finding was there, or a number of objects was farther from its bound.
  private func contains(_ finding: CheckFinding, in nodes: NodeTable) -> Bool {
    if texts.contains(finding.kind.rawValue) { return true }
    let text = finding.breach(in: nodes)
    if let excess = finding.excess { return excesses[text].map { excess <= $0 } ?? false }
    return texts.contains(text)
  }

  /// What else is wrong with objects.
  func others(in nodes: NodeTable) -> [CheckFinding] {
    // More than are known: so many known ones do not hide all others.
    Self.report(nodes, limit: 2 * Self.greatestCount).findings.filter { !contains($0, in: nodes) }
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
      for finding in list.sorted where contains(finding, in: nodes) {
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
  /// What is wrong, with the value that breaks a rule.
  fileprivate func breach(in nodes: NodeTable) -> String {
    let what =
      switch kind {
      case .derived: message
      case .unique: value ?? ""
      default: (rule ?? "") + brokenValue(in: nodes)
      }
    return "\(kind.rawValue) \(object.map(\.description) ?? "").\(property ?? "") \(what)"
  }

  /// Of a long value the digest: ``value`` is cut.
  private func brokenValue(in nodes: NodeTable) -> String {
    guard kind == .rule, let node = object.flatMap({ nodes.handle(for: $0) }),
      let slot = property.flatMap({ nodes.model.entity(at: node.entity).slot(named: $0) })
    else { return "" }
    let text = nodes.value(slot: slot, of: node).typedText
    return " " + (text.utf8.count <= 100 ? text : SHA2.sha256(text.utf8).map { String($0, radix: 16) }.joined())
  }
}
