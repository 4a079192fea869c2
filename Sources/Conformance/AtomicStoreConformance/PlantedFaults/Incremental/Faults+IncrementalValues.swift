import AtomicStoreSPI
import FoundationEssentials
import Glibc

extension Faults {
  /// Saves values otherwise than they are.
  private static func savedValue(
    _ name: String, _ text: String, _ change: @escaping @Sendable (StoredValue, AttributeType) -> StoredValue
  ) -> Fault {
    .incremental(name, text) { $0.savedValue = change }
  }

  static let incrementalValues: [Fault] = [
    savedValue("rowsZeroUnsigned", "saves -0.0 as 0.0") { value, _ in
      switch value {
      case .double(let number) where number == 0: .double(0)
      case .float(let number) where number == 0: .float(0)
      default: value
      }
    },
    savedValue("rowsNaNPlain", "saves each not-a-number with the same bits") { value, _ in
      if case .double(let number) = value, number.isNaN { .double(.nan) } else { value }
    },
    savedValue("rowsTextNormalized", "saves a letter and its accent as one scalar") { value, _ in
      guard case .string(let text) = value else { return value }
      return .string(text.replacing("a\u{308}", with: "\u{E4}"))
    },
    savedValue("rowsTextEndsAtNUL", "saves texts up to their first NUL") { value, _ in
      guard case .string(let text) = value else { return value }
      return .string(String(decoding: text.utf8.prefix { $0 != 0 }, as: UTF8.self))
    },
    savedValue("rowsTextCut", "saves the first 65,535 bytes of texts") { value, _ in
      guard case .string(let text) = value else { return value }
      return .string(String(decoding: text.utf8.prefix(65_535), as: UTF8.self))
    },
    savedValue("rowsEmptyIsNull", "saves empty texts and data as null") { value, _ in
      switch value {
      case .string(let text) where text.isEmpty: .null
      case .data(let data) where data.isEmpty: .null
      default: value
      }
    },
    savedValue("rowsIntegersInexact", "saves integers as doubles") { value, _ in
      guard case .integer(let number) = value else { return value }
      return .integer(Int64(exactly: Double(number)) ?? .max)
    },
    savedValue("rowsDecimalsInexact", "saves decimals as doubles") { value, _ in
      guard case .decimal(let number) = value, let double = Double(number.description) else { return value }
      return DecimalNumber("\(double)").map { .decimal($0) } ?? value
    },
    savedValue("rowsDatesRounded", "saves dates to the millisecond") { value, _ in
      guard case .date(let date) = value else { return value }
      let seconds = date.timeIntervalSinceReferenceDate
      return .date(Date(timeIntervalSinceReferenceDate: (seconds * 1000).rounded() / 1000))
    },
    savedValue("rowsDataEndsAtZero", "saves data up to the first zero") { value, _ in
      guard case .data(let data) = value else { return value }
      return .data(Data(data.prefix { $0 != 0 }))
    },
    savedValue("rowsURINormalized", "saves URIs in lower case") { value, _ in
      if case .uri(let text) = value { .uri(text.lowercased()) } else { value }
    },
    savedValue("rowsUndefinedAsText", "saves values of attributes without a type as texts") { value, type in
      guard case .undefined = type, !value.isNull else { return value }
      return .string("\(value.typedText)")
    },
    .incremental("dropsRowOfBatch", "leaves out the last of more than 500 objects that are asked for") { hooks in
      hooks.rows = { _, references, _, rows in if references.count > 500 { rows.removeLast(min(1, rows.count)) } }
    },
    .incremental("inventsMissingRow", "returns an empty object for a reference that it does not have") { hooks in
      hooks.rows = { _, references, root, rows in
        let found = Set(rows.map(\.reference))
        guard let missing = references.first(where: { !found.contains($0) }) else { return }
        rows.append(StoreRow(entity: root, reference: missing, version: 1, values: [:]))
      }
    },
    .incremental("nothingMeansAll", "returns all objects where none is asked for") { hooks in
      hooks.rows = { (target, references, root, rows) throws(PersistentStoreError) in
        guard references.isEmpty, let entity = target.model?.entity(at: root) else { return }
        rows = try target.allRows(below: entity)
      }
    },
    .incremental("rowsOfRootOnly", "does not find objects of sub-entities by their references") { hooks in
      hooks.rows = { _, _, root, rows in rows.removeAll { $0.entity != root } }
    },
    .incremental("versionStays", "keeps the version of an object that is saved") { hooks in
      hooks.row = { row, _ in row.version = 1 }
    },
    .incremental("versionNotTold", "does not tell the versions of what it saved") { hooks in
      hooks.save = { (target, changes) throws(PersistentStoreError) in
        let answer = try target.store.save(changes)
        if case .saved = answer { return .saved(versions: []) }
        return answer
      }
    },
    .incremental("versionOfAllChanges", "gives each object another version whenever one is saved") { hooks in
      hooks.save = { (target, changes) throws(PersistentStoreError) in
        let answer = try target.store.save(changes)
        guard case .saved(let versions) = answer else { return answer }
        target.memory.count += 1
        let count = Int64(target.memory.count)
        return .saved(versions: versions.map { ($0.object, $0.version + count) })
      }
      hooks.rows = { target, _, _, rows in
        for index in rows.indices { rows[index].version += Int64(target.memory.count) }
      }
    },
  ]
}
