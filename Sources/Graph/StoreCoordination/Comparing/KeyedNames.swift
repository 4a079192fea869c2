package import AtomicStoreSPI
import StorePrimitives

/// What the objects of two graphs are called by their keys instead of their references. Objects of entities without a
/// key keep their references.
///
/// The graphs stay as they are: their objects are matched by names, and only differences are named.
package struct KeyedNames {
  /// One of the graphs, which are in canonical order.
  package struct Side {
    package let nodes: NodeTable
    /// The numbers of the names of all rows, by entity.
    fileprivate var numbers: [Int: [UInt32]] = [:]
    /// How many objects have the key of another object, by entity: they are distinguished by numbers in the order of
    /// their references.
    package fileprivate(set) var repeated: [(entity: String, count: Int)] = []
    /// How many objects have no value for a part of their key, by entity.
    package fileprivate(set) var keyless: [(entity: String, count: Int)] = []
  }
  /// Which of the two graphs.
  package enum Graph { case one, other }
  package private(set) var one: Side
  package private(set) var other: Side
  /// The names of the objects of both graphs, by the name of the hierarchy's root.
  private var texts: [ScalarString: TextNumbers] = [:]

  /// Names the objects of two graphs.
  ///
  /// - Throws: `.duplicateReference` for an object whose reference is the name of another one of its hierarchy.
  package init(_ keys: ObjectKeys, _ one: NodeTable, _ other: NodeTable) throws(PersistentStoreError) {
    var (ours, theirs) = (Side(nodes: try one.canonical()), Side(nodes: try other.canonical()))
    (self.one, self.other) = (ours, theirs)
    // All keys first: a number that distinguishes equal keys must not make the key of another object.
    add(keys, &ours, guesses: nil)
    add(keys, &theirs, guesses: ours)
    try tellApart(&ours)
    try tellApart(&theirs)
    (self.one, self.other) = (ours, theirs)
  }

  private mutating func add(_ keys: ObjectKeys, _ side: inout Side, guesses: Side?) {
    for entity in side.nodes.model.entities where side.nodes.count(of: entity.index) > 0 {
      let root = ScalarString(entity.root.name)
      let twin = guesses?.nodes.model.entity(named: entity.name)
      let isTwin = twin.map { ScalarString($0.root.name) == root } ?? false
      let numbers = isTwin ? twin.flatMap { guesses?.numbers[$0.index] } ?? [] : []
      // Taken out, so that it is not copied.
      var texts = self.texts.removeValue(forKey: root) ?? TextNumbers(expecting: side.nodes.count(of: entity.index))
      if let found = keys.names(of: entity, in: side.nodes, guesses: numbers, &texts) {
        side.numbers[entity.index] = found.numbers
        if found.keylessCount > 0 { side.keyless.append((entity.name, found.keylessCount)) }
      }
      self.texts[root] = texts
    }
  }

  /// Gives each object whose name another one of its hierarchy has a name with a number.
  private mutating func tellApart(_ side: inout Side) throws(PersistentStoreError) {
    let model = side.nodes.model
    for root in model.entities where root.superentity == nil {
      let keyed = root.hierarchy.filter { side.numbers[$0.index] != nil }.sorted { $0.index < $1.index }
      let name = ScalarString(root.name)
      guard !keyed.isEmpty, var texts = self.texts.removeValue(forKey: name) else { continue }
      defer { self.texts[name] = texts }
      /// How many objects have a name, by its number.
      var counts = [UInt32](repeating: 0, count: texts.count)
      var isUnique = true
      for entity in keyed {
        for number in side.numbers[entity.index] ?? [] {
          counts[Int(number)] += 1
          if counts[Int(number)] > 1 { isUnique = false }
        }
      }
      func check() throws(PersistentStoreError) {
        try checkReferences(of: root, side) { texts.number(of: $0).map { counts[$0] > 0 } ?? false }
      }
      guard !isUnique else {
        try check()
        continue
      }
      /// How many objects have a name so far, or the greatest number that distinguishes them.
      var used = [Int](repeating: 0, count: texts.count)
      for entity in keyed {
        guard var numbers = side.numbers.removeValue(forKey: entity.index) else { continue }
        var repeated = 0
        for row in numbers.indices {
          let own = Int(numbers[row])
          var repetition = used[own] + 1
          if repetition > 1 {
            repeated += 1
            let text = texts.withBytes(of: own) { String(decoding: $0, as: UTF8.self) }
            var free: Int?
            while free == nil {
              var name = "\(text) (\(repetition))"
              let number = name.withUTF8 { texts.add($0) }
              if number == counts.count {
                counts.append(0)
                used.append(0)
              }
              if counts[number] == 0 { free = number } else { repetition += 1 }
            }
            guard let free else { continue }
            numbers[row] = UInt32(truncatingIfNeeded: free)
            counts[free] = 1
            used[free] = 1
          }
          used[own] = repetition
        }
        side.numbers[entity.index] = numbers
        if repeated > 0 { side.repeated.append((entity.name, repeated)) }
      }
      // Names with numbers are names, too.
      try check()
    }
    side.repeated.sort { (model.entity(named: $0.entity)?.index ?? 0) < (model.entity(named: $1.entity)?.index ?? 0) }
  }

  /// Refuses references of objects without a key that are the names of others.
  private func checkReferences(
    of root: Entity, _ side: Side, _ isName: (UnsafeBufferPointer<UInt8>) -> Bool
  ) throws(PersistentStoreError) {
    for entity in root.hierarchy where side.numbers[entity.index] == nil {
      for node in side.nodes.handles(of: entity.index) {
        guard case .string(var text) = side.nodes.reference(of: node), text.withUTF8(isName) else { continue }
        throw PersistentStoreError(
          .duplicateReference, "two objects have the reference \(text)", at: StoreLocation(entity: entity.name))
      }
    }
  }

  /// The rows of an entity of both graphs with the same names; nil if their references decide.
  func matches(_ one: Entity?, _ other: Entity?, _ left: EntityReader?, _ right: EntityReader?) -> MatchedRows? {
    let ours = one.flatMap { self.one.numbers[$0.index] }
    let theirs = other.flatMap { self.other.numbers[$0.index] }
    if ours == nil, theirs == nil { return nil }
    var rows = [UInt32](repeating: MatchedRows.none, count: left?.count ?? 0)
    if let one, let other, let ours, let theirs, ScalarString(one.root.name) == ScalarString(other.root.name),
      let texts = texts[ScalarString(one.root.name)]
    {
      if ours == theirs { return MatchedRows(identityOf: ours.count) }
      var named = [UInt32](repeating: MatchedRows.none, count: texts.count)
      for (row, number) in theirs.enumerated() { named[Int(number)] = UInt32(truncatingIfNeeded: row) }
      for (row, number) in ours.enumerated() { rows[row] = named[Int(number)] }
    } else if let one, let other {
      // Models whose hierarchies differ.
      var named: [ReferenceObject: UInt32] = [:]
      for row in 0..<(right?.count ?? 0) {
        named[self.other.reference(NodeHandle(entity: other.index, row: row), texts)] = UInt32(truncatingIfNeeded: row)
      }
      for row in rows.indices {
        rows[row] = named[self.one.reference(NodeHandle(entity: one.index, row: row), texts)] ?? MatchedRows.none
      }
    }
    return MatchedRows(rows, others: right?.count ?? 0)
  }

  /// What an object of a graph is called.
  package func reference(of node: NodeHandle, in graph: Graph) -> ReferenceObject {
    (graph == .one ? one : other).reference(node, texts)
  }

  /// The objects of a graph with what they are called for references.
  package func renamedNodes(_ graph: Graph) throws(PersistentStoreError) -> NodeTable {
    let side = graph == .one ? one : other
    var references: [Int: [ReferenceObject]] = [:]
    for entity in side.numbers.keys {
      references[entity] = side.nodes.handles(of: entity).map { side.reference($0, texts) }
    }
    return try side.nodes.renaming(references)
  }

  /// A value of a graph with what objects are called in the place of their references.
  func renamed(_ value: StoredValue, of graph: Graph, _ slot: Slot) -> StoredValue {
    func named(_ object: ObjectReference) -> ObjectReference {
      guard let node = (graph == .one ? one : other).nodes.handle(for: object) else { return object }
      return ObjectReference(entityName: object.entityName, reference: reference(of: node, in: graph))
    }
    switch value {
    case .toOne(let object): return .toOne(named(object))
    case .toMany(let list):
      let list = list.map { named($0) }
      return .toMany(slot.keepsSequence ? list : list.sorted { $0.reference < $1.reference })
    default: return value
    }
  }
}

extension KeyedNames.Side {
  fileprivate func reference(_ node: NodeHandle, _ texts: [ScalarString: TextNumbers]) -> ReferenceObject {
    guard let number = numbers[node.entity]?[node.row],
      let texts = texts[ScalarString(nodes.model.entity(at: node.entity).root.name)]
    else { return nodes.reference(of: node) }
    return .string(texts.withBytes(of: Int(number)) { String(decoding: $0, as: UTF8.self) })
  }
}
