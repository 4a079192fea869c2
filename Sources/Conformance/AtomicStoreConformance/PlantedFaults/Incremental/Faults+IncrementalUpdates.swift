import AtomicStoreSPI

extension Faults {
  static let incrementalUpdates: [Fault] = [
    .incremental("updateIgnoresCondition", "updates all objects of the entity") { hooks in
      hooks.update = { $0.rows.predicate = nil }
    },
    .incremental("updateSetsFirstOnly", "sets the first of several attributes only") { hooks in
      hooks.update = { $0.values = Array($0.values.prefix(1)) }
    },
    .incremental("updateIgnoresRefused", "updates objects that break a rule of the model") { hooks in
      hooks.update = { $0.refused = [] }
    },
    .incremental("updateKeepsVersions", "leaves row versions as they are") { hooks in
      hooks.row = { row, _ in row.version = 1 }
    },
    .incremental("updateNamesOthers", "does not name the last of the updated objects") { hooks in
      hooks.updated = { $0?.removeLast() }
    },
    .incremental("updateDoesNothing", "names no objects, and sets no values") { hooks in
      hooks.update = { $0.rows.predicate = .value(false) }
    },
    .incremental("deletionIgnoresCondition", "deletes all objects of the entity") { hooks in
      hooks.deletion = { $0.rows.predicate = nil }
    },
    .incremental("deletionIgnoresRefused", "deletes objects though an owner breaks a rule of the model") { hooks in
      hooks.deletion = { $0.refused = [] }
    },
    .incremental("deletionNamesOthers", "does not name the last of the deleted objects") { hooks in
      hooks.deleted = { _ = $0.popLast() }
    },
    .incremental("deletionDoesNothing", "names no objects, and deletes none") { hooks in
      hooks.deletion = { $0.rows.predicate = .value(false) }
    },
  ]
}
