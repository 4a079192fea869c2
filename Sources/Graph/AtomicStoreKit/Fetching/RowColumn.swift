import AtomicStoreSPI
import StorePredicates

/// Where the values of a column of rows are stored.
struct RowColumn {
  enum Source {
    case object
    case attribute(slot: Int, type: AttributeType)
    case toOne(slot: Int)
    case toMany(slot: Int)
  }
  /// The to-one relationships that lead to the object with the value.
  private let steps: [Int]
  let source: Source
  /// Whether the value is in the row's own object.
  var isDirect: Bool { steps.isEmpty }

  /// Returns nil for what is not stored in a column, and for values that the format supplies later.
  init?(_ expression: FetchExpression, _ start: EntityPlan, _ plan: ModelPlan, _ version: NodeVersion) {
    if case .evaluatedObject = expression {
      steps = []
      source = .object
      return
    }
    guard case .keyPath(let path) = expression, path.count <= FetchExpression.maximumPathLength else { return nil }
    var steps: [Int] = []
    var entity = start
    var rest = path[...]
    while let property = Self.property(&rest, entity) {
      guard property.slot >= 0, !Self.hasDeferredValues(property, entity, version) else { return nil }
      if rest.isEmpty {
        guard let source = Self.source(property) else { return nil }
        self.source = source
        self.steps = steps
        return
      }
      guard property.kind == .toOne, property.destination >= 0 else { return nil }
      steps.append(property.slot)
      entity = plan.entities[property.destination]
    }
    return nil
  }

  private static func source(_ property: PropertyPlan) -> Source? {
    switch property.kind {
    case .attribute(let type): .attribute(slot: property.slot, type: type)
    case .toOne: .toOne(slot: property.slot)
    case .toMany, .orderedToMany: .toMany(slot: property.slot)
    case .composite, .fetched: nil
    }
  }

  /// The property that a path begins with, which is taken off; the parts of a composite are separate keys.
  private static func property(_ path: inout ArraySlice<String>, _ entity: EntityPlan) -> PropertyPlan? {
    guard var name = path.popFirst() else { return nil }
    while let p = entity.property(named: name) {
      let property = entity.properties[p]
      guard property.kind == .composite, let part = path.popFirst() else { return property }
      name += "." + part
    }
    return nil
  }

  private static func hasDeferredValues(_ property: PropertyPlan, _ entity: EntityPlan, _ version: NodeVersion) -> Bool
  {
    entity.entity.hierarchy.contains { version.hasDeferredValues(entity: $0.index, slot: property.slot) }
  }

  /// The node with the value; nil if a relationship on the way has no destination.
  @inline(__always) func node(from start: NodeHandle, _ version: NodeVersion) -> NodeHandle? {
    var node = start
    for slot in steps {
      guard let next = version.toOne(slot: slot, of: node) else { return nil }
      node = next
    }
    return node
  }
}
