import AtomicStoreSPI

/// Reversing the recorded steps.
extension UndoHistory {
  /// Ends the group that ``beginUndoGrouping()`` began. Has no effect if there is none.
  public func endUndoGrouping() {
    guard depth > 0 else { return }
    if depth == 1 { context?.processPendingChanges() }
    depth -= 1
    if depth == 0 { closeOpenGroup() }
  }

  /// Reverts the last group. Has no effect if there is none.
  public func undo() {
    guard let context, !isWorking else { return }
    context.processPendingChanges()
    closeOpenGroup()
    guard let group = undoGroups.popLast() else { return }
    redoGroups.append(reverse(group, in: context))
    context.processPendingChanges()
  }

  /// Performs again the group that was last undone.
  public func redo() {
    guard let context, !isWorking else { return }
    context.processPendingChanges()
    closeOpenGroup()
    guard let group = redoGroups.popLast() else { return }
    undoGroups.append(reverse(group, in: context))
    context.processPendingChanges()
  }

  /// Performs the inverse of a group's steps, last first, and returns the group that reverts that.
  private func reverse(_ group: Group, in context: ManagedObjectContext) -> Group {
    isWorking = true
    defer { isWorking = false }
    var opposite = Group(name: group.name)
    opposite.steps.reserveCapacity(group.steps.count)
    // An object that was deleted and saved is restored as a new object.
    var returned: [ManagedObject] = []
    for step in group.steps.reversed() {
      if case .action(let action) = step {
        opposite.steps += steps(of: action, in: context)
        continue
      }
      var wasNew = true
      if case .deleted(let object) = step { wasNew = object.context != nil && object.flags.contains(.inserted) }
      if let back = reverse(step, in: context) { opposite.steps.append(back) }
      if !wasNew, case .deleted(let object) = step, object.flags.contains(.inserted) { returned.append(object) }
    }
    for object in returned { context.joinOtherEnds(of: object) }
    context.agreeEndsOfChanges()
    return opposite
  }

  /// Runs an action of the program's own.
  ///
  /// - Returns: What it registered and changed.
  private func steps(of action: () -> Void, in context: ManagedObjectContext) -> [Step] {
    isRunningAction = true
    action()
    // Delete rules belong to what the action did.
    context.processPendingChanges()
    isRunningAction = false
    defer { actionSteps = [] }
    return actionSteps
  }

  private func reverse(_ step: Step, in context: ManagedObjectContext) -> Step? {
    switch step {
    case .action: return nil
    case .inserted(let object):
      context.applyUninsert(object)
      return .deleted(object)
    case .deleted(let object):
      // A merge policy or a refresh may have restored it.
      guard object.context == nil || object.flags.contains(.deleted) else { return nil }
      return context.applyUndelete(object) ? .inserted(object) : nil
    case .attribute(let object, let p, let value):
      guard isChangeable(object) else { return nil }
      let now = object.storedValue(p)
      object.applyStoredValue(p, value)
      object.extras?.transformed[p] = nil
      note(object, context)
      return .attribute(object, p, now)
    case .transient(let object, let p, let value):
      guard isChangeable(object) else { return nil }
      let now = (try? object.content(p))?.anyValue
      object.applyTransient(p, value)
      note(object, context)
      return .transient(object, p, now)
    case .toOne(let object, let p, let value):
      // What stays deleted gets no links back.
      guard isChangeable(object), value.map({ !context.isLost($0) }) ?? true else { return nil }
      let now = object.toOneObject(p)
      object.applyToOne(p, value)
      note(object, context)
      return .toOne(object, p, now)
    case .added(let object, let p, let member, _):
      // After a refresh or a conflict, members may be restored or removed already.
      guard isChangeable(object), object.toManyContains(p, member) else { return nil }
      let place = object.applyRemove(p, member)
      note(object, context)
      return .removed(object, p, member, place)
    case .removed(let object, let p, let member, let place):
      guard isChangeable(object), !context.isLost(member), !object.toManyContains(p, member) else { return nil }
      object.applyAdd(p, member, at: place)
      note(object, context)
      return .added(object, p, member, place)
    case .order(let object, let p, let list):
      guard isChangeable(object) else { return nil }
      let now = object.toManyObjects(p)
      object.applyOrder(p, list.filter { !context.isLost($0) })
      note(object, context)
      return .order(object, p, now)
    }
  }

  /// Whether an object's values are available. An object that was deleted and saved keeps them for the undo that
  /// restores it.
  private func isChangeable(_ object: ManagedObject) -> Bool {
    let gone = object.extras?.gone
    return object.context == nil && (gone == .deletedHere || gone == .neverSaved || gone == .merged)
      || object.isReachable
  }

  private func note(_ object: ManagedObject, _ context: ManagedObjectContext) {
    if object.context === context { context.noteChange(of: object) }
  }
}

extension ManagedObjectContext {
  /// Reverts the last group of changes: see ``undoManager``.
  public func undo() { undoManager?.undo() }

