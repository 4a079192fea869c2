import Foundation
import FoundationXML
import Testing

@testable import AtomicStoreConformance

/// As much of JSON Schema as the report's schema uses; a keyword that it does not know is a problem.
struct JSONSchema {
  private static let known: Set = [
    "$schema", "title", "type", "required", "properties", "items", "additionalProperties", "enum", "const", "minimum",
  ]

  static func problems(_ value: Any, _ schema: [String: Any], at place: String = "$") -> [String] {
    var found = schema.keys.filter { !known.contains($0) }.map { "\(place): the validator does not know '\($0)'" }
    if let type = schema["type"] as? String, !isOf(type, value) { return found + ["\(place): no \(type)"] }
    if let constant = schema["const"] as? String, value as? String != constant {
      found.append("\(place): not '\(constant)'")
    }
    if let list = schema["enum"] as? [String], !list.contains(value as? String ?? "") {
      found.append("\(place): '\(value)' is not one of \(list)")
    }
    if let least = schema["minimum"] as? Double, (value as? NSNumber)?.doubleValue ?? least < least {
      found.append("\(place): less than \(least)")
    }
    if let object = value as? [String: Any] {
      for name in schema["required"] as? [String] ?? [] where object[name] == nil {
        found.append("\(place): no '\(name)'")
      }
      let properties = schema["properties"] as? [String: [String: Any]] ?? [:]
      for (name, inner) in object {
        if let own = properties[name] ?? schema["additionalProperties"] as? [String: Any] {
          found += problems(inner, own, at: "\(place).\(name)")
        }
      }
    }
    if let array = value as? [Any], let items = schema["items"] as? [String: Any] {
      for (index, inner) in array.enumerated() { found += problems(inner, items, at: "\(place)[\(index)]") }
    }
    return found
  }

  private static func isOf(_ type: String, _ value: Any) -> Bool {
    switch type {
    case "object": value is [String: Any]
    case "array": value is [Any]
    case "string": value is String
    case "integer": (value as? NSNumber).map { $0.doubleValue == $0.doubleValue.rounded() } ?? false
    default: false
    }
  }
}

/// What a JUnit report contains, read by an XML parser that is not ours.
final class JUnitReader: NSObject, XMLParserDelegate {
  struct Case: Equatable {
    var id: String
    var profile: String
    /// The property of that name.
    var title = ""
    /// The element within: failure, error, skipped; nil for a pass.
    var inner: String?
    var message = ""
    var text = ""
  }
  var suite: [String: String] = [:]
  var cases: [Case] = []

  static func read(_ text: String) -> JUnitReader? {
    let reader = JUnitReader()
    let parser = XMLParser(data: Data(text.utf8))
    parser.delegate = reader
    return parser.parse() ? reader : nil
  }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    switch name {
    case "testsuite": suite = attributes
    case "testcase":
      cases.append(
        Case(id: attributes["name"] ?? "", profile: attributes["classname"] ?? ""))
    case "property": if !cases.isEmpty { cases[cases.count - 1].title = attributes["value"] ?? "" }
    case "properties": break
    default:
      guard !cases.isEmpty else { return }
      cases[cases.count - 1].inner = name
      cases[cases.count - 1].message = attributes["message"] ?? ""
    }
  }
  func parser(_ parser: XMLParser, foundCharacters string: String) {
    if !cases.isEmpty { cases[cases.count - 1].text += string }
  }
}

