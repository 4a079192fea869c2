import AtomicStoreSPI
import FoundationEssentials

extension ConformanceSelfTest {
  /// Lets formats make each mistake that they can be told to make, and runs the checks that must find it; and those
  /// checks without a mistake, which must pass.
  ///
  /// - Parameters:
  ///   - subjects: The formats.
  ///   - names: The faults to make; all of them if empty.
  ///   - checks: The checks to try; all of them if empty.
  package static func run(
    designs subjects: [ConformanceSubject], width: Int = 2, faults names: [String] = [], checks: [String] = [],
    progress: @escaping @Sendable (Int, Int) -> Void = { _, _ in }
  ) -> ConformanceSelfTest {
    var plans: [(subject: ConformanceSubject, fault: DesignFault?, definition: CheckDefinition)] = []
    for subject in subjects {
      let faults = subject.designFaults.filter { names.isEmpty || names.contains($0.name) }
      let definitions = Checks.all.filter { definition in
        (checks.isEmpty || checks.contains(definition.id)) && faults.contains { $0.foundBy.contains(definition.id) }
      }
      plans += definitions.map { (subject, nil, $0) }
      for fault in faults {
        plans += definitions.filter { fault.foundBy.contains($0.id) }.map { (subject, fault, $0) }
      }
    }
    let total = plans.count
    let runs = plans.map { plan in
      var subject = plan.subject
      subject.fault = plan.fault?.name
      return ConformanceCheck(definition: plan.definition, subject: subject)
    }
    let results = ConformanceRun(runs, width: width).results { done, _ in progress(done, total) }
    for result in results { if let files = result.explanation?.files { Files.remove(files) } }
    var findings: [Finding] = []
    for (plan, result) in zip(plans, results) {
      let type = plan.subject.type.storeType
      guard let fault = plan.fault else {
        // Without a mistake: what fails here proves nothing of the mistakes.
        guard result.outcome != .passed else { continue }
        let what = result.explanation?.actual ?? result.reason ?? ""
        findings.append(
          Finding(
            fault: "\(type) as it is", text: "\(result.outcome.rawValue): \(what)", caughtBy: [],
            missedBy: [plan.definition.id], brokenIn: [], unrelated: [], tried: 0))
        continue
      }
      let name = "\(type).\(fault.name)"
      let place = findings.firstIndex { $0.fault == name } ?? findings.endIndex
      if place == findings.endIndex {
        findings.append(
          Finding(
            fault: name, text: fault.text, caughtBy: [], missedBy: [], brokenIn: [], unrelated: [], tried: 0))
      }
      switch result.outcome {
      case .failed: findings[place].caughtBy.append(plan.definition.id)
      case .crashed, .timedOut: findings[place].brokenIn.append(plan.definition.id)
      default: findings[place].missedBy.append(plan.definition.id)
      }
    }
    return ConformanceSelfTest(findings: findings, deadChecks: [], unknownFaults: [])
  }
}
