import AtomicStoreSPI

extension Faults {
  /// A fault that changes the groups that a store returns.
  private static func groups(
    _ name: String, _ text: String, _ change: @escaping @Sendable (StoreGrouping, inout [StoreGroup]) -> Void
  ) -> Fault {
    .incremental(name, text) { hooks in
      hooks.groups = { request, groups in
        guard var found = groups else { return }
        change(request, &found)
        groups = found
      }
    }
  }

  static let incrementalGroups: [Fault] = [
    groups("groupsDropNull", "forms no group of the objects whose key is null") { _, groups in
      groups.removeAll { $0.keys.contains(where: \.isNull) }
    },
    groups("groupsCountNull", "counts values that are null") { request, groups in
      for (place, aggregate) in request.aggregates.enumerated() where aggregate.function == .count {
        for index in groups.indices { groups[index].results[place] = .whole(Int128(groups[index].count)) }
      }
    },
    groups("groupsTurned", "has the groups in the opposite order") { _, groups in
      for index in groups.indices {
        if case .integer(let number) = groups[index].first.reference {
          groups[index].first = (0, .integer(-number))
        }
      }
    },
    groups("groupsLoseLast", "leaves the last group out") { request, groups in
      if !request.keys.isEmpty { groups = Array(groups.dropLast()) }
    },
    groups("groupSumsWrap", "adds up in 64 bits") { _, groups in
      for index in groups.indices {
        groups[index].results = groups[index].results.map {
          if case .whole(let sum) = $0 { .whole(Int128(Int64(truncatingIfNeeded: sum))) } else { $0 }
        }
      }
    },
    .incremental("groupsIgnoreCondition", "groups all objects whatever the condition is") { hooks in
      hooks.grouping = { request in request.rows.predicate = nil }
    },
    .incremental("groupsTakeLeastForGreatest", "returns the least value for the greatest one") { hooks in
      hooks.grouping = { request in
        for index in request.aggregates.indices where request.aggregates[index].function == .maximum {
          request.aggregates[index].function = .minimum
        }
      }
    },
  ]
}
