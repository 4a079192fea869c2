import AtomicStoreSPI
import Foundation
import FoundationXML
import Testing

@testable import AtomicStoreConformance

@Suite("Records, tables, comparisons and badges of reports") struct RecordTests {
  typealias Outcome = ConformanceResult.Outcome

  /// The checks of stores that are loaded and saved whole.
  static let catalogue = Conformance.catalogue.filter { $0.profile != .incremental }

  /// A report on all of them, all passed but those that are named.
  static func report(
    _ type: String = "Calm", _ others: [String: Outcome] = [:], without: Set<String> = []
  ) -> ConformanceReport {
    let checks = catalogue.filter { !without.contains($0.id) }
    return ConformanceReport(
      storeType: type, checks: checks,
      results: checks.map { ConformanceResult(id: $0.id, outcome: others[$0.id] ?? .passed) })
  }

  static func record(_ type: String = "Calm", _ others: [String: Outcome] = [:], without: Set<String> = [])
    -> ConformanceRecord
  { ConformanceRecord(report(type, others, without: without)) }

  // MARK: Records

  @Test("a record that is read from JSON is that of the report, and makes the same claims")
  func roundTrip() throws {
    for report in [
      ReportTests.invented, Self.report(), Self.report("é<&>", ["VAL-07": .crashed]), Self.report(without: ["VAL-07"]),
    ] {
      let record = try ConformanceRecord(json: report.json(), name: "r.json")
      #expect(record == ConformanceRecord(report) && record.entries.count == report.results.count)
      for profile in ConformanceCheck.Profile.allCases { #expect(record.claim(profile) == report.claim(profile)) }
    }
  }

  @Test(
    "a file that is not a report is refused, and the reason names what is wrong",
    arguments: [
      ("\"schema\" : \"atomicstore-conformance-1\"", "\"schema\" : \"2\"", "schema: it is '2'"),
      ("\"storeType\" : \"Calm\"", "\"storeType\" : 3", "storeType: a text is expected, not the number 3"),
      ("\"checks\"", "\"tests\"", "'checks' is missing"),
      ("\"id\" : \"VAL-08\"", "\"id\" : \"VAL-07\"", "VAL-07 is listed twice"),
      ("\"profile\" : \"durable\"", "\"profile\" : \"sturdy\"", "unknown profile 'sturdy'"),
      ("\"outcome\" : \"passed\"", "\"outcome\" : \"perhaps\"", "unknown outcome 'perhaps'"),
      ("\"run\" : ", "\"run\" : 1", "checks were run, but"), ("{", "[", "JSON"),
    ])
  func refused(_ old: String, _ new: String, _ words: String) throws {
    let text = String(decoding: try Self.report().json(), as: UTF8.self)
    let start = try #require(text.range(of: old))
    let bytes = Array(text.replacingCharacters(in: start, with: new).utf8)
    let error = #expect(throws: PersistentStoreError.self) { try ConformanceRecord(json: bytes, name: "r.json") }
    #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
  }

  @Test("truncated reports are refused, wherever they end", arguments: [0, 1, 100, 5000])
  func truncated(_ length: Int) throws {
    let bytes = Array(try Self.report().json().prefix(length))
    #expect(throws: PersistentStoreError.self) { try ConformanceRecord(json: bytes, name: "r.json") }
  }

  // MARK: Table

  @Test("text, JSON and HTML of a table have a row for each format with the same claims")
  func matrix() throws {
    let durable = try #require(Self.catalogue.first { $0.profile == .durable }).id
    let records = [
      Self.record("Whole"), Self.record("Partial", ["VAL-07": .failed]), Self.record("Less", without: [durable]),
    ]
    let matrix = ConformanceMatrix(records)
    let json = try #require(try JSONSerialization.jsonObject(with: Data(matrix.json())) as? [String: Any])
    let formats = try #require(json["formats"] as? [[String: Any]])
    #expect(formats.map { $0["storeType"] as? String } == ["Whole", "Partial", "Less"])
    let lines = matrix.text.split(separator: "\n")
    for (index, record) in records.enumerated() {
      let profiles = try #require(formats[index]["profiles"] as? [String: [String: Any]])
      for profile in ConformanceCheck.Profile.allCases {
        #expect(profiles[profile.rawValue]?["claim"] as? String == record.claim(profile).word)
      }
      #expect(lines[index + 2].hasPrefix(record.storeType))
      #expect(matrix.html.contains("<th scope=\"row\">\(record.storeType)</th>"))
    }
    let total = Self.catalogue.count { $0.profile == .core }
    #expect(lines[3].contains("partial (\(total - 1)/\(total))") && lines[2].contains("full"))
    #expect(matrix.text.contains("against Partial: VAL-07\n"))
    #expect(matrix.html.contains("<details><summary>1 check against it</summary>VAL-07</details>"))
    let rest = Self.catalogue.count { $0.profile == .durable }
    #expect(lines[4].contains("\(rest - 1)/\(rest) run"))
  }

  @Test("the name of a format stays text in the page and the badge")
  func markup() {
    let record = Self.record("<script>&\"")
    for text in [ConformanceMatrix([record]).html, ConformanceBadge(record).svg] {
      #expect(!text.contains("<script>") && text.contains("&lt;script&gt;&amp;&quot;"))
    }
  }

  // MARK: Comparison

  static let worse: [Outcome: Set<Outcome>] = [
    .passed: [.failed, .crashed, .timedOut, .gap, .refusalVerified, .notApplicable],
    .refusalVerified: [.failed, .crashed, .timedOut, .gap], .notApplicable: [.failed, .crashed, .timedOut, .gap],
    .gap: [.failed, .crashed, .timedOut],
  ]

  @Test(
    "each pair of outcomes is worse, better or neither, and the reverse is the opposite", arguments: Outcome.allCases)
  func pairs(_ old: Outcome) {
    for new in Outcome.allCases {
      let comparison = ConformanceComparison(
        Self.record("Calm", ["VAL-07": old]), Self.record("Calm", ["VAL-07": new]))
      let isWorse = Self.worse[old]?.contains(new) == true
      let isBetter = Self.worse[new]?.contains(old) == true
      #expect(comparison.worse.map(\.entry.id) == (isWorse ? ["VAL-07"] : []), "\(old) \(new)")
      #expect(comparison.better.map(\.entry.id) == (isBetter ? ["VAL-07"] : []), "\(old) \(new)")
      #expect(comparison.other.count == (old != new && !isWorse && !isBetter ? 1 : 0), "\(old) \(new)")
      if isWorse { #expect(comparison.isWorse) }
    }
  }

  @Test("checks that only one report has are new or gone; a claim that is no longer made is worse")
  func claims() throws {
    let whole = Self.record()
    let less = Self.record(without: ["VAL-07"])
    let lost = ConformanceComparison(whole, less)
    #expect(lost.gone.map(\.id) == ["VAL-07"] && lost.new.isEmpty && lost.worse.isEmpty)
    #expect(lost.lostClaims.map(\.profile) == [.core] && lost.isWorse)
    #expect(lost.text.contains("worse   core: full -> not claimed (") && lost.text.contains("gone    VAL-07  passed: "))
    let won = ConformanceComparison(less, whole)
    #expect(won.new.map(\.id) == ["VAL-07"] && won.wonClaims.map(\.profile) == [.core] && !won.isWorse)
    #expect(won.text.hasSuffix("0 worse, 0 better, 0 otherwise, 1 new, 0 gone\n"))
    // A new check that fails takes the claim away.
    #expect(ConformanceComparison(less, Self.record("Calm", ["VAL-07": .failed])).isWorse == false)
    let grown = ConformanceRecord(
      storeType: "Calm", entries: whole.entries.filter { $0.id != "VAL-07" },
      totals: whole.totals.merging([.core: (whole.totals[.core] ?? 1) - 1]) { $1 })
    #expect(ConformanceComparison(grown, Self.record("Calm", ["VAL-07": .failed])).isWorse)
    let same = ConformanceComparison(whole, whole)
    #expect(!same.isWorse && same.text == "0 worse, 0 better, 0 otherwise, 0 new, 0 gone\n")
    let json = try #require(try JSONSerialization.jsonObject(with: Data(lost.json())) as? [String: Any])
    #expect(json["isWorse"] as? Bool == true && (json["gone"] as? [[String: Any]])?.first?["id"] as? String == "VAL-07")
  }

  // MARK: Badge

  @Test("a badge says what is claimed")
  func badge() throws {
    let whole = ConformanceBadge(Self.record())
    #expect(whole.message == "full" && whole.level == .full && whole.label == "Calm conformance")
    let count = Self.catalogue.count
    let failing = ConformanceBadge(Self.record("Calm", ["VAL-07": .failed, "VAL-08": .timedOut]))
    #expect(failing.message == "2 of \(count) checks failed" && failing.level == .failing)
    let gap = ConformanceBadge(Self.record("Calm", ["VAL-07": .gap]))
    #expect(gap.message == "durable, interop, hostile, scale" && gap.level == .partial)
    let few = ConformanceBadge(Self.record(without: Set(Self.catalogue.map(\.id)).subtracting(["VAL-07"])))
    #expect(few.message == "not claimed" && few.level == .none)
    // A profile of which nothing applies takes nothing away; one that was not run does.
    let scale = Self.catalogue.filter { $0.profile == .scale }.map(\.id)
    let inapplicable = Dictionary(uniqueKeysWithValues: scale.map { ($0, Outcome.notApplicable) })
    #expect(ConformanceBadge(Self.record("Calm", inapplicable)).message == "full")
    #expect(ConformanceBadge(Self.record(without: Set(scale))).message == "core, durable, interop, hostile")
  }

  @Test(
    "a badge is well-formed, its text has enough contrast and fits",
    arguments: ["Calm", "", "<&>\"", "営業部", String(repeating: "W", count: 60)])
  func drawing(_ name: String) throws {
    for others: [String: Outcome] in [[:], ["VAL-07": .failed], ["VAL-07": .gap]] {
      let svg = ConformanceBadge(Self.record(name, others)).svg
      let reader = BadgeReader()
      let parser = XMLParser(data: Data(svg.utf8))
      parser.delegate = reader
      #expect(parser.parse(), "\(svg)")
      #expect(reader.texts.first == "\(name) conformance", "\(reader.texts)")
      for fill in reader.backgrounds { #expect(Self.contrastWithWhite(fill) >= 4.5, "\(fill)") }
      #expect(reader.backgrounds.count == 2)
      #expect(reader.end <= reader.width && reader.width > 0)
    }
  }

  /// By the formula of the Web Content Accessibility Guidelines.
  static func contrastWithWhite(_ color: String) -> Double {
    let number = Int(color.dropFirst(), radix: 16) ?? 0xFFFFFF
    let parts = [number >> 16 & 255, number >> 8 & 255, number & 255].map { part -> Double in
      let value = Double(part) / 255
      return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
    }
    return 1.05 / (0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2] + 0.05)
  }
}

/// What is in a badge, read by an XML parser that is not ours.
private final class BadgeReader: NSObject, XMLParserDelegate {
  var width = 0
  /// Where the last text ends.
  var end = 0
  var backgrounds: [String] = []
  var texts: [String] = []
  private var isInText = false

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    if name == "svg" { width = attributes["width"].flatMap { Int($0) } ?? 0 }
    if name == "rect", let fill = attributes["fill"] { backgrounds.append(fill) }
    isInText = name == "text"
    guard isInText else { return }
    texts.append("")
    end = ["x", "textLength"].compactMap { attributes[$0].flatMap { Int($0) } }.reduce(0, +)
  }

  func parser(_ parser: XMLParser, foundCharacters string: String) {
    if isInText { texts[texts.count - 1] += string }
  }

  func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
    isInText = false
  }
}
