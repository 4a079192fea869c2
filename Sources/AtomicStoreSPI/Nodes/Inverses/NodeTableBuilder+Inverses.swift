/// Deriving ends of relationships that the file omits, and handling contradictions between ends.
extension NodeTableBuilder {
  /// Declares that the file contains nothing about a relationship of an entity: no column, no element, no key, for any
  /// of its objects. That is different from a relationship that is empty for all objects. If the model has an inverse
  /// that the file does contain, the kit derives the values from it; empty values would contradict it.
  public func markAbsent(slot: Int, entity: Int) {
    precondition(
      tables.indices.contains(entity) && slot >= 0 && slot < building[entity].slotCount, "the slot does not exist")
    absent.insert(AbsentColumn(entity: entity, slot: slot))
  }

  /// How inverse relationships are treated.
  package enum InverseHandling {
    /// Not at all.
    case none
    /// Missing ends are derived; contradictions are repaired where the rules say how, and kept otherwise.
    case derive
    /// Contradictions are refused or repaired, by the rules.
    case enforce
  }

  struct AbsentColumn: Hashable {
    var entity: Int
    var slot: Int
  }

  /// Derives missing ends, and refuses or repairs contradicting ones, by the rules. References must be resolved.
  ///
  /// - Returns: Whether both ends of all pairs are in the file, and agree.
  /// - Throws: `.inverseMismatch` with both ends.
  func reconcileInverses() throws(PersistentStoreError) -> Bool {
    let pairs = model.inversePairs.filter { !areKnownToAgree($0) }
    let areWhole = pairs.map { pair in
      absent.isEmpty || !isAbsent(pair.first, facing: pair.second) && !isAbsent(pair.second, facing: pair.first)
    }
    let isLarge = tables.reduce(0) { $0 + $1.count } * 16 >= leastPart
    if isLarge, jobs > 1, !areWhole.contains(false), allAgree(pairs) { return true }
    var agree = true
    for (pair, isWhole) in zip(pairs, areWhole) {
      if isWhole, ends.agree(pair) { continue }
      agree = false
      try reconcile(pair)
    }
    return agree
  }

  /// Whether the ends of all pairs agree, compared at the same time.
  private func allAgree(_ pairs: [InversePair]) -> Bool {
    let ends = InverseComparison(ends: ends)
    return ParallelWork.allSatisfy(pairs.count, jobs: jobs) { ends.ends.agree(pairs[$0]) }
  }

  /// `@unchecked Sendable`: comparing ends only reads columns, to which nothing is written meanwhile.
  private struct InverseComparison: @unchecked Sendable {
    let ends: InverseEnds
  }

  /// Must not be held while a column is written: the column would be copied.
  var ends: InverseEnds { InverseEnds(model: model, tables: tables) }

  /// Whether the end is missing for some entity with objects.
  private func isAbsent(_ end: InversePair.End, facing other: InversePair.End) -> Bool {
    ends.entities(at: end, facing: other).contains { absent.contains(AbsentColumn(entity: $0, slot: end.slot)) }
  }

  private func reconcile(_ pair: InversePair) throws(PersistentStoreError) {
    let first = links(at: pair.first, facing: pair.second)
    let second = links(at: pair.second, facing: pair.first)
    let unconfirmed = first.subtracting(second.reversedLinks)
    let unconfirmedBack = second.subtracting(first.reversedLinks)
    // A missing end cannot contradict the other.
    let forward = unconfirmed.filter { !isAbsent($0.target, pair.second) }
    let backward = unconfirmedBack.filter { !isAbsent($0.target, pair.first) }
    var all = (first + unconfirmedBack.reversedLinks).sorted()
    let contradictions = forward.count + (pair.isOwnInverse ? 0 : backward.count)
    let canMend = rules.inverses.canMend(pair)
    let mends = contradictions > 0 && (inverseHandling == .enforce || canMend)
    // What was left out may be the other end of a link: such links are left out as well.
    let drops = mends && rules.inverses == .refuse && skipsDamagedObjects && !damage.isEmpty
    if drops {
      for link in forward { try reportRemoved(contradiction(link, isForward: true, pair, count: 1)) }
      if !pair.isOwnInverse {
        for link in backward { try reportRemoved(contradiction(link, isForward: false, pair, count: 1)) }
      }
      all = all.subtracting(forward).subtracting(backward.reversedLinks)
    } else if mends {
      guard canMend else {
        throw contradiction(forward.first ?? backward[0], isForward: !forward.isEmpty, pair, count: contradictions)
      }
      // The correct end keeps its links, and gets those that only the other one could have. If both ends are to-many,
      // links that either end has are kept.
      if pair.isOneToMany { all = all.subtracting(rules.inverses == .fromToOne ? backward.reversedLinks : forward) }
    }
    let isFirstWrong = drops || mends && rules.inverses == .fromToMany
    try write(all, at: pair.first, facing: pair.second, isWrong: isFirstWrong)
    if !pair.isOwnInverse {
      let isSecondWrong = drops || mends && (rules.inverses == .fromToOne || pair.isManyToMany)
      try write(all.reversedLinks, at: pair.second, facing: pair.first, isWrong: isSecondWrong)
    }
  }

  private func links(at end: InversePair.End, facing other: InversePair.End) -> [InverseEnds.Link] {
    ends.links(at: end, facing: other) { absent.contains(AbsentColumn(entity: $0, slot: end.slot)) }
  }

