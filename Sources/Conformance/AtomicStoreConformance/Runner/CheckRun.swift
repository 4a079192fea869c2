import AtomicStoreSPI
import CConformance
import FoundationEssentials
import StoreCoordination

/// One check, in the process that is its own.
struct CheckRun {
  let definition: CheckDefinition
  let subject: ConformanceSubject
  let seed: UInt64
  let folder: String

  init(_ definition: CheckDefinition, _ subject: ConformanceSubject, seed: UInt64, folder: String) {
    self.definition = definition
    self.subject = subject
    self.seed = seed
    self.folder = folder
  }

  func run() -> ConformanceResult {
    var result = ConformanceResult(id: definition.id, outcome: .passed)
    result.seed = seed
    guard let tested = testedStore() else {
      result.outcome = .blocked
      result.reason = "there is no fault '\(subject.fault ?? "")'"
      return result
    }
    if subject.isBlind { csf_blind(1) }
    if definition.needsWriting, !tested.type.traits.canWrite {
      result.outcome = .notApplicable
      result.reason = "canWrite is false"
      return result
    }
    if subject.isInProcess, !Checks.needNoFile.contains(definition.id) {
      result.outcome = .notApplicable
      result.reason = "isInProcess is true, and the check looks at files, or at calls of load and save"
      return result
    }
    let newOnly = "writes is newOnly, and the check changes a store"
    if definition.changesStore, tested.type.traits.writes == .newOnly {
      result.outcome = .notApplicable
      result.reason = newOnly
      return result
    }
    let isRefusal: Bool
    switch definition.demand(tested.type.traits) {
    case .applies: isRefusal = false
    case .notApplicable(let trait):
      result.outcome = .notApplicable
      result.reason = trait
      return result
    case .refuses(let trait):
      isRefusal = true
      result.reason = trait
    }
    Files.makeFolder(folder)
    let check = CheckContext(subject: tested, folder: folder, seed: seed, isRefusal: isRefusal) { try runElsewhere($0) }
    judge(check, isRefusal: isRefusal, into: &result)
    // The kit, not the format, refuses to change a store that can only be written whole. Up to there the check held.
    if tested.type.traits.writes == .newOnly, !isRefusal, result.outcome == .failed,
      result.explanation?.actual.contains(StoreTraits.changeRefusal) == true
    {
      result.outcome = .notApplicable
      result.reason = newOnly
      result.explanation = nil
    }
    result.notes = check.record.notes + check.record.output
    result.strip = check.record.strip
    return result
  }

  /// The store with the fault that is to be planted; nil if there is no such fault.
  private func testedStore() -> TestedStore? {
    var tested = TestedStore(
      type: subject.type, others: subject.others, crafted: subject.crafted, duplicate: subject.duplicate,
      payload: subject.payload, recomputeChecksum: subject.recomputeChecksum, newerVersion: subject.newerVersion,
      runs: subject.runs, fault: subject.fault, timeLimit: subject.timeLimit)
    (tested.incremental, tested.soundIncremental) = (subject.incrementalType, subject.incrementalType)
    tested.url = subject.url
    guard let name = subject.fault else {
      if !subject.options.isEmpty { tested.type = Self.type(subject.type, with: subject.options, in: folder) }
      return tested
    }
    if subject.designFaults.contains(where: { $0.name == name }) {
      subject.makeDesignFault?(name)
      tested.fault = nil
      return tested
    }
    guard let fault = Faults.named(name, in: subject) else { return nil }
    if let hooks = fault.incremental, let type = subject.incrementalType {
      tested.incremental = Faults.plant(hooks, in: type)
    } else {
      tested.type = Faults.plant(fault, in: subject)
    }
    tested.mistakes = fault.mistakes
    return tested
  }

  /// A type as it is with options, for the rest of this process.
  ///
  /// - Parameter folder: A directory that does not exist.
  private static func type(
    _ type: any AtomicStore.Type, with options: StoreOptions, in folder: String
  ) -> any AtomicStore.Type {
    FaultHooks.current.configuration = { $0.options.merge(options) { own, _ in own } }
    let wrapped = FaultHooks.wrapped(type)
    // What the format declares of itself with the options.
    let store = try? wrapped.init(StoreConfiguration(path: folder + "/declared")) as any AtomicStore
    if let declared = store?.traits { FaultHooks.current.traits = { $0 = declared } }
    return wrapped
  }

  /// Runs the check's body, and says how it ended.
  private func judge(_ check: CheckContext, isRefusal: Bool, into result: inout ConformanceResult) {
    do {
      try check.clearURL()
      defer { try? check.clearURL() }
      // What a program did not answer is why the check ended as it did.
      do { try definition.body(check) } catch  where ProgramFailures.first != nil && !(error is PhaseFailure) {}
      if let text = ProgramFailures.first { throw ProgramFailures.failure(text) }
      result.outcome = isRefusal ? .refusalVerified : .passed
      if check.record.expectations == 0 {
        result.outcome = .failed
        result.explanation = explanation(
          check, ExpectationFailure(expected: "something is looked at", actual: "the check looked at nothing"))
      }
    } catch let error as ExpectationFailure {
      result.outcome = .failed
      result.explanation = explanation(check, error)
    } catch let error as Skipped {
      result.outcome = .blocked
      result.reason = error.reason
    } catch let end as NotApplicable {
      result.outcome = .notApplicable
      result.reason = end.reason
    } catch let end as Untested {
      result.outcome = .gap
      result.reason = end.reason
    } catch let end as PhaseFailure {
      result.outcome = end.isTimeOut ? .timedOut : end.isCrash ? .crashed : .failed
      result.explanation = explanation(check, ExpectationFailure(expected: end.expected, actual: end.actual))
    } catch {
      result.outcome = .failed
      result.explanation = explanation(check, ExpectationFailure(expected: "no error", actual: "\(error)"))
    }
  }

  /// Runs a part of the check in a new process; returns what it noted.
  private func runElsewhere(_ id: String) throws -> [String] {
    guard let part = Checks.allParts.first(where: { $0.id == id }) else {
      throw Skipped(reason: "there is no part '\(id)' of a check")
    }
    let pool = WorkerPool(.again(subject.testTarget), WorkerServer.name(of: subject))
    let result = pool.run(part, subject, seed: seed)
    pool.conclude()
    // What a part leaves has no one who removes it; the failure says what was found.
    Files.remove(pool.root)
    guard result.outcome == .passed else {
      throw ExpectationFailure(
        expected: "\(id) comes to its end",
        actual: result.explanation?.actual ?? result.reason ?? result.outcome.rawValue)
    }
    return result.notes
  }

  private func explanation(_ check: CheckContext, _ error: ExpectationFailure) -> ConformanceResult.Explanation {
    ConformanceResult.Explanation(
      rule: definition.title, source: definition.source, done: check.record.done, expected: error.expected,
      actual: error.actual,
      causes: definition.likelyCauses(in: subject), files: folder, command: subject.again(definition.id, seed: seed))
  }
}
