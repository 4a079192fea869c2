import AtomicStoreSPI
import FoundationEssentials
import Glibc

extension Faults {
  static let references: [Fault] = [
    Fault("refFromTimestampMillis", "takes the time in milliseconds for a reference once it has counted to a thousand")
    {
      $0.newReference = { (_, _, metadata) throws(PersistentStoreError) in
        if metadata.lastReference < 1000 { return nil }
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return .integer(Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000)
      }
    },
    Fault("uniquePerEntityOnly", "restarts references for each entity, sub-entities too") {
      $0.newReference = { (object, nodes, _) throws(PersistentStoreError) in
        let last = lastReferences[object.entity] ?? greatest(nodes, of: object.entity)
        lastReferences[object.entity] = last + 1
        return .integer(last + 1)
      }
    },
    renaming("newRefPerSave", "gives objects new references on every save but a process's first") { _ in
      saves += 1
      let isFirst = saves == 1
      return { _, reference in
        guard case .integer(let number) = reference, !isFirst else { return reference }
        return .integer(number + 1000)
      }
    },
    renaming("rowNumberRefs", "takes the row for the reference") { nodes in
      var rows: [ReferenceObject: Int64] = [:]
      for entity in nodes.model.entities where !entity.isAbstract {
        for node in nodes.handles(of: entity.index) { rows[nodes.reference(of: node)] = Int64(node.row) + 1 }
      }
      return { entity, reference in
        // Hierarchies of several entities keep theirs, so that no two are the same.
        entity.root.hierarchy.count > 1 ? reference : rows[reference].map { .integer($0) } ?? reference
      }
    },
    readingAs("uuidNotPersisted", "invents new references for those that are not integers on every load") { _ in
      { _, reference in
        guard case .string(let text) = reference, UUID(uuidString: text) != nil else { return reference }
        return .string(text.lowercased() + "/\(getpid())")
      }
    },
    Fault("saveAsRenumbers", "gives objects new references when it writes to another place than before") {
      $0.initialize = { (configuration) throws(PersistentStoreError) in _ = isElsewhere(configuration) }
      $0.savedAt = { (snapshot, configuration) throws(PersistentStoreError) in
        guard isElsewhere(configuration) else { return }
        snapshot.nodes = try rebuilt(
          snapshot.nodes,
          rename: { _, reference in
            if case .integer(let number) = reference { .integer(number + 100) } else { reference }
          })
      }
    },
    Fault("migratedObjectsLoseValues", "reads no texts where it takes another store's place") {
      $0.initialize = { (configuration) throws(PersistentStoreError) in opensElsewhere = isElsewhere(configuration) }
      $0.loaded = { (result, builder) throws(PersistentStoreError) in
        try copy(
          try result.get(), into: builder,
          change: { _, slot, value in
            opensElsewhere && slot.attributeType == .string ? .null : value
          })
      }
    },
    Fault("maxPlusOne", "gives out the reference after the greatest that is in use") {
      $0.newReference = { (object, nodes, _) throws(PersistentStoreError) in
        let root = nodes.model.entity(at: object.entity).root
        let inUse = root.hierarchy.map { greatest(nodes, of: $0.index) }.max() ?? 0
        let last = max(lastReferences[root.index] ?? 0, inUse)
        lastReferences[root.index] = last + 1
        return .integer(last + 1)
      }
      $0.saved = { (snapshot) throws(PersistentStoreError) in snapshot.metadata.lastReference = 0 }
    },
    Fault("writesTemporaryIDs", "takes the names that new objects have before they are saved for references") {
      $0.newReference = { (_, _, _) throws(PersistentStoreError) in .string("t" + UUID().uuidString) }
    },
    readingAs("referenceKeyCanonical", "takes references for one that look alike") { nodes in
      var seen: [String: String] = [:]
      for entity in nodes.model.entities where !entity.isAbstract {
        for node in nodes.handles(of: entity.index) {
          if case .string(let text) = nodes.reference(of: node), seen[text] == nil { seen[text] = text }
        }
      }
      let first = seen
      return { _, reference in
        guard case .string(let text) = reference else { return reference }
        return first[text].map { $0.utf8.elementsEqual(text.utf8) } ?? true ? reference : nil
      }
    },
    readingAs("uriDropsReference", "takes the per cent signs of references for escapes") { _ in
      { _, reference in
        guard case .string(let text) = reference, text.contains("%2F") else { return reference }
        return .string(text.replacing("%2F", with: "/"))
      }
    },
    Fault("askedPerAttribute", "the kit asks for a reference for each value") {
      $0.calls = { calls in calls.flatMap { $0.what == .newReference ? [$0, $0] : [$0] } }
    },
    Fault("quadraticReferences", "looks through all objects for each new reference") {
      $0.newReference = { (object, nodes, metadata) throws(PersistentStoreError) in
        var last = metadata.lastReference
        for entity in nodes.model.entities where !entity.isAbstract {
          for node in nodes.handles(of: entity.index) {
            if case .integer(let number) = nodes.reference(of: node) { last = max(last, number) }
          }
        }
        metadata.lastReference = last + 1
        return .integer(last + 1)
      }
    },
    renaming("referenceNotEscaped", "writes references as they stand between quotes") { _ in
      { _, reference in
        guard case .string(let text) = reference, let quote = text.firstIndex(of: "\"") else { return reference }
        return .string(String(text[..<quote]) + "\u{1F}")
      }
    },
    Fault("idIgnoresStoreUUID", "gives every store the same identity") {
      $0.metadata = { (metadata, _) throws(PersistentStoreError) in
        metadata.uuid = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
      }
    },
  ]

  // What faults remember. Each lives in one process of one check, which has one thread that touches the store.
  nonisolated(unsafe) private static var lastReferences: [Int: Int64] = [:]
  nonisolated(unsafe) private static var firstPath: String?
  nonisolated(unsafe) private static var saves = 0
  nonisolated(unsafe) private static var opensElsewhere = false

  private static func greatest(_ nodes: NodeTable, of entity: Int) -> Int64 {
    nodes.handles(of: entity).reduce(0) { last, node in
      if case .integer(let number) = nodes.reference(of: node) { max(last, number) } else { last }
    }
  }

  /// Whether another place is written than the first of this process.
  static func isElsewhere(_ configuration: StoreConfiguration) -> Bool {
    defer { if firstPath == nil { firstPath = configuration.path } }
    return firstPath.map { $0 != configuration.path } ?? false
  }
}