@Suite("Reports", .enabled(if: Harness.isReady)) struct ReportTests {
  /// One result for each check of the catalogue, every outcome many times, with texts that markup is made of.
  static let invented: ConformanceReport = {
    let checks = Conformance.catalogue
    let outcomes = ConformanceResult.Outcome.allCases
    let nasty = "<&>\"'\u{0}\u{1}\u{FFFE}\u{1B}[31m ]]> -- \r\n\t 😀 e\u{301}"
    let results = checks.enumerated().map { place, check in
      var result = ConformanceResult(id: check.id, outcome: outcomes[place % outcomes.count])
      result.seconds = Double(place) / 7
      result.seed = UInt64.max
      result.notes = place % 3 == 0 ? [nasty, "another"] : []
      result.strip = place % 5 == 0 ? ["OLD", "OLD", "NEW", "ELSE"] : []
      if result.outcome.isFailure {
        result.explanation = .init(
          rule: check.title, source: check.source, done: ["a", nasty], expected: nasty, actual: "\(place) \(nasty)",
          causes: check.likelyCauses, files: "/tmp/x", command: "again")
      } else if result.outcome != .passed {
        result.reason = nasty
      }
      return result
    }
    return ConformanceReport(storeType: nasty, checks: checks, results: results)
  }()

  /// A run of real checks, with a failure, a crash and a check that does not apply.
  static func run() throws -> ConformanceReport {
    let checks = [
      try Harness.check("REG-02"), try Harness.check("VAL-07", fault: "shortDoubleFormat"),
      try Harness.check("LOD-01", fault: "trapsAtSave"),
      try Harness.check("HCS-01"), try Harness.check("TRA-02", fault: "honestEmpty"), try Harness.check("SAV-09"),
    ]
    return ConformanceReport(storeType: "Calm", checks: checks, results: ConformanceRun(checks).results())
  }

  @Test(
    "text, JSON, JUnit and HTML of one run report the same checks with the same outcomes", arguments: [false, true])
  func agree(_ isReal: Bool) throws {
    let report = isReal ? try Self.run() : Self.invented
    let expected = Dictionary(uniqueKeysWithValues: report.results.map { ($0.id, $0.outcome.rawValue) })
    #expect(expected.count == report.results.count)
    if isReal {
      #expect(
        Set(expected.values).isSuperset(of: ["passed", "failed", "crashed", "notApplicable", "refusalVerified"]),
        "\(expected)")
    }

    let json = try #require(try JSONSerialization.jsonObject(with: Data(report.json())) as? [String: Any])
    let entries = try #require(json["checks"] as? [[String: Any]])
    let told = try entries.map { entry -> (String, String) in
      let result = try #require(entry["result"] as? [String: Any])
      #expect(result["id"] as? String == entry["id"] as? String)
      return (try #require(entry["id"] as? String), try #require(result["outcome"] as? String))
    }
    #expect(Dictionary(uniqueKeysWithValues: told) == expected)
    #expect(json["total"] as? Int == expected.count)
    let counts = try #require(json["counts"] as? [String: Int])
    #expect(counts.values.reduce(0, +) == expected.count)
    for outcome in ConformanceResult.Outcome.allCases {
      #expect(counts[outcome.rawValue] == expected.values.filter { $0 == outcome.rawValue }.count)
    }

    let junit = try #require(JUnitReader.read(report.junit), "not well-formed")
    #expect(junit.cases.map(\.id) == report.checks.map(\.id))
    #expect(junit.cases.map(\.title) == report.checks.map(\.title))
    #expect(junit.cases.map(\.profile) == report.checks.map(\.profile.rawValue))
    for (one, result) in zip(junit.cases, report.results) {
      switch result.outcome {
      case .passed, .refusalVerified: #expect(one.inner == nil)
      case .failed: #expect(one.inner == "failure" && !one.text.isEmpty)
      case .crashed, .timedOut: #expect(one.inner == "error" && one.message == result.outcome.rawValue)
      case .gap, .notApplicable: #expect(one.inner == "skipped" && one.message.hasPrefix(result.outcome.rawValue))
      case .blocked: #expect(one.inner == "error" && one.message.hasPrefix("blocked"))
      }
    }
    #expect(junit.suite["tests"] == "\(expected.count)")
    for (attribute, inner) in [("failures", "failure"), ("errors", "error"), ("skipped", "skipped")] {
      #expect(junit.suite[attribute] == "\(junit.cases.filter { $0.inner == inner }.count)")
    }

    let html = report.html
    for result in report.results {
      let rows = html.components(separatedBy: "<tr id=\"\(result.id)\">")
      #expect(rows.count == 2, "\(result.id) has \(rows.count - 1) rows")
      #expect(rows.last?.prefix(400).contains(">\(result.outcome.rawValue)</td>") == true, "\(result.id)")
    }
    #expect(html.components(separatedBy: "<tr id=").count - 1 == expected.count)

    for result in report.results { #expect(report.text.contains(result.id)) }
    for (outcome, count) in counts where count > 0 { #expect(report.summary.contains("\(count) \(outcome)")) }
    #expect(report.isSuccess == false)
  }

  @Test("totals are those of the catalogue")
  func totals() throws {
    #expect(Self.invented.results.count == Conformance.catalogue.count)
    let profiles = ConformanceCheck.Profile.allCases.map { profile in
      Conformance.catalogue.filter { $0.profile == profile }.count
    }
    #expect(profiles.reduce(0, +) == Conformance.catalogue.count && !profiles.contains(0))
  }

  @Test("JSON matches the published schema, and deviations are detected")
  func schema() throws {
    let schema = try #require(
      try JSONSerialization.jsonObject(with: Data(ConformanceReport.schema.utf8)) as? [String: Any])
    let good = try #require(try JSONSerialization.jsonObject(with: Data(Self.invented.json())) as? [String: Any])
    #expect(JSONSchema.problems(good, schema).isEmpty, "\(JSONSchema.problems(good, schema).prefix(5))")
    // A few checks are enough to be wrong.
    let few = ConformanceReport(
      storeType: "Calm", checks: Array(Self.invented.checks.prefix(9)), results: Array(Self.invented.results.prefix(9)))
    let right = try #require(try JSONSerialization.jsonObject(with: Data(few.json())) as? [String: Any])
    #expect(JSONSchema.problems(right, schema).isEmpty)
    for key in right.keys.sorted() {
      var bad = right
      bad[key] = nil
      #expect(!JSONSchema.problems(bad, schema).isEmpty, "without \(key)")
      bad[key] = NSNull()
      #expect(!JSONSchema.problems(bad, schema).isEmpty, "with another \(key)")
    }
    var bad = right
    var entries = try #require(right["checks"] as? [[String: Any]])
    var result = try #require(entries[0]["result"] as? [String: Any])
    result["outcome"] = "perhaps"
    entries[0]["result"] = result
    bad["checks"] = entries
    #expect(JSONSchema.problems(bad, schema).contains { $0.contains("perhaps") })
  }

  @Test("a claim requires all checks of a profile: if one was not run, no report makes it")
  func claims() throws {
    let all = Self.invented.checks
    let passed = all.map { ConformanceResult(id: $0.id, outcome: .passed) }
    let whole = ConformanceReport(storeType: "Calm", checks: all, results: passed)
    for profile in ConformanceCheck.Profile.allCases { #expect(whole.claim(profile) == .full) }
    let place = try #require(all.lastIndex { $0.profile == .core })
    let total = all.count { $0.profile == .core }
    let most = all.enumerated().filter { $0.offset != place }.map(\.element)
    let report = ConformanceReport(
      storeType: "Calm", checks: most, results: most.map { ConformanceResult(id: $0.id, outcome: .passed) })
    #expect(report.claim(.core) == .incomplete(run: total - 1, of: total) && report.claim(.durable) == .full)
    for text in [report.text, report.html] {
      #expect(text.contains("core: not claimed (\(total - 1) of \(total) run)"))
    }
    let json = try #require(try JSONSerialization.jsonObject(with: Data(report.json())) as? [String: Any])
    #expect(
      (json["claims"] as? [String: String])?["core"] == "not claimed"
        && (json["claims"] as? [String: String])?["durable"] == "full")
    #expect((json["coverage"] as? [String: [String: Int]])?["core"] == ["run": total - 1, "of": total])
    // What is against it is against the whole alone.
    var results = passed
    results[place].outcome = .failed
    #expect(
      ConformanceReport(storeType: "Calm", checks: all, results: results).claim(.core) == .partial([all[place].id]))
  }

  @Test("markup in a store's messages stays text, and characters that XML does not allow are written as numbers")
  func markup() throws {
    let junit = Self.invented.junit
    #expect(!junit.unicodeScalars.contains { $0.value == 0 || $0.value == 0xFFFE || $0.value == 0x1B })
    #expect(junit.contains("\\u{0}") && junit.contains("\\u{fffe}"))
    #expect(!Self.invented.html.contains("<&>"))
  }

  @Test("a run without checks is not a success, nor is a run in which every check was blocked")
  func nothing() throws {
    #expect(!ConformanceReport(storeType: "Calm", checks: [], results: ConformanceRun([]).results()).isSuccess)
    let check = try Harness.check("REG-02")
    let blocked = ConformanceResult(id: check.id, outcome: .blocked, reason: "no disk")
    #expect(!ConformanceReport(storeType: "Calm", checks: [check], results: [blocked]).isSuccess)
  }
}
