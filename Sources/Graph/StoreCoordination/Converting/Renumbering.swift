public import AtomicStoreSPI

/// New references for the objects of a graph, so that all references are positive integers, and each is used once in
/// the whole store.
///
/// Core Data's binary store needs that. Most SQLite stores number the objects of each hierarchy of entities from 1.
public struct Renumbering: Sendable, Equatable {
  /// An object whose reference changes.
  public struct Change: Sendable, Hashable {
    /// The object, by its earlier reference.
    public var object: ObjectReference
    /// The reference that it has afterwards.
    public var reference: ReferenceObject

    /// Creates a change.
    package init(object: ObjectReference, reference: ReferenceObject) {
      self.object = object
      self.reference = reference
    }
  }

  /// The objects whose references change, in the order of entities and earlier references. All others keep theirs.
  public var changes: [Change]

  /// Creates a renumbering, such as one that was read from a file.
  package init(_ changes: [Change]) { self.changes = changes }

  /// Decides which objects need other references. Of objects with the same one, the first keeps it, in the order of
  /// entities.
  ///
  /// - Parameters:
  ///   - nodes: The objects.
  ///   - last: The last reference that was used. New references are greater, as they are than those of all objects.
  /// - Throws: `.limitExceeded` if there is no greater integer.
  public init(of nodes: NodeTable, after last: Int64) throws(PersistentStoreError) {
    var next = max(last, nodes.greatestIntegerReference, 0)
    var taken: Set<Int64> = []
    changes = []
    for entity in nodes.model.entities {
      for node in nodes.handles(of: entity.index) {
        let object = nodes.objectReference(of: node)
        if case .integer(let number) = object.reference, number > 0, taken.insert(number).inserted { continue }
        guard next < .max else {
          throw PersistentStoreError(
            .limitExceeded, "there is no integer greater than all references",
            at: StoreLocation(entity: entity.name, reference: object.reference.description))
        }
        next += 1
        changes.append(Change(object: object, reference: .integer(next)))
      }
    }
  }

  /// The objects with their references after the renumbering.
  public func applied(to nodes: NodeTable) throws(PersistentStoreError) -> NodeTable {
    let nodes = try nodes.canonical()
    var references: [Int: [ReferenceObject]] = [:]
    // Of several changes of one object, the first counts.
    for change in changes.reversed() {
      guard let node = nodes.handle(for: change.object) else { continue }
      references[node.entity, default: nodes.handles(of: node.entity).map { nodes.reference(of: $0) }][node.row] =
        change.reference
    }
    return try nodes.renaming(references)
  }

  /// The renumbering that undoes this one.
  var inverse: Renumbering {
    Renumbering(
      changes.map {
        Change(
          object: ObjectReference(entityName: $0.object.entityName, reference: $0.reference),
          reference: $0.object.reference)
      })
  }

  /// The number of changes by entity.
  var counts: [(entity: String, count: Int)] {
    var result: [(entity: String, count: Int)] = []
    for change in changes {
      if let last = result.indices.last, result[last].entity.hasSameScalars(as: change.object.entityName) {
        result[last].count += 1
      } else {
        result.append((change.object.entityName, 1))
      }
    }
    return result
  }
}

extension StoreConverter.SourceGraph {
  /// Gives objects other references where the graph has one twice, or one that is not a positive integer.
  ///
  /// - Throws: `.internalInconsistency` if the graph with its earlier references is not the one that it was.
  mutating func renumber() throws(PersistentStoreError) {
    let before = nodes
    let found = try Renumbering(of: before, after: metadata.lastReference)
    nodes = try found.applied(to: before).canonical()
    let differences = GraphComparison.differences(
      StoreSnapshot(nodes: try before.canonical(), metadata: metadata),
      StoreSnapshot(nodes: try found.inverse.applied(to: nodes).canonical(), metadata: metadata),
      options: .init(comparesUnknownOrder: true, limit: 1)
    ) { _ in true }
    if let first = differences.first {
      throw PersistentStoreError(
        .internalInconsistency, "the renumbered objects, with their earlier references, are not the same: \(first)",
        at: StoreLocation(file: paths.first))
    }
    metadata.lastReference = max(metadata.lastReference, nodes.greatestIntegerReference)
    metadata.entries.rename(danglingReferencesOf: found)
    renumbering = found
    notes += found.counts.map {
      .init(subject: $0.entity, count: $0.count, text: "given new references")
    }
  }
}

extension PropertyListDictionary {
  /// Removed references that are kept as texts stand under the objects that had them, such as `Employee/3.department`.
  fileprivate mutating func rename(danglingReferencesOf renumbering: Renumbering) {
    guard let kept = self[RelationshipRules.danglingReferencesKey]?.dictionaryValue else { return }
    var names: [ScalarString: String] = [:]
    for change in renumbering.changes {
      names[ScalarString("\(change.object.entityName)/\(change.object.reference)")] =
        "\(change.object.entityName)/\(change.reference)"
    }
    var result = PropertyListDictionary()
    for entry in kept {
      let dot = entry.key.lastIndex(of: ".") ?? entry.key.endIndex
      result[(names[ScalarString(String(entry.key[..<dot]))] ?? String(entry.key[..<dot])) + entry.key[dot...]] =
        entry.value
    }
    self[RelationshipRules.danglingReferencesKey] = .dictionary(result)
  }
}
