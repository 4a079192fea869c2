import AtomicStoreSPI

/// What changed, and what the values were before.
extension ManagedObject {
  /// The names of the persistent properties that were changed since the object was last fetched or saved. For a new
  /// object, those that were set to another value than the model's default. A changed part of a composite attribute
  /// counts as a change of the composite.
  ///
  /// This creates no values, so it costs less than ``changedValues()``. Reading it fires no fault.
  public final var changedKeys: [String] { changedProperties.map { plan.properties[$0].name } }

  /// Returns the present values of the properties that were changed since the object was last fetched or saved, by
  /// name: those of ``changedKeys``. Values are as ``value(forKey:)`` returns them; nil for null.
  ///
  /// Setting a property back to its stored value is not a change. Reading it fires no fault.
  public final func changedValues() -> [String: Any?] {
    var values: [String: Any?] = [:]
    for p in changedProperties { values.updateValue(readable(p), forKey: plan.properties[p].name) }
    return values
  }

  /// Returns the values of properties as they were last fetched or saved, by name; for a new object the model's
  /// defaults, and no objects. In a child context these are the values of the parent's object.
  ///
  /// - Parameter keys: The properties; nil for all persistent ones. A name that the entity does not have is left out,
  ///   and recorded as ``accessError``.
  public final func committedValues(forKeys keys: [String]? = nil) -> [String: Any?] {
    guard isReadable() else { return [:] }
    var values: [String: Any?] = [:]
    if let keys {
      for key in keys {
        do throws(ManagedObjectError) { values.updateValue(committedValue(at: try number(of: key)), forKey: key) } catch
        {
          record(error)
        }
      }
      return values
    }
    for p in plan.properties.indices where isPersistent(p) && wholeComposite(of: p) == nil {
      values.updateValue(committedValue(at: p), forKey: plan.properties[p].name)
    }
    return values
  }

  /// Returns the values that properties had before the changes of the current event, by name: for each persistent
  /// property that changed since observers were last notified. Inside an observer, these are the changes that it is
  /// notified of.
  ///
  /// An object that was inserted in the event had the model's defaults and no objects.
  public final func changedValuesForCurrentEvent() -> [String: Any?] {
    guard flags.contains(.recorded), flags.contains(.realized), let context else { return [:] }
    var values: [String: Any?] = [:]
    var composites: Set<Int> = []
    for p in plan.properties.indices where isPersistent(p) && plan.properties[p].kind != .composite {
      if let whole = wholeComposite(of: p) {
        if !composites.contains(whole), isChangedInEvent(p, context) { composites.insert(whole) }
      } else if plan.properties[p].isToMany {
        let now = toManyObjects(p)
        var before: [ManagedObject]?
        if flags.contains(.insertedInEvent) {
          before = now.isEmpty ? nil : []
        } else {
          before = context.event.objects(of: self, p, now: now)
        }
        guard let before, !isSameList(before, now, p) else { continue }
        values[plan.properties[p].name] = plan.properties[p].kind == .orderedToMany ? before : Set(before)
      } else if isChangedInEvent(p, context) {
        values.updateValue(valueBeforeEvent(p, context), forKey: plan.properties[p].name)
      }
    }
    for whole in composites {
      values.updateValue(valueBeforeEvent(whole, context), forKey: plan.properties[whole].name)
    }
    return values
  }

  // MARK: Since the last save

  private final var changedProperties: [Int] {
    guard let edits else { return [] }
    var found: [Int] = []
    for p in edits.indices where edits[p] != nil && isPersistent(p) && isUnlikeDefault(p, edits[p]) {
      let p = wholeComposite(of: p) ?? p
      if found.last != p { found.append(p) }
    }
    return found
  }

  private final func isPersistent(_ p: Int) -> Bool {
    plan.properties[p].slot >= 0 || plan.properties[p].kind == .composite && !plan.properties[p].isTransient
  }

