import ArgumentParser
import AtomicStoreConformance
import AtomicStoreSPI
import BuiltInStoreFormats
import CommandSupport
import FaultyDesigns
import FoundationEssentials
import Glibc

extension Conform.Run {
  /// Formats of other designs, which can be told to make mistakes.
  private static var designs: [ConformanceSubject] {
    FaultyDesign.all.map { design in
      var subject = ConformanceSubject(design.type)
      subject.designFaults = design.faults.map { DesignFault(name: $0.name, text: $0.text, foundBy: $0.foundBy) }
      subject.makeDesignFault = FaultyDesign.make
      return subject
    }
  }

  /// Plants faults, and prints which checks found them.
  func test() throws {
    let types = InstalledFormats.registry.storeTypes.compactMap { try? InstalledFormats.registry.storeType(named: $0) }
      // The checks look at files.
      .filter { !$0.traits.isInProcess }
    let order = ["XML", "BinaryPropertyList", "CSV"]
    let subjects =
      types.sorted {
        (order.firstIndex(of: $0.storeType) ?? 9) < (order.firstIndex(of: $1.storeType) ?? 9)
      }.map { type in
        var subject = ConformanceSubject(type, others: types.filter { $0.storeType != type.storeType })
        subject.crafted = ConformanceSubject.sampleCraft
        subject.recomputeChecksum = ConformanceSubject.sampleChecksum
        return subject
      }
      + InstalledFormats.registry.incrementalTypes.filter { !$0.traits.fileExtensions.isEmpty }
      .map { ConformanceSubject($0) }
    let designs = Self.designs
    // A worker process serves when it comes by.
    for subject in subjects + designs { _ = Conformance.checks(for: subject) }
    let mistakes = designs.flatMap(\.designFaults)
    for name in fault
    where !Conformance.faults.contains(where: { $0.name == name }) && !mistakes.contains(where: { $0.name == name }) {
      throw CommandFailure(
        "there is no fault '\(name)'; see: atomicstore conform list --faults", exitCode: 64, json: common.json)
    }
    let wanted = only.map { $0.uppercased() }
    for id in wanted where !Conformance.catalogue.contains(where: { $0.id == id }) {
      throw CommandFailure("unknown check '\(id)'; see: atomicstore conform list", exitCode: 64)
    }
    let tried =
      Conformance.catalogue.filter { wanted.isEmpty || wanted.contains($0.id) }.flatMap(\.catches).map(\.name)
      + mistakes.filter { wanted.isEmpty || $0.foundBy.contains { wanted.contains($0) } }.map(\.name)
    guard tried.contains(where: { fault.isEmpty || fault.contains($0) }) else {
      throw CommandFailure(
        "none of these checks is there to find that; see: atomicstore conform explain \(wanted.first ?? "VAL-07")",
        exitCode: 64)
    }
    let isTerminal = isatty(2) == 1
    let show: @Sendable (Int, Int) -> Void = { done, total in
      if isTerminal { StandardError.write("\r\(done) of \(total)   ") }
    }
    // Faults round good stores first, then those in the code of other designs.
    let known = fault.filter { name in Conformance.faults.contains { $0.name == name } }
    let own = fault.filter { name in mistakes.contains { $0.name == name } }
    var outcome = ConformanceSelfTest(findings: [], deadChecks: [], unknownFaults: [])
    if fault.isEmpty || !known.isEmpty {
      outcome = ConformanceSelfTest.run(
        in: subjects, width: lanes, faults: known, checks: wanted, progress: show)
    }
    if fault.isEmpty || !own.isEmpty {
      outcome.findings +=
        ConformanceSelfTest.run(
          designs: designs, width: lanes, faults: own, checks: wanted, progress: show
        ).findings
    }
    if isTerminal { StandardError.write("\r\u{1B}[K") }
    try common.json ? printJSON(outcome) : printText(outcome)
    if !outcome.isSuccess { throw ExitCode(1) }
  }

  private func printJSON(_ outcome: ConformanceSelfTest) throws {
    let list = outcome.findings.map { finding in
      JSONValue.object([
        ("fault", .string(finding.fault)), ("text", .string(finding.text)),
        ("caughtBy", .array(finding.caughtBy.map { .string($0) })),
        ("missedBy", .array(finding.missedBy.map { .string($0) })),
        ("brokenIn", .array(finding.brokenIn.map { .string($0) })),
        ("unrelated", .array(finding.unrelated.map { .string($0) })),
      ])
    }
    try Diagnostics.put(
      JSONValue.object([
        ("faults", .array(list)), ("caught", .integer(outcome.caught)),
        ("deadChecks", .array(outcome.deadChecks.map { .string($0) })),
        ("unknownFaults", .array(outcome.unknownFaults.map { .string($0) })),
      ]).text + "\n")
  }

  private func printText(_ outcome: ConformanceSelfTest) throws {
    for finding in outcome.findings {
      var line = finding.isSound ? "caught   " : "SURVIVED "
      line += finding.fault + ": " + finding.text
      if !finding.caughtBy.isEmpty { line += "; by " + finding.caughtBy.joined(separator: ", ") }
      if !finding.missedBy.isEmpty { line += "; MISSED by " + finding.missedBy.joined(separator: ", ") }
      if !finding.brokenIn.isEmpty { line += "; a crash or hang in " + finding.brokenIn.joined(separator: ", ") }
      if !finding.unrelated.isEmpty { line += "; unrelated failures: " + finding.unrelated.joined(separator: ", ") }
      try Diagnostics.put(line + "\n")
    }
    for id in outcome.deadChecks { try Diagnostics.put("DEAD     \(id): no fault makes it fail\n") }
    for name in outcome.unknownFaults {
      try Diagnostics.put("UNKNOWN  \(name): named by a check, and cannot be planted\n")
    }
    try Diagnostics.put(
      "\(Diagnostics.count(outcome.findings.count, "fault")), \(outcome.caught) caught, \(Diagnostics.count(outcome.deadChecks.count, "dead check"))\n"
    )
  }
}
