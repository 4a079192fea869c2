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
    /// Missing ends are derived, and contradictions are treated by the rules.
    case enforce
  }

  /// Makes ``finish()`` compare the ends of relationships: missing ones are derived, and contradictions are treated by
  /// the rule.
  package func compareEnds(by rule: RelationshipRules.Inverses) {
    rules.inverses = rule
    inverseHandling = .enforce
  }

  struct AbsentColumn: Hashable {
    var entity: Int
    var slot: Int
  }

  /// Derives missing ends, and keeps, refuses or repairs contradicting ones, by the rules. References must be resolved.
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

  /// What is done about links that only one end has, although the file has both ends.
  private enum Treatment {
    /// Each end stays as it is.
    case keep
    /// Such links are left out, and reported.
    case drop
    /// Both ends get the same links, by the rule.
    case repair
    case refuse
  }

  private func treatment(of pair: InversePair) -> Treatment {
    switch rules.inverses {
    case _ where pair.isOneToOne && rules.keepsToOnes: .keep
    case .asStored: .keep
    case .toOneAsStored where pair.isOneToOne: .keep
    case .fromToOne, .fromToMany: .repair
    // What was left out may be the other end of a link.
    case .refuse, .toOneAsStored: skipsDamagedObjects && !damage.isEmpty ? .drop : .refuse
    }
  }

  private func reconcile(_ pair: InversePair) throws(PersistentStoreError) {
    let first = links(at: pair.first, facing: pair.second)
    let second = links(at: pair.second, facing: pair.first)
    let unconfirmed = first.subtracting(second.reversedLinks)
    let unconfirmedBack = second.subtracting(first.reversedLinks)
    // A missing end cannot contradict the other.
    let forward = unconfirmed.filter { !isAbsent($0.target, pair.second) }
    let backward = unconfirmedBack.filter { !isAbsent($0.target, pair.first) }
    // If a relationship is its own inverse, both are the same.
    let contradictions = forward.count + (pair.isOwnInverse ? 0 : backward.count)
    let treatment = treatment(of: pair)
    if treatment == .refuse, contradictions > 0 {
      throw contradiction(forward.first ?? backward[0], isForward: !forward.isEmpty, pair, count: contradictions)
    }
    var all = (first + unconfirmedBack.reversedLinks).sorted()
    if contradictions > 0 {
      if treatment == .drop {
        for link in forward { try reportRemoved(contradiction(link, isForward: true, pair, count: 1)) }
        for link in pair.isOwnInverse ? [] : backward {
          try reportRemoved(contradiction(link, isForward: false, pair, count: 1))
        }
        all = all.subtracting(forward).subtracting(backward.reversedLinks)
      } else if treatment == .repair, pair.isOneToMany {
        // Otherwise the links that either end has are kept.
        all = all.subtracting(rules.inverses == .fromToOne ? backward.reversedLinks : forward)
      }
    }
    let possible = pair.possible(all, preferring: first.subtracting(unconfirmed))
    let surplus = possible.count < all.count ? all.subtracting(possible) : []
    if treatment == .refuse, let link = surplus.first { throw claimed(link, possible, pair) }
    if treatment == .drop { for link in surplus { try reportRemoved(claimed(link, possible, pair)) } }
    if treatment == .keep { noteKept(forward, pair.isOwnInverse ? [] : backward, surplus.count, pair) }
    // Where nothing contradicts, only missing ends are written; where all is kept, each from the other end alone.
    let areWrong = treatment != .keep && (contradictions > 0 || !surplus.isEmpty)
    let atFirst = treatment == .keep ? second.reversedLinks : possible
    try write(atFirst, at: pair.first, facing: pair.second, isWrong: areWrong)
    if !pair.isOwnInverse {
      let atSecond = (treatment == .keep ? first : possible).reversedLinks
      try write(atSecond, at: pair.second, facing: pair.first, isWrong: areWrong)
    }
  }

  /// Notes that ends which contradict each other were kept.
  ///
  /// - Parameter surplus: The number of links to an object whose missing end already has another one.
  private func noteKept(
    _ forward: [InverseEnds.Link], _ backward: [InverseEnds.Link], _ surplus: Int, _ pair: InversePair
  ) {
    let rest = forward.isEmpty && backward.isEmpty ? surplus : 0
    for (links, end, other) in [(forward, pair.first, pair.second), (backward, pair.second, pair.first)] {
      guard let link = links.first else { continue }
      let (source, target) = (NodeHandle(bits: link.source), NodeHandle(bits: link.target))
      observations.append(
        LoadNote(
          subject: "\(model.entity(at: end.entity).name).\(end.name)", count: links.count,
          text: "read as stored, although '\(other.name)' of the object that it names does not name it back",
          example: "\(name(source)) and \(name(target))", isWarning: true))
    }
    guard rest > 0 else { return }
    observations.append(
      LoadNote(
        subject: "\(model.entity(at: pair.second.entity).name).\(pair.second.name)", count: rest,
        text: "read as stored, although the object that it names can name only one", isWarning: true))
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
      var changed = 0
      for row in 0..<tables[entity].count {
        let source = NodeHandle(entity: entity, row: row)
        let start = next
        while next < links.count, links[next].source == source.bits { next += 1 }
        if try write(links[start..<next].map(\.target), to: source, at: end) { changed += 1 }
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
    _ targets: [UInt64], to node: NodeHandle, at end: InversePair.End
  ) throws(PersistentStoreError) -> Bool {
    let before = tables[node.entity].columns[end.slot].header
    let bits = targets.first ?? NodeHandle.nullBits
    let old = end.isToMany ? Array(before.pointee.handles(node.row)) : []
    let isSame =
      end.isToMany ? old.sorted() == targets : before.pointee.cell(node.row, as: UInt64.self) == bits
    if isSame { return false }
    let column = tables[node.entity].own(end.slot, for: node.row)
    building[node.entity].headers[end.slot] = column
    guard end.isToMany else {
      column.pointee.setHandle(node.row, bits)
      return true
    }
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
    var error = PersistentStoreError(.inverseMismatch, message, at: place(source, end))
    if rules.namesOptions {
      error.remedy =
        pair.isOneToMany
        ? .readOption(
          "inverses=from-to-one", or: ["inverses=from-to-many"],
          effect: "specifies which end is correct; inverses=as-stored reads both")
        : .readOption(
          "inverses=from-to-many", effect: "keeps the links that either end has; inverses=as-stored reads both")
    }
    return error
  }

  /// The error for a to-one that the file omits, and that would have to name several objects.
  private func claimed(
    _ surplus: InverseEnds.Link, _ possible: [InverseEnds.Link], _ pair: InversePair
  ) -> PersistentStoreError {
    // The end that can name only one object is the one of which another link is kept.
    let isAtFirst = !pair.first.isToMany && possible.contains { $0.source == surplus.source }
    let (end, other) = isAtFirst ? (pair.first, pair.second) : (pair.second, pair.first)
    let (object, two) = isAtFirst ? (surplus.source, surplus.target) : (surplus.target, surplus.source)
    let kept = possible.first { (isAtFirst ? $0.source : $0.target) == object }
    let one = kept.map { isAtFirst ? $0.target : $0.source } ?? two
    return PersistentStoreError(
      .inverseMismatch,
      "\(name(NodeHandle(bits: object))) is named here and at \(place(NodeHandle(bits: two), other)), but its '\(end.name)' can name only one object",
      at: place(NodeHandle(bits: one), other),
      remedy: rules.namesOptions ? .readOption("inverses=from-to-many", effect: "keeps the first") : nil)
  }
}