  /// The composite attribute that a property is a part of, at any depth; nil if it is not a part.
  private final func wholeComposite(of p: Int) -> Int? {
    guard plan.properties[p].nameBytes.contains(UInt8(ascii: ".")) else { return nil }
    return plan.properties.first { $0.kind == .composite && $0.parts.contains(p) }?.index
  }

  /// Whether a value of a new object is not just what a new object has.
  private final func isUnlikeDefault(_ p: Int, _ edit: PropertyValue?) -> Bool {
    guard flags.contains(.inserted) else { return true }
    switch edit {
    case .stored(let value)?: return !value.isIdentical(to: defaultValue(p))
    case .object(let object)?: return object != nil
    case .changes(let changes)?: return !changes.isEmpty
    case .ordered(let list)?: return list.count > 0
    case .transient?, nil: return false
    }
  }

  private final func defaultValue(_ p: Int) -> StoredValue {
    plan.properties[p].attribute?.defaultValue ?? .null
  }

  /// The present value; nil for one that cannot be read, which is recorded.
  private final func readable(_ p: Int) -> Any? {
    do throws(ManagedObjectError) { return try value(at: p) } catch {
      record(error)
      return nil
    }
  }

  /// The value without the changes made here. The object must be realized.
  private final func committedValue(at p: Int) -> Any? {
    if plan.properties[p].kind == .fetched || plan.properties[p].isTransient { return readable(p) }
    return withEdits(flags.contains(.inserted) ? defaultEdits : nil) { readable(p) }
  }

  private final var defaultEdits: ContiguousArray<PropertyValue?> {
    var edits = ContiguousArray<PropertyValue?>(repeating: nil, count: plan.properties.count)
    for (p, value) in plan.defaults { edits[p] = .stored(value) }
    return edits
  }

  /// Reads with other changes than the object has.
  private final func withEdits<Result>(_ other: ContiguousArray<PropertyValue?>?, _ body: () -> Result) -> Result {
    let kept = edits
    let transformed = extras?.transformed
    edits = other
    extras?.transformed = [:]
    defer {
      edits = kept
      if let transformed { extras?.transformed = transformed } else { extras?.transformed = [:] }
    }
    return body()
  }

  // MARK: Since the last event

  /// The value that overrode the store's at the beginning of the event.
  private final func editBeforeEvent(_ p: Int, _ context: ManagedObjectContext) -> PropertyValue? {
    if flags.contains(.insertedInEvent) { return .stored(defaultValue(p)) }
    return context.event.edit(of: self, p)
  }

  /// For an attribute or a to-one.
  private final func isChangedInEvent(_ p: Int, _ context: ManagedObjectContext) -> Bool {
    if plan.properties[p].kind == .toOne {
      let before = withEdits(editsBeforeEvent(p, context)) { toOneObject(p) }
      return before !== toOneObject(p)
    }
    let before = withEdits(editsBeforeEvent(p, context)) { storedValue(p) }
    return !before.isIdentical(to: storedValue(p))
  }

  private final func valueBeforeEvent(_ p: Int, _ context: ManagedObjectContext) -> Any? {
    withEdits(editsBeforeEvent(p, context)) { readable(p) }
  }

  /// The changes at the beginning of the event, as far as one property needs them.
  private final func editsBeforeEvent(_ p: Int, _ context: ManagedObjectContext) -> ContiguousArray<PropertyValue?> {
    var before = ContiguousArray<PropertyValue?>(repeating: nil, count: plan.properties.count)
    for q in plan.properties[p].kind == .composite ? plan.properties[p].parts : p..<(p + 1) {
      if plan.properties[q].kind == .toOne, flags.contains(.insertedInEvent) { continue }
      before[q] = editBeforeEvent(q, context)
    }
    return before
  }

  private final func isSameList(_ one: [ManagedObject], _ other: [ManagedObject], _ p: Int) -> Bool {
    guard one.count == other.count else { return false }
    return plan.properties[p].kind == .orderedToMany ? one.elementsEqual(other, by: ===) : Set(one) == Set(other)
  }
}
