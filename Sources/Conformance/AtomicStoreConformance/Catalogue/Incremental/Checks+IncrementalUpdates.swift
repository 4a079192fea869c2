import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// INC, continued: updates of many objects.
extension Checks {
  private static let askedUpdates: [AskedUpdate] = [
    AskedUpdate(values: ["small": "small + 1"]),
    AskedUpdate(values: ["big": "3 * small - big", "name": "'c'"], format: "small > 2"),
    AskedUpdate(values: ["name": "nil"], format: "isNew == TRUE"),
    AskedUpdate(values: ["isNew": "FALSE"], format: "owner.rank > 1"),
    AskedUpdate(values: ["weight": "nil", "ratio": "nil"], format: "name == nil"),
    AskedUpdate(values: ["small": "small * 30000"]),
    AskedUpdate(values: ["big": "small", "small": "2"], format: "NOT name BEGINSWITH 'a'"),
  ]

  static let incrementalUpdates: [CheckDefinition] = [
    incremental(
      "INC-80", "An update of many objects changes those that fulfil its condition, and no others", from: kit,
      by:
        "sets constants, columns and sums with several conditions in the store and in a property list with the same graph, and compares the objects named as changed, all values, row versions, and the history; asks for an update that must be refused",
      catches: [
        "updateIgnoresCondition", "updateSetsFirstOnly", "updateNamesOthers", "updateDoesNothing",
        "updateIgnoresRefused", "updateKeepsVersions",
      ]
    ) { check in
      let difference = try check.process("update objects in both", seconds: 60) { session in
        try session.comparedStores(seed: 11, count: 60).compareUpdates(askedUpdates) ?? ""
      }
      try check.expectEqual(difference, "", "the first difference")
    }
  ]
}