extension InversePair {
  /// The links that both ends can have: an object at a to-one end has at most one.
  ///
  /// - Parameters:
  ///   - links: The links of the first end, in ascending order.
  ///   - confirmed: Those among them that both ends have, which come first.
  func possible(_ links: [InverseEnds.Link], preferring confirmed: [InverseEnds.Link]) -> [InverseEnds.Link] {
    let isPossible =
      (first.isToMany || links.hasDistinctSources) && (second.isToMany || links.reversedLinks.hasDistinctSources)
    if isPossible { return links }
    var (sources, targets): (Set<UInt64>, Set<UInt64>) = ([], [])
    var result: [InverseEnds.Link] = []
    for link in confirmed + links.subtracting(confirmed) {
      // An object that is its own partner has one end.
      let isMirrored = isOwnInverse && link.source != link.target
      guard second.isToMany || !targets.contains(link.target), first.isToMany || !sources.contains(link.source)
      else { continue }
      guard !isMirrored || !targets.contains(link.source) && !sources.contains(link.target) else { continue }
      for one in isMirrored ? [link, InverseEnds.Link(source: link.target, target: link.source)] : [link] {
        sources.insert(one.source)
        targets.insert(one.target)
        result.append(one)
      }
    }
    return result.sorted()
  }
}
