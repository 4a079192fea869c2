import AtomicStoreKit
import AtomicStoreSPI

/// HCS: what the option `damaged` leaves out of records.
extension Checks {
  static let damagedCSV: [CheckDefinition] = [
    csv(
      "HCS-17", "With damaged=skip-object, a record that cannot be read is left out alone, and its loss is reported",
      by:
        "a number that is not one, and a field too many, in a record between others; refused, or read with the option",
      causes: ["reading goes on in the wrong record", "an error was skipped"],
      catches: ["recordAfterDamageLost", "damageNotReported"]
    ) { check, store in
      guard let gamma = store.records.column(named: "gamma"), let lost = store.references["2"] else {
        throw NotApplicable(reason: "columns are not named by the properties")
      }
      var remaining = store.text
      remaining.objects[ScalarKey(lost)] = nil
      let options = check.handmade.merging(["damaged": "skip-object"]) { $1 }
      for (what, change) in [
        ("with a damaged number", { (record: inout [[UInt8]]) in record[gamma] = Array("damaged!".utf8) }),
        ("with a field too many", { $0.append(Array("damaged!".utf8)) }),
      ] {
        var crafted = store.records
        change(&crafted.records[store.needle.record])
        let path = try check.lay(crafted.bytes, in: store)
        let model = store.graph.model
        let end = try check.attempt("read records \(what)") { try $0.read(path, model, options: options) }
        if case .refused(let error) = end {
          check.note("not supported: \(error.text)")
          continue
        }
        try check.expectSame(try check.settle(end, "read records \(what)"), remaining, "records \(what)")
        let losses = try check.process("read the losses") { session in
          try session.open(path, model, isReadOnly: true, options: options).store.loadNotes.filter(\.isLoss)
            .map(\.description)
        }
        try check.expectEqual(losses.count, 1, "the losses that are reported: \(losses)")
      }
    }
  ]
}
