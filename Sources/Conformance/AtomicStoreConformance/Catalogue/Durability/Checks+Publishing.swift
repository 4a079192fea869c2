import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// SAV, the moment at which the new store takes the old one's place: where that cannot be one step, and where something
/// fails right after it.
extension Checks {
  static let publishing: [CheckDefinition] = [
    CheckDefinition(
      "SAV-25",
      "Where the file system cannot exchange two directories, a save leaves the old store or the new one all the same",
      profile: .durable, from: kit,
      by:
        "the exchange fails as on an overlay (EXDEV) and as where it is unknown (EINVAL); killed, and a full disk, at each call",
      causes: ["the members are replaced one by one, and nothing says which of them belong together"],
      catches: ["perFileAtomicOnly"],
      timeLimit: 240, demand: { $0.layout == .folder ? .applies : .notApplicable("layout is file") }
    ) { check in
      let saving = try check.saveCase()
      for (mistake, what) in [(CSF_NO_EXCHANGE, "on an overlay"), (CSF_NO_RENAME_FLAGS, "without the call")] {
        let mistakes = Int32(mistake.rawValue)
        try check.sweep(saving, CSF_KILL, "killed \(what)", mistakes: mistakes)
        try check.sweep(saving, CSF_FAIL, error: ENOSPC, "a full disk \(what)", mistakes: mistakes)
      }
    },
    CheckDefinition(
      "SAV-26", "A save that fails after its rename is undone, or reported as the success that it is",
      profile: .durable, from: kit,
      by:
        "each look at the disk after the rename fails with EIO: the old store is there if the save throws, else the new one; "
        + "the same process then saves again",
      causes: [
        "an error after the rename is taken for one before it",
        "what came out of the place is removed before it is known",
      ],
      catches: ["forgetsToPutBack"], timeLimit: 120
    ) { check in
      let saving = try check.saveCase()
      let counted = try FaultPlan(CSF_FAIL_LOOK)
      let end = try check.save(saving, "save the change, and count the looks after the rename", counted)
      guard case .value = end else {
        throw PhaseFailure(expected: "the save succeeds when nothing is in its way", actual: "\(end)")
      }
      try check.expect(counted.looks > 0, "a save looks at the disk after the rename", "it does not")
      for number in 1...counted.looks { try check.failLook(number, of: counted.looks, saving) }
    },
  ]
}

extension CheckContext {
  fileprivate func failLook(_ number: Int, of count: Int, _ saving: SaveCase) throws {
    let label = "a disk error at look \(number) of \(count) after the rename"
    let plan = try FaultPlan(CSF_FAIL_LOOK, at: number, error: EIO)
    let end = try save(saving, label, plan)
    let found = try verdict(saving)
    record.mark(found.word)
    switch end {
    case .value:
      try expect(
        found == .new, "\(label): the save succeeds, and the new store is there",
        "it succeeds, and there is \(found.text)")
    case .refused(let error):
      try expect(error.code != nil, "\(label): a store error", error.text)
      try expect(
        found == .old, "\(label): the save throws, and the old store is there",
        "it throws (\(error.text)), and there is \(found.text)")
      try expect(
        saving.left.isEmpty, "\(label): nothing is beside the store", saving.left.joined(separator: ", "))
    default: throw PhaseFailure(expected: "\(label): the save succeeds or throws", actual: "\(end)")
    }
    // The injected error is gone; the same save must now succeed, without a conflict with itself.
    saving.reset()
    let again = try attempt(
      "save again in the same process after \(label)", faults: try FaultPlan(CSF_FAIL_LOOK, at: number, error: EIO)
    ) { session in
      try session.opened(saving.path, saving.new.model) { open in
        _ = try session.change(open, from: saving.old, to: saving.new, names: saving.names)
        if saving.keepsMetadata {
          var entries = open.store.metadata.entries
          entries[SaveCase.key] = .string("new")
          try open.store.setMetadata(entries)
        }
        do { try open.context.save() } catch { try open.context.save() }
        return true
      }
    }
    guard case .value = again else {
      throw ExpectationFailure(expected: "\(label): the next save of the same process works", actual: "\(again)")
    }
    let after = try verdict(saving)
    try expect(after == .new, "\(label): after the next save the new store is there", "there is \(after.text)")
    record.expected()
  }
}