  private func isAbsent(_ node: UInt64, _ end: InversePair.End) -> Bool {
    absent.contains(AbsentColumn(entity: NodeHandle(bits: node).entity, slot: end.slot))
  }

  // MARK: Writing an end

  /// Sets the values of an end to the links, as far as the end is missing or known to be wrong.
  private func write(
    _ links: [InverseEnds.Link], at end: InversePair.End, facing other: InversePair.End, isWrong: Bool
  ) throws(PersistentStoreError) {
    var next = 0
    let entities = ends.entities(at: end, facing: other)
    for entity in entities {
      let isAbsent = absent.contains(AbsentColumn(entity: entity, slot: end.slot))
      guard isAbsent || isWrong else { continue }
      // Links are sorted by source; so are entities.
      while next < links.count, NodeHandle(bits: links[next].source).entity < entity { next += 1 }
      let column = tables[entity].own(end.slot)
      building[entity].headers[end.slot] = column
      var changed = 0
      for row in 0..<tables[entity].count {
        let source = NodeHandle(entity: entity, row: row)
        let start = next
        while next < links.count, links[next].source == source.bits { next += 1 }
        if try write(links[start..<next].map(\.target), to: source, column, at: end, other) { changed += 1 }
      }
      if changed > 0 {
        notes.append(
          .init(
            subject: "\(model.entity(at: entity).name).\(end.name)", count: changed,
            text: isAbsent
              ? "taken from '\(other.name)', because the store omits it" : "changed to agree with '\(other.name)'"))
      }
    }
  }

  /// Returns whether anything changed.
  private func write(
    _ targets: [UInt64], to node: NodeHandle, _ column: UnsafeMutablePointer<ColumnHeader>, at end: InversePair.End,
    _ other: InversePair.End
  ) throws(PersistentStoreError) -> Bool {
    guard end.isToMany else {
      if targets.count > 1 { throw named(node, by: targets, end, other) }
      let bits = targets.first ?? NodeHandle.nullBits
      if column.pointee.cell(node.row, as: UInt64.self) == bits { return false }
      column.pointee.setCell(node.row, bits)
      return true
    }
    let old = Array(column.pointee.handles(node.row))
    if old.sorted() == targets { return false }
    guard !targets.isEmpty else {
      column.pointee.setNull(node.row)
      return true
    }
    // Remaining objects keep their order; new ones follow in the order of references.
    let wanted = Set(targets)
    let known = Set(old)
    let kept = end.keepsSequence ? old.filter { wanted.contains($0) } : []
    let added = ascending(end.keepsSequence ? targets.filter { !known.contains($0) } : targets)
    guard column.pointee.setHandles(node.row, kept + added) else {
      throw .columnFull(location(entity: node.entity, row: node.row, slot: end.slot))
    }
    return true
  }

  private func ascending(_ nodes: [UInt64]) -> [UInt64] {
    nodes.sorted {
      let (one, other) = (NodeHandle(bits: $0), NodeHandle(bits: $1))
      return tables[one.entity].reference(one.row) < tables[other.entity].reference(other.row)
    }
  }

  // MARK: Errors

  private func place(_ node: NodeHandle, _ end: InversePair.End) -> StoreLocation {
    location(entity: node.entity, row: node.row, slot: end.slot)
  }
  private func name(_ node: NodeHandle) -> String {
    "\(model.entity(at: node.entity).name)/\(tables[node.entity].reference(node.row))"
  }

  /// The error for an object that names another one which does not name it back.
  private func contradiction(
    _ link: InverseEnds.Link, isForward: Bool, _ pair: InversePair, count: Int
  ) -> PersistentStoreError {
    let (end, other) = isForward ? (pair.first, pair.second) : (pair.second, pair.first)
    let (source, target) = (NodeHandle(bits: link.source), NodeHandle(bits: link.target))
    var message = "\(name(target)) is named here, but does not name \(name(source)) back at \(place(target, other))"
    if !other.isToMany {
      let bits = tables[target.entity].columns[other.slot].header.pointee.cell(target.row, as: UInt64.self)
      if bits != NodeHandle.nullBits { message += ", where \(name(NodeHandle(bits: bits))) is named" }
    }
    if count > 1 { message += "; '\(pair.first.name)' and '\(pair.second.name)' contradict each other \(count) times" }
    if pair.isOneToMany {
      message += " (the option inverses=from-to-one or from-to-many specifies which end is correct)"
    } else if pair.isManyToMany {
      message += " (the option inverses=from-to-many keeps the links that either end has)"
    }
    return PersistentStoreError(.inverseMismatch, message, at: place(source, end))
  }

  /// The error for a to-one that would have to name several objects.
  private func named(_ node: NodeHandle, by others: [UInt64], _ end: InversePair.End, _ other: InversePair.End)
    -> PersistentStoreError
  {
    let (one, two) = (NodeHandle(bits: others[0]), NodeHandle(bits: others[1]))
    return PersistentStoreError(
      .inverseMismatch,
      "\(name(node)) is named here and at \(place(two, other)), but its '\(end.name)' can name only one object",
      at: place(one, other))
  }
}

extension RelationshipRules.Inverses {
  /// Whether the rule says how to repair ends that contradict each other.
  func canMend(_ pair: InversePair) -> Bool {
    switch self {
    case .refuse: false
    case .fromToOne: pair.isOneToMany
    case .fromToMany: pair.isOneToMany || pair.isManyToMany
    }
  }
}
