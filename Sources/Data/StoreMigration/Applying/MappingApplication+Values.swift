import AtomicStoreSPI
import StoreCoordination
import StorePredicates

/// Values that are computed one by one.
extension MappingApplication {
  mutating func convert(
    _ old: Slot, _ slot: Slot, _ property: ModelMapping.Property, _ placement: MappingPlacements.Placement
  ) throws(PersistentStoreError) {
    let (source, destination) = (placement.source, placement.destination)
    guard let from = old.attributeType, let to = slot.attributeType,
      let conversion = ValueConversion(from: from, to: to)
    else { return }
    let reader = nodes.reader(of: source.index)
    var failed = 0
    var first: (row: Int, value: StoredValue)?
    for index in 0..<placement.count {
      let row = placement.row(index)
      let value = reader.value(slot: old.index, row: row)
      guard let converted = conversion.convertReversibly(value) else {
        failed += 1
        if first == nil { first = (row, value) }
        continue
      }
      let stored = converted.isNull ? property.replacementForNull ?? .null : converted
      if !stored.isNull { try set(stored, slot, placement, index) }
    }
    guard let first else { return }
    obstacles.append(
      MappingObstacle(
        entityName: destination.name, propertyName: slot.name,
        reason: "\(from.modelName) → \(to.modelName): \(first.value.displayText) of "
          + "\(source.name)/\(reader.reference(row: first.row)) \(Self.whyNot(first.value, conversion))",
        objectCount: failed))
  }

  private static func whyNot(_ value: StoredValue, _ conversion: ValueConversion) -> String {
    guard let converted = conversion.convert(value), converted != value else { return "has no equal" }
    return
      "would become \(converted.displayText), which is another text; a mapping file can convert it by an expression"
  }

  mutating func evaluate(
    _ text: String, _ slot: Slot, _ property: ModelMapping.Property, _ placement: MappingPlacements.Placement
  ) throws {
    guard let type = slot.attributeType else {
      throw PersistentStoreError(
        .invalidOption, "an expression fills attributes, not relationships",
        at: StoreLocation(entity: placement.destination.name, property: slot.name))
    }
    let expression = try expression(text, slot, placement)
    let needsValue = slot.attribute?.isOptional == false && property.replacementForNull == nil
    if let old = column(of: expression, type, placement), !needsValue || !hasNulls(old, placement.source) {
      return try copyColumn(old, slot, property, placement)
    }
    let calculation = calculation(expression, type, placement.source)
    let rows = rows()
    try withExtendedLifetime(version) {
      try forEachObject(of: placement, text, slot) { application, node, index in
        var value: StoredValue
        if let calculation {
          value = try Self.stored(.value(calculation.number(node.row).value), of: expression, type)
        } else {
          value = try Self.stored(try rows.at(node).value(of: expression, for: type), of: expression, type)
        }
        if value.isNull, let replacement = property.replacementForNull { value = replacement }
        if value.isNull, needsValue {
          throw PersistentStoreError(.invalidValue, "the result is null, and the attribute needs a value")
        }
        if !value.isNull { try application.set(value, slot, placement, index) }
      }
    }
  }

  /// The slot of the source whose column has all values of an expression; nil if they have to be computed.
  private func column(
    of expression: FetchExpression, _ type: AttributeType, _ placement: MappingPlacements.Placement
  ) -> Int? {
    guard placement.isWhole, case .keyPath(let path) = expression,
      let old = placement.source.slot(named: path.joined(separator: ".")),
      placement.source.slots[old].attributeType == type
    else { return nil }
    return old
  }

  private func hasNulls(_ slot: Int, _ source: Entity) -> Bool {
    let reader = nodes.reader(of: source.index)
    return (0..<reader.count).contains { reader.isNull(slot: slot, row: $0) }
  }

  /// The expression as a calculation over columns; nil if it is not one.
  private func calculation(_ expression: FetchExpression, _ type: AttributeType, _ source: Entity) -> RowReader? {
    guard let calculation = RowExpressionCompiler.calculation(expression, for: type, source) else { return nil }
    var isDeferred = false
    calculation.visitColumns(source.index) { entity, slot in
      isDeferred = isDeferred || version.hasDeferredValues(entity: entity, slot: slot)
    }
    return isDeferred ? nil : RowReader(calculation, version, source.index)
  }

