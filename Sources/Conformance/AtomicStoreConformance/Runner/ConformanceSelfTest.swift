import AtomicStoreSPI
import FoundationEssentials

/// The harness put to the test: each fault that can be planted, with the checks that must catch it.
package struct ConformanceSelfTest: Sendable {
  /// What came of planting one fault.
  package struct Finding: Sendable {
    /// The name of the fault.
    package var fault: String
    /// What a store with that fault does wrong.
    package var text: String
    /// The checks that caught it.
    package var caughtBy: [String]
    /// Those that name it, and did not.
    package var missedBy: [String]
    /// Those that caught it by a crash or a hang, which proves nothing.
    package var brokenIn: [String]
    /// Unrelated checks that failed too, of those that were tried.
    package var unrelated: [String]
    /// How many unrelated checks were tried.
    package var tried: Int

    /// Whether all checks that name the fault caught it by a failure, and at most half of the unrelated ones failed.
    package var isSound: Bool {
      !caughtBy.isEmpty && missedBy.isEmpty && brokenIn.isEmpty && unrelated.count * 2 <= tried
    }
  }
  /// One for each fault that was planted.
  package var findings: [Finding]
  /// Checks that no fault made fail.
  package var deadChecks: [String]
  /// Faults that checks name and that cannot be planted.
  package var unknownFaults: [String]

  /// Whether each fault was caught as it should be, each check caught a fault, and each fault that checks name exists.
  package var isSuccess: Bool {
    !findings.isEmpty && findings.allSatisfy(\.isSound) && deadChecks.isEmpty && unknownFaults.isEmpty
  }
  package init(findings: [Finding], deadChecks: [String], unknownFaults: [String]) {
    self.findings = findings
    self.deadChecks = deadChecks
    self.unknownFaults = unknownFaults
  }

  /// How many faults were caught as they should be.
  package var caught: Int { findings.filter(\.isSound).count }

  /// Plants each fault in turn in one of the formats, the first whose traits let the check run.
  ///
  /// - Parameters:
  ///   - subjects: The formats that faults are planted in.
  ///   - width: How many checks run at the same time.
  ///   - names: The faults to plant; all of them if empty.
  ///   - checks: The checks to try, with the faults that they must catch; all of them if empty.
  ///   - progress: Called after each fault, from any thread: how many are done, and how many there are.
  package static func run(
    in subjects: [ConformanceSubject], width: Int = 2, faults names: [String] = [], checks: [String] = [],
    progress: @escaping @Sendable (Int, Int) -> Void = { _, _ in }
  ) -> ConformanceSelfTest {
    let inMemory = subjects.allSatisfy(\.isInProcess)
    let definitions = Checks.all.filter { definition in
      (checks.isEmpty || checks.contains(definition.id)) && subjects.contains { $0.concerns(definition.profile) }
        && (!inMemory || Checks.needNoFile.contains(definition.id))
    }
    let faults = Faults.all.filter { fault in
      (checks.isEmpty || definitions.contains { $0.catches.contains(fault.name) })
        && subjects.contains { ($0.incrementalType != nil) == (fault.incremental != nil) }
        && (!inMemory || fault.hooks.worksInMemory && definitions.contains { $0.catches.contains(fault.name) })
    }
    return run(
      in: subjects, definitions, faults, known: inMemory ? Faults.all : [], width: width, faults: names,
      progress: progress)
  }

  /// The same with other checks and faults: what judges the harness is tested too.
  ///
  /// - Parameter known: Faults that checks may name though they are not among those to plant: stores in memory cannot
  ///   make all mistakes.
  static func run(
    in subjects: [ConformanceSubject], _ definitions: [CheckDefinition], _ all: [Fault], known: [Fault] = [],
    width: Int = 2, faults names: [String] = [],
    progress: @escaping @Sendable (Int, Int) -> Void = { _, _ in }
  ) -> ConformanceSelfTest {
    let faults = all.filter { names.isEmpty || names.contains($0.name) }
    var plans: [(fault: Fault, definition: CheckDefinition, isNamed: Bool)] = []
    for fault in faults {
      let own = definitions.filter { $0.catches.contains(fault.name) }
      for definition in own { plans.append((fault, definition, true)) }
      for definition in definitions
      where unrelatedIDs.contains(definition.id) && !definition.catches.contains(fault.name)
        && (definition.profile == .incremental) == (fault.incremental != nil)
      {
        plans.append((fault, definition, false))
      }
    }
    let candidates = plans.map { plan in
      let kind = subjects.filter { $0.concerns(plan.definition.profile) }
      let fit = kind.filter { subject in
        if case .applies = plan.definition.demand(subject.type.traits) { true } else { false }
      }
      return (fit.isEmpty ? Array((kind.isEmpty ? subjects : kind).prefix(1)) : fit).map { subject in
        var subject = subject
        subject.fault = plan.fault.name
        return ConformanceCheck(definition: plan.definition, subject: subject)
      }
    }
    let total = plans.count
    var results = ConformanceRun(candidates.map { $0[0] }, width: width).results { done, _ in progress(done, total) }
    // Checks of one kind of file find out by looking at what the store wrote: then the next format has its turn.
    for turn in 1..<max(subjects.count, 1) {
      let again = plans.indices.filter { results[$0].outcome == .notApplicable && candidates[$0].count > turn }
      guard !again.isEmpty else { break }
      let more = ConformanceRun(again.map { candidates[$0][turn] }, width: width).results()
      for (place, result) in zip(again, more) { results[place] = result }
    }
    // Failures are what is wanted here: no one looks into their files.
    for result in results { if let files = result.explanation?.files { Files.remove(files) } }
    var findings: [Finding] = []
    for fault in faults {
      var finding = Finding(
        fault: fault.name, text: fault.text, caughtBy: [], missedBy: [], brokenIn: [], unrelated: [], tried: 0)
      for (plan, result) in zip(plans, results) where plan.fault.name == fault.name {
        if plan.isNamed {
          switch result.outcome {
          case .failed: finding.caughtBy.append(plan.definition.id)
          case .crashed, .timedOut: finding.brokenIn.append(plan.definition.id)
          default: finding.missedBy.append(plan.definition.id)
          }
        } else {
          finding.tried += 1
          if result.outcome.isFailure { finding.unrelated.append(plan.definition.id) }
        }
      }
      findings.append(finding)
    }
    let caughtSomething = Set(findings.flatMap(\.caughtBy))
    return ConformanceSelfTest(
      findings: findings,
      deadChecks: names.isEmpty ? definitions.map(\.id).filter { !caughtSomething.contains($0) } : [],
      unknownFaults: Set(definitions.flatMap(\.catches)).subtracting(known.map(\.name)).union(names)
        .subtracting(all.map(\.name)).sorted())
  }

  /// Checks far apart from each other: a fault that fails most of them is more than one.
  static let unrelatedIDs: Set<String> = [
    "REG-02", "INI-02", "MET-03", "LOD-01", "VAL-01", "VAL-29", "REL-01", "REF-04", "CHG-10", "REM-01",
    "INC-02", "INC-05", "INC-12", "INC-14", "INC-24", "INC-27", "INC-38", "INC-47", "INC-59", "INC-66",
  ]
}