  /// Performs again what was last undone.
  public func redo() { undoManager?.redo() }

  /// Reverts an insertion. An object that was saved meanwhile is deleted; changes to related objects have their
  /// own steps.
  fileprivate func applyUninsert(_ object: ManagedObject) {
    guard object.context === self else { return }
    if object.flags.contains(.inserted) {
      inserted.remove(object)
      // It may have a permanent ID, and an object without a context does not remove itself from the table.
      object.cache?.unregister(object)
      object.flags = []
      object.held = nil
      object.context = nil
      object.needExtras().gone = .neverSaved
      notice.deleted.append(object)
    } else if object.isReachable, !object.flags.contains(.deleted) {
      applyDelete(object)
      object.flags.insert(.propagated)
      unpropagated.removeAll { $0 === object }
    }
  }

  /// Reverts the deletion of the object alone: changes to related objects are undone by their own operations.
  ///
  /// - Returns: False if the object stays deleted: its store no longer has it, and its values were released.
  fileprivate func applyUndelete(_ object: ManagedObject) -> Bool {
    if isLost(object) { return false }
    let isMissing = object.context === self && isMissing(object)
    unpropagated.removeAll { $0 === object }
    if object.context == nil {
      // Its insertion was undone, or it was saved meanwhile: it is a new object now, with its previous values.
      let wasSaved = object.base != nil || object.extras?.gone == .deletedHere || object.extras?.gone == .merged
      object.extras?.gone = nil
      object.extras?.lastID = nil
      object.context = self
      object.flags = [.inserted, .realized]
      if wasSaved {
        object.reference = nil
        object.extras?.temporaryName = nil
      } else if object.reference != nil {
        registerPermanentID(of: object)
      }
      knowTemporaryID(of: object)
      inserted.append(object)
    } else if object.flags.contains(.inserted) {
      object.flags.remove([.deleted, .propagated])
      inserted.append(object)
    } else {
      deleted.remove(object)
      object.flags.remove([.deleted, .propagated])
      if isMissing {
        // Another context has deleted it as well: it is a new object now, as after a save of the deletion here.
        comeBack(object)
        object.cache?.watchReference(of: object)
      } else if object.edits?.contains(where: { $0 != nil }) == true {
        object.flags.insert(.updated)
        updated.append(object)
      }
    }
    noteInserted(object)
    return true
  }

  /// Whether a deleted object stays deleted: its store no longer has it, and its values were released before they were
  /// kept for an undo.
  fileprivate func isLost(_ object: ManagedObject) -> Bool {
    if object.context === self { return object.isFault && object.flags.contains(.deleted) && isMissing(object) }
    let gone = object.extras?.gone
    return object.context == nil && (gone == .deletedHere || gone == .merged) && object.base == nil
      && !object.plan.entity.slots.isEmpty && object.edits?.contains { $0 != nil } != true
  }

  /// Restores the other ends of an object that undo brought back after a save.
  ///
  /// Its deletion recorded what the delete rules changed. Other changes by the save, such as the other end of a
  /// relationship with the rule No Action, were not recorded. A to-one that leads to another object by now is not
  /// changed.
  fileprivate func joinOtherEnds(of object: ManagedObject) {
    guard object.context === self, object.flags.contains(.inserted), !object.flags.contains(.deleted) else { return }
    for p in object.plan.relationships {
      let q = object.plan.properties[p].inverse
      for other in object.ends(p) {
        // What is gone did not come back with it.
        if other.flags.contains(.deleted) || other.context !== self || isMissing(other) {
          separate(object, p, other)
          continue
        }
        // Refreshed: an end that the save cut outside the context still shows the earlier version.
        guard q >= 0, isThere(other) else { continue }
        // An end that was cut outside the context may still show here, although the next save would not write it as a
        // change.
        if isEnd(other, q, object), !other.flags.isDisjoint(with: [.inserted, .updated]) { continue }
        if !other.plan.properties[q].isToMany, let present = other.toOneObject(q), present !== object,
          present.context === self, !present.flags.contains(.deleted), present.isReachable
        {
          separate(object, p, other)
        } else {
          join(other, q, object)
        }
      }
    }
  }

  /// Whether the object is still in its store. It reads the store's current version afterwards.
  private func isThere(_ object: ManagedObject) -> Bool {
    guard object.context === self else { return false }
    if object.flags.contains(.inserted) { return true }
    return object.flags.contains(.realized) ? rebase(object) : object.isReachable
  }

  private func join(_ object: ManagedObject, _ p: Int, _ other: ManagedObject) {
    if object.plan.properties[p].isToMany { object.applyAdd(p, other, at: nil) } else { object.applyToOne(p, other) }
    noteChange(of: object)
  }

  private func separate(_ object: ManagedObject, _ p: Int, _ other: ManagedObject) {
    guard isEnd(object, p, other) else { return }
    if object.plan.properties[p].isToMany { object.applyRemove(p, other) } else { object.applyToOne(p, nil) }
    noteChange(of: object)
  }
}
