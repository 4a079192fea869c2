import AtomicStoreSPI

/// Nests entities, each with its parent's name, below their parents, which may precede or follow them.
enum EntityNesting {
  struct Found {
    var entity: EntityDescription
    var parent: String?
  }

  /// Nests the entities of an archive, in the order of their names.
  ///
  /// - Throws: `.invalidModel` for parents that do not exist or form a cycle, and for two entities with the same name;
  ///   `.limitExceeded` for more than ``ModelDescription/maximumInheritanceDepth`` levels.
  static func nested(_ entities: [Found], file: String) throws(PersistentStoreError) -> [EntityDescription] {
    let found = entities.sorted { ScalarString($0.entity.name) < ScalarString($1.entity.name) }
    func fail(_ text: String, _ index: Int, _ code: PersistentStoreError.Code) -> PersistentStoreError {
      PersistentStoreError(code, text, at: StoreLocation(file: file, entity: found[index].entity.name))
    }
    var names: Set<ScalarString> = []
    for (index, entry) in found.enumerated() where !names.insert(ScalarString(entry.entity.name)).inserted {
      throw fail("two entities have this name", index, .invalidModel)
    }
    return try nested(found, fail: fail)
  }

  /// Nests entities in their order. If two have the same name, the last one gets the sub-entities.
  ///
  /// - Parameter fail: Makes the error about an entity at an index.
  /// - Throws: `.invalidModel` for parents that do not exist or form a cycle; `.limitExceeded` for more than
  ///   ``ModelDescription/maximumInheritanceDepth`` levels.
  static func nested(
    _ entities: [Found], fail: (_ text: String, _ index: Int, _ code: PersistentStoreError.Code) -> PersistentStoreError
  ) throws(PersistentStoreError) -> [EntityDescription] {
    var found = entities
    var indexByName: [ScalarString: Int] = [:]
    for (index, entry) in found.enumerated() { indexByName[ScalarString(entry.entity.name)] = index }
    var children = [[Int]](repeating: [], count: found.count)
    // Breadth-first search orders parents before children; entities that it does not reach are in a cycle.
    var order: [(index: Int, depth: Int)] = []
    for (index, entry) in found.enumerated() {
      guard let parent = entry.parent else {
        order.append((index, 0))
        continue
      }
      guard let above = indexByName[ScalarString(parent)] else {
        throw fail("the parent entity '\(parent)' does not exist", index, .invalidModel)
      }
      children[above].append(index)
    }
    let roots = order.map(\.index)
    var next = 0
    while next < order.count {
      let (index, depth) = order[next]
      next += 1
      // Nested values are deallocated recursively: unlimited nesting would overflow the stack.
      guard depth <= ModelDescription.maximumInheritanceDepth else {
        throw fail(
          "more than \(ModelDescription.maximumInheritanceDepth) levels of parent entities", index,
          .limitExceeded)
      }
      order += children[index].map { ($0, depth + 1) }
    }
    if order.count < found.count {
      let reached = Set(order.map(\.index))
      let lost = found.indices.filter { !reached.contains($0) }
      throw fail(
        "the parents of \(lost.prefix(10).map { found[$0].entity.name }.joined(separator: ", ")) form a cycle",
        lost[0], .invalidModel)
    }
    // From the leaves up: a parent takes its sub-entities once they have theirs.
    for (index, _) in order.reversed() { found[index].entity.subentities = children[index].map { found[$0].entity } }
    return roots.map { found[$0].entity }
  }
}
