import AtomicStoreSPI
package import StoreJSON

extension LintFinding {
  /// Findings as a SARIF 2.1.0 log, which code hosts and editors show beside the file.
  ///
  /// - Parameters:
  ///   - findings: The findings, with the line of each; nil where it is not known.
  ///   - file: The file's path relative to the repository.
  ///   - version: The version of the program.
  package static func sarif(
    _ findings: [(finding: LintFinding, line: Int?)], file: String, version: String
  ) -> JSONValue {
    let rules = LintRule.all.map { rule -> JSONValue in
      .object([
        ("id", .string(rule.name)), ("shortDescription", .object([("text", .string(rule.summary))])),
        ("defaultConfiguration", .object([("level", .string(rule.level.rawValue))])),
      ])
    }
    let results = findings.map { finding, line -> JSONValue in
      var place: [(String, JSONValue)] = [("artifactLocation", .object([("uri", .string(uri(file)))]))]
      if let line { place.append(("region", .object([("startLine", .integer(line))]))) }
      var location: [(String, JSONValue)] = [("physicalLocation", .object(place))]
      if !finding.subject.isEmpty {
        location.append(
          ("logicalLocations", .array([.object([("fullyQualifiedName", .string(finding.subject))])])))
      }
      let subject = finding.subject.isEmpty ? "" : "\(finding.subject): "
      return .object([
        ("ruleId", .string(finding.rule)),
        ("ruleIndex", .integer(LintRule.all.firstIndex { $0.name == finding.rule } ?? 0)),
        ("level", .string(finding.level.rawValue)),
        ("message", .object([("text", .string(subject + finding.message))])),
        ("locations", .array([.object(location)])),
      ])
    }
    let driver = JSONValue.object([
      ("name", .string("atomicstore model lint")), ("version", .string(version)), ("rules", .array(rules)),
    ])
    return .object([
      ("$schema", .string("https://json.schemastore.org/sarif-2.1.0.json")), ("version", .string("2.1.0")),
      ("runs", .array([.object([("tool", .object([("driver", driver)])), ("results", .array(results))])])),
    ])
  }

  /// A path as a URI reference: each byte that has a meaning in one, or is not ASCII, is encoded.
  private static func uri(_ path: String) -> String { PercentEncoding(keeping: "-._~/").encoded(path) }
}
