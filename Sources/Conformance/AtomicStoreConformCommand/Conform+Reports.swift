import ArgumentParser
import AtomicStoreConformance
import AtomicStoreSPI
import CommandSupport
import FoundationEssentials

extension Conform.Run {
  // MARK: --compare

  /// Prints what differs between two reports. Exit code 1 if something became worse.
  func compareReports() throws {
    try refuse("--compare", [("--type", type != nil), ("--matrix", matrix), ("--badge", badge != nil)] + choices)
    try refuse("--compare", [("--report", !report.isEmpty)])
    guard reports.count == 2 else {
      throw failure("--compare needs two reports in JSON, the old one and the new one, not \(reports.count)", 64)
    }
    let (old, new) = (try record(at: reports[0]), try record(at: reports[1]))
    guard old.storeType == new.storeType else {
      throw failure("\(reports[0]) is about \(old.storeType), \(reports[1]) about \(new.storeType)", 64)
    }
    let comparison = ConformanceComparison(old, new)
    try Diagnostics.put(common.json ? String(decoding: try comparison.json(), as: UTF8.self) : comparison.text)
    if comparison.isWorse { throw ExitCode(1) }
  }

  // MARK: --matrix

  /// Prints a table of reports, or of a run of all types. Exit code 1 if a check that was run fails.
  func showMatrix() throws {
    try refuse("--matrix", [("--type", type != nil), ("--url", url != nil)])
    if !reports.isEmpty { try refuse("reports", choices) }
    let (records, isSuccess) = reports.isEmpty ? try runOfAllTypes() : (try readReports(), true)
    let matrix = ConformanceMatrix(records)
    var files = try report.map { path in
      switch PathParts.fileExtension(of: path) {
      case "json": (path, try matrix.json())
      case "html": (path, Array(matrix.html.utf8))
      default: (path, Array(matrix.text.utf8))
      }
    }
    if let badge, let record = records.first { files.append((badge, Array(ConformanceBadge(record).svg.utf8))) }
    try write(files)
    try Diagnostics.put(common.json ? String(decoding: try matrix.json(), as: UTF8.self) : matrix.text)
    if !isSuccess { throw ExitCode(1) }
  }

  private func readReports() throws -> [ConformanceRecord] {
    try requireTargets(["html", "json", "txt"])
    if badge != nil, reports.count > 1 {
      throw failure("--badge shows one format; \(reports.count) reports are given", 64)
    }
    var records: [ConformanceRecord] = []
    for path in reports {
      let record = try record(at: path)
      if let index = records.firstIndex(where: { $0.storeType == record.storeType }) {
        throw failure("\(reports[index]) and \(path) are both about \(record.storeType)", 64)
      }
      records.append(record)
    }
    return records
  }

  private func runOfAllTypes() throws -> (records: [ConformanceRecord], isSuccess: Bool) {
    if badge != nil { throw failure("--badge shows one format: use it with --type, or with one report", 64) }
    let registry = InstalledFormats.registry
    let files = registry.storeTypes.compactMap { try? registry.storeType(named: $0) }.filter { !$0.traits.isInProcess }
    let inParts = registry.incrementalTypes.filter { !$0.traits.fileExtensions.isEmpty }
    // Closures: Swift 6.3.1 crashes on a key path to a property of a type that is not known.
    let names = files.map { $0.storeType } + inParts.map { $0.storeType }
    let subjects = try names.map { try subject(of: $0) }
    // All are asked for their checks first: a process that runs checks finds its type here.
    let checks = subjects.map { Conformance.checks(for: $0) }
    try requireKnown(among: checks.flatMap { $0 })
    let wanted = zip(subjects, checks.map { chosen($0) }).filter { !$1.isEmpty }
    try requireSome(wanted.flatMap { $0.1 })
    try requireTargets(["html", "json", "txt"])
    let reports = wanted.map { made($0.type.storeType, $1) }
    return (reports.map { ConformanceRecord($0) }, reports.allSatisfy(\.isSuccess))
  }

  // MARK: Arguments

  /// Options that choose which checks are run.
  private var choices: [(String, Bool)] {
    [
      ("--profile", !profile.isEmpty), ("--only", !only.isEmpty), ("--smoke", smoke), ("--seed", seed != 1),
      ("--runs", runs != nil), ("--url", url != nil),
    ]
  }

  private func refuse(_ name: String, _ others: [(String, Bool)]) throws {
    if let (other, _) = others.first(where: \.1) { throw failure("\(name) does not go with \(other)", 64) }
  }

  private func failure(_ message: String, _ exitCode: Int32) -> CommandFailure {
    CommandFailure(message, exitCode: exitCode, json: common.json)
  }

  private func record(at path: String) throws -> ConformanceRecord {
    let bytes: [UInt8]
    do { bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path))) } catch {
      let isMissing = !FileManager.default.fileExists(atPath: path)
      throw failure(
        isMissing ? "\(path): the file does not exist" : "\(path): cannot be read: \(error.systemReason)",
        isMissing ? 66 : 74)
    }
    return try ConformanceRecord(json: bytes, name: path)
  }
}