  private func rows() -> RowEvaluator {
    RowEvaluator(nodes, store: store, now: placements.now, variable: "source", budget: StepBudget())
  }

  /// Sets a relationship to what the objects that an expression leads to have become.
  mutating func setObjects(
    _ text: String, _ numbers: [Int], _ slot: Slot, _ placement: MappingPlacements.Placement
  ) throws {
    guard let destination = slot.destination.map({ mapping.destination.entity(at: $0) }) else { return }
    let isChosen = Set(numbers)
    let expression = try expression(text, slot, placement)
    let rows = rows()
    try forEachObject(of: placement, text, slot) { application, node, index in
      var found: [ObjectReference] = []
      var known: Set<ObjectReference> = []
      for element in try rows.at(node).value(of: expression).elements {
        guard case .object(let object) = element, let node = (object as? NodeSubject)?.node else {
          throw PersistentStoreError(.invalidValue, "the expression leads to something that is not an object")
        }
        for new in application.placements.destinations(of: node, isChosen, of: destination)
        where known.insert(new).inserted {
          found.append(new)
        }
      }
      if slot.isToMany {
        if !found.isEmpty { try application.set(.toMany(found), slot, placement, index) }
      } else if let first = found.first {
        guard found.count == 1 else {
          throw PersistentStoreError(.invalidValue, "the to-one would name \(found.count) objects")
        }
        try application.set(.toOne(first), slot, placement, index)
      }
    }
  }

  private mutating func expression(
    _ text: String, _ slot: Slot, _ placement: MappingPlacements.Placement
  ) throws(PersistentStoreError) -> FetchExpression {
    if let known = expressions[text] { return known }
    do throws(PredicateFormatError) {
      let expression = try FetchExpression(format: text)
      expressions[text] = expression
      return expression
    } catch {
      throw PersistentStoreError(
        .invalidOption, "the expression '\(text)' of the mapping: \(error)",
        at: StoreLocation(entity: placement.destination.name, property: slot.name))
    }
  }

  /// Calls `body` with each object of a placement; those for which it fails are an obstacle.
  private mutating func forEachObject(
    of placement: MappingPlacements.Placement, _ text: String, _ slot: Slot,
    _ body: (borrowing MappingApplication, NodeHandle, Int) throws -> Void
  ) throws {
    var failed = 0
    var first: (NodeHandle, String)?
    for index in 0..<placement.count {
      let node = NodeHandle(entity: placement.source.index, row: placement.row(index))
      do { try body(self, node, index) } catch {
        failed += 1
        let message = (error as? PredicateEvaluationError)?.message ?? (error as? PersistentStoreError)?.message
        if first == nil { first = (node, message ?? "\(error)") }
      }
    }
    guard let first else { return }
    obstacles.append(
      MappingObstacle(
        entityName: placement.destination.name, propertyName: slot.name,
        reason: "'\(text)' for \(nodes.objectReference(of: first.0)): \(first.1)", objectCount: failed))
  }

  /// What an expression came to, as a value of the attribute.
  private static func stored(
    _ value: PredicateValue, of expression: FetchExpression, _ type: AttributeType
  ) throws(PersistentStoreError) -> StoredValue {
    guard case .value(let value) = value else {
      throw PersistentStoreError(.invalidValue, "the expression is an object or a list")
    }
    if type.accepts(value) { return value }
    // In Core Data, Booleans are numbers.
    switch (value, type.valueKind) {
    case (.integer(0), .boolean), (.integer(1), .boolean): return .boolean(value == .integer(1))
    case (.boolean(let flag), .integer): return .integer(flag ? 1 : 0)
    default: break
    }
    // As ``set`` does; and, as a mapping converts a column, to a text.
    if let assigned = ValueConversion.assigned(value, of: expression, to: type) { return assigned }
    if let text = ValueConversion(from: .integer64, to: type)?.convert(value), type.accepts(text) { return text }
    throw PersistentStoreError(.invalidValue, "\(value.displayText) is not of type \(type.modelName)")
  }
}
