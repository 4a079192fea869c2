import AtomicStoreSPI

/// One-to-one relationships.
extension RelationshipReconciliation {
  func settlePartners() {
    guard !partners.isEmpty else { return }
    var dropped: Set<RelationshipEnd> = []
    findDropped(&dropped)
    var pairs: [RelationshipEnd: ManagedObject] = [:]
    /// The destination that an end's own change demands; nil for no change, or for one that is dropped.
    func wish(_ object: ManagedObject, _ p: Int) -> ManagedObject?? {
      guard stays(object), !dropped.contains(RelationshipEnd(object, p)), case .object(let wanted)? = object.edits?[p]
      else { return nil }
      return .some(wanted.flatMap { stays($0) ? $0 : nil })
    }
    for needsBoth in [true, false] {
      for (object, p) in partners {
        guard let wanted = wish(object, p) ?? nil, let q = inverse(object.plan, p) else { continue }
        let (end, other) = (RelationshipEnd(object, p), RelationshipEnd(wanted, q))
        guard pairs[end] == nil, pairs[other] == nil, !needsBoth || (wish(wanted, q) ?? nil) === object else {
          continue
        }
        pairs[end] = wanted
        pairs[other] = object
        note(partner: wanted, q)
      }
    }
    // Objects that lose a partner are appended to the list during the iteration.
    var next = 0
    while next < partners.count {
      let (object, p) = partners[next]
      next += 1
      guard let q = inverse(object.plan, p), stays(object) else { continue }
      let before = storedOne(object, p)
      let end = RelationshipEnd(object, p)
      var after = before
      if let partner = pairs[end] {
        after = partner
      } else if !dropped.contains(end), !decided.contains(object, p) {
        if wish(object, p) != nil { after = nil }
        if let before {
          let isElsewhere = pairs[RelationshipEnd(before, q)].map { $0 !== object } ?? (wish(before, q) != nil)
          if isElsewhere { after = nil }
        }
      }
      if let found = after, found.flags.contains(.deleted) {
        if found === before, found.plan.properties[q].deleteRule == .noAction { continue }
        after = nil
      }
      let seen = isForReading ? shown(object, p) : nil
      set(object, p, after)
      for former in [before, seen] where former !== after {
        if let former { note(partner: former, q) }
      }
    }
  }

  /// Finds the changes that contradict a decision of the merge policy or lead to removed objects. A dropped change
  /// leaves the partner that the store has, whose own change is dropped as well.
  private func findDropped(_ dropped: inout Set<RelationshipEnd>) {
    func isFixed(_ object: ManagedObject, _ q: Int) -> Bool {
      decided.contains(object, q) || dropped.contains(RelationshipEnd(object, q))
    }
    var isComplete = false
    while !isComplete {
      isComplete = true
      for (object, p) in partners where stays(object) && !dropped.contains(RelationshipEnd(object, p)) {
        guard case .object(let wanted)? = object.edits?[p], let q = inverse(object.plan, p) else { continue }
        let before = storedOne(object, p)
        if wanted === before { continue }
        var drops =
          decided.contains(object, p) || wanted == nil && isRevived(before)
          || before.map { stays($0) && isFixed($0, q) } ?? false
        if let wanted, !drops {
          drops = !wanted.flags.contains(.deleted) && !stays(wanted) || stays(wanted) && isFixed(wanted, q)
        }
        guard drops else { continue }
        dropped.insert(RelationshipEnd(object, p))
        isComplete = false
      }
    }
  }
}
