import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs
import StoreCoordination
import StorePredicates
import StorePrimitives

/// Compiles predicates against slots. Returns nil for what must be evaluated: functions, transient properties,
/// subqueries, comparisons of two texts, and everything that is an error, so that the evaluator reports the error.
struct RowTestCompiler {
  let plan: ModelPlan
  let version: NodeVersion
  let store: UUID
  /// Where what cannot be compiled is evaluated row by row; nil if it is to be evaluated on objects.
  private let conditions: RowConditions?
  /// Counts the tests created for one comparison: a path through entities with sub-entities doubles them at each key.
  private final class Room { var left = 0 }
  private let room = Room()
  private static let testsPerComparison = 500
  /// Compiling is recursive, and a longer path would exceed the stack of a worker thread; longer paths are evaluated.
  private static let keysPerPath = 32

  init(plan: ModelPlan, version: NodeVersion, store: UUID, conditions: RowConditions? = nil) {
    self.conditions = conditions
    self.plan = plan
    self.version = version
    self.store = store
  }

  func compile(_ predicate: FetchPredicate, _ entity: EntityPlan) -> RowTest? {
    switch predicate {
    case .value(let flag): return .constant(flag)
    case .block: return nil
    case .and(let parts): return all(parts, entity).map { .and($0) }
    case .or(let parts): return all(parts, entity).map { .or($0) }
    case .not(let part): return compile(part, entity).map { .not($0) }
    case .comparison(let comparison): return compile(comparison, entity)
    }
  }

  private func all(_ parts: [FetchPredicate], _ entity: EntityPlan) -> [RowTest]? {
    var tests: [RowTest] = []
    for part in parts {
      guard let test = compile(part, entity) else { return nil }
      tests.append(test)
    }
    return tests
  }

  private func compile(_ comparison: FetchPredicate.Comparison, _ entity: EntityPlan) -> RowTest? {
    guard !comparison.options.contains(.localeSensitive) else { return nil }
    if let test = identity(comparison, entity) { return test }
    room.left = Self.testsPerComparison
    return property(comparison, entity) ?? Self.numbers(comparison, entity.entity) ?? evaluated(comparison)
  }

  private func evaluated(_ comparison: FetchPredicate.Comparison) -> RowTest? {
    let predicate = FetchPredicate.comparison(comparison)
    guard let conditions, FetchTree.predicate(predicate).isOfStoredValues(without: plan.unstoredNames) else {
      return nil
    }
    return .evaluated(predicate, conditions)
  }

  /// A comparison of numbers that are computed; nil for one of anything else, and for calculations that can fail.
  private static func numbers(_ comparison: FetchPredicate.Comparison, _ entity: Entity) -> RowTest? {
    guard comparison.modifier == .direct else { return nil }
    if let order = RowOrder(comparison.comparator) {
      return RowExpressionCompiler.sides(comparison.left, [comparison.right], entity)?.first.map {
        .numbers($0, order, $1)
      }
    }
    guard case .aggregate(let list) = comparison.right,
      list.allSatisfy({ if case .constant = $0 { true } else { false } }),
      let sides = RowExpressionCompiler.sides(comparison.left, list, entity)
    else { return nil }
    switch comparison.comparator {
    case .between where sides.count == 2:
      return .and([
        .numbers(sides[0].0, .greaterOrEqual, sides[0].1), .numbers(sides[1].0, .lessOrEqual, sides[1].1),
      ])
    case .isIn: return .or(sides.map { .numbers($0, .equal, $1) })
    default: return nil
    }
  }

  /// A comparison of a property, or one behind a relationship, with a constant.
  private func property(_ comparison: FetchPredicate.Comparison, _ entity: EntityPlan) -> RowTest? {
    var comparison = comparison
    if case .keyPath = comparison.right, comparison.modifier == .direct, let turned = Self.turned(comparison.comparator)
    {
      comparison = .init(comparison.right, turned, comparison.left, options: comparison.options)
    }
    guard case .keyPath(let path) = comparison.left, path.count <= Self.keysPerPath else { return nil }
    return compile(path[...], comparison, entity)
  }

  private static func turned(_ comparator: FetchPredicate.Comparator) -> FetchPredicate.Comparator? {
    switch comparator {
    case .equal, .notEqual: comparator
    case .less: .greater
    case .greater: .less
    case .lessOrEqual: .greaterOrEqual
    case .greaterOrEqual: .lessOrEqual
    default: nil
    }
  }

  private func compile(
    _ path: ArraySlice<String>, _ comparison: FetchPredicate.Comparison, _ entity: EntityPlan
  ) -> RowTest? {
    room.left -= 1
    guard room.left >= 0, let key = path.first else { return nil }
    // A part of a composite is a single property.
    if path.count > 1, let part = entity.property(named: path.joined(separator: ".")), entity.properties[part].slot >= 0
    {
      return comparison.modifier == .direct ? leaf(entity.properties[part], comparison) : nil
    }
    if let whole = entity.property(named: path.joined(separator: ".")), entity.properties[whole].kind == .composite {
      return comparison.modifier == .direct ? composite(entity.properties[whole], comparison, entity) : nil
    }
    guard let p = entity.property(named: key) else { return nothing(at: path, comparison, entity) }
    guard entity.properties[p].slot >= 0 else { return nil }
    let property = entity.properties[p]
    let rest = path.dropFirst()
    if rest.isEmpty {
      guard !property.isToMany else { return destination(property, comparison) }
      return comparison.modifier == .direct ? leaf(property, comparison) : nil
    }
    if property.isToMany {
      if rest.count == 1, rest.first == "@count", comparison.modifier == .direct { return count(property, comparison) }
      guard comparison.modifier != .direct, !rest.contains(where: FetchExpression.isOperator) else { return nil }
      // Beyond it, all values are single: a second to-many would flatten.
      var inner = comparison
      inner.modifier = .direct
      guard let (tests, _) = destinations(property, rest, inner, elementsOf: comparison.modifier) else { return nil }
      return comparison.modifier == .any ? .some(slot: property.slot, tests) : .every(slot: property.slot, tests)
    }
    guard property.kind == .toOne, let (tests, null) = destinations(property, rest, comparison, elementsOf: nil) else {
      return nil
    }
    return .through(slot: property.slot, tests, null: null)
  }

  /// Compiles the rest of a path for every entity that the relationship may lead to. Also returns the result without a
  /// destination: a path that leads on to a to-many has no elements there, of which any is false and all is true.
  private func destinations(
    _ property: PropertyPlan, _ rest: ArraySlice<String>, _ comparison: FetchPredicate.Comparison,
    elementsOf modifier: FetchPredicate.Modifier?
  ) -> ([Int: RowTest], Bool)? {
    var tests: [Int: RowTest] = [:]
    let destination = plan.entities[property.destination]
    for entity in destination.entity.hierarchy where !entity.isAbstract {
      guard var test = compile(rest, comparison, plan.entities[entity.index]) else { return nil }
      // Null at the end of a path through a to-many is not an element of the list.
      if let modifier {
        guard rest.count == 1, let key = rest.first, let p = plan.entities[entity.index].property(named: key) else {
          return nil
        }
        let slot = plan.entities[entity.index].properties[p].slot
        guard slot >= 0 else { return nil }
        test = modifier == .any ? .and([.null(slot: slot, false), test]) : .or([.null(slot: slot, true), test])
      }
      tests[entity.index] = test
    }
    return (tests, Self.holdsForNull(comparison))
  }

  /// What a comparison with a constant says of a path that ends early.
  private static func holdsForNull(_ comparison: FetchPredicate.Comparison) -> Bool {
    switch (comparison.comparator, comparison.right) {
    case _ where comparison.modifier != .direct: comparison.modifier == .all
    case (.equal, .constant(let value)): value.isNull
    case (.notEqual, .constant(let value)): !value.isNull
    case (.notEqual, .objectID): true
    case (.equal, .objectID): false
    case (.isIn, .aggregate(let list)): list.contains(.constant(.null))
    default: false
    }
  }

  /// A comparison of a key that the entity does not have, but another one of its hierarchy: its objects have nothing
  /// there.
  private func nothing(
    at path: ArraySlice<String>, _ comparison: FetchPredicate.Comparison, _ entity: EntityPlan
  ) -> RowTest? {
    guard let key = path.first, !path.contains(where: FetchExpression.isOperator),
      entity.entity.root.hierarchy.contains(where: { plan.entities[$0.index].property(named: key) != nil })
    else { return nil }
    switch comparison.right {
    case .constant, .objectID: return .constant(Self.holdsForNull(comparison))
    case .aggregate(let list):
      let areConstant = list.allSatisfy { if case .constant = $0 { true } else { false } }
      return areConstant ? .constant(Self.holdsForNull(comparison)) : nil
    default: return nil
    }
  }

  /// A composite is nil if all its parts are.
  private func composite(_ property: PropertyPlan, _ comparison: FetchPredicate.Comparison, _ entity: EntityPlan)
    -> RowTest?
  {
    guard case .constant(.null) = comparison.right,
      comparison.comparator == .equal || comparison.comparator == .notEqual
    else { return nil }
    var tests: [RowTest] = []
    for part in property.parts where entity.properties[part].kind != .composite {
      guard entity.properties[part].slot >= 0 else { return nil }
      tests.append(.null(slot: entity.properties[part].slot, true))
    }
    return comparison.comparator == .equal ? .and(tests) : .not(.and(tests))
  }

  private func count(_ property: PropertyPlan, _ comparison: FetchPredicate.Comparison) -> RowTest? {
    guard case .constant(.integer(let number)) = comparison.right,
      let (low, high, isOutside) = Self.bounds(comparison.comparator, number)
    else { return nil }
    return .count(slot: property.slot, low: low, high: high, isOutside: isOutside)
  }

  private static func bounds(_ comparator: FetchPredicate.Comparator, _ number: Int64) -> (Int64, Int64, Bool)? {
    switch comparator {
    case .equal: (number, number, false)
    case .notEqual: (number, number, true)
    case .less: number == .min ? (1, 0, false) : (.min, number - 1, false)
    case .lessOrEqual: (.min, number, false)
    case .greater: number == .max ? (1, 0, false) : (number + 1, .max, false)
    case .greaterOrEqual: (number, .max, false)
    default: nil
    }
  }

  // MARK: Objects

  /// `SELF == x`, `SELF IN {x, y}`.
  private func identity(_ comparison: FetchPredicate.Comparison, _ entity: EntityPlan) -> RowTest? {
    guard let (ids, isOther) = comparison.objects(comparedWithThoseOf: entity.entity),
      let objects = NamedObjects(ids, version, store: store)
    else {
      return nil
    }
    return .itself(objects, isOther: isOther)
  }

  /// `department == x`, `department IN {x, y}`, and of a to-many, `ANY tasks == x`.
  private func destination(_ property: PropertyPlan, _ comparison: FetchPredicate.Comparison) -> RowTest? {
    guard let ids = comparison.objectIDs, let objects = NamedObjects(ids, version, store: store) else { return nil }
    let isOther = comparison.comparator == .notEqual
    if property.isToMany {
      return comparison.modifier == .any && !isOther ? .destinations(slot: property.slot, objects, isOther: false) : nil
    }
    if ids.count == 1, let bits = objects.bits.first {
      return .destination(slot: property.slot, bits, isOther: isOther)
    }
    return .destinations(slot: property.slot, objects, isOther: isOther)
  }

  // MARK: Leaves

  private func leaf(_ property: PropertyPlan, _ comparison: FetchPredicate.Comparison) -> RowTest? {
    let slot = property.slot
    if case .constant(.null) = comparison.right {
      switch comparison.comparator {
      case .equal: return .null(slot: slot, true)
      case .notEqual: return .null(slot: slot, false)
      default: return nil
      }
    }
    switch property.kind {
    case .toOne: return destination(property, comparison)
    case .attribute(let type):
      if case .aggregate(let list) = comparison.right { return listTest(list, slot, type, comparison) }
      guard case .constant(let value) = comparison.right else { return nil }
      return scalar(value, slot, type, comparison)
    default: return nil
    }
  }

  private func scalar(
    _ value: StoredValue, _ slot: Int, _ type: AttributeType, _ comparison: FetchPredicate.Comparison
  ) -> RowTest? {
    let null = comparison.comparator == .notEqual
    let kind = type.valueKind
    let isExact = kind == .decimal
    let value = isExact || kind == .double || kind == .float ? value.number(as: isExact ? .decimal : .double) : value
    switch (kind, value) {
    case (.string, .string(let text)), (.uri, .string(let text)), (.uri, .uri(let text)), (.string, .uri(let text)):
      switch comparison.comparator {
      // IN with a string on the right tests for a substring: the reverse of CONTAINS.
      case .between, .isIn: return nil
      case .matches:
        guard (try? PatternCache.expression(text, comparison.options)) != nil else { return nil }
      default: break
      }
      return .text(slot: slot, TextTest(comparison.comparator, comparison.options, text), null: null)
    case (.integer, .integer(let number)):
      guard let (low, high, isOutside) = Self.bounds(comparison.comparator, number) else { return nil }
      return .integers(slot: slot, low: low, high: high, isOutside: isOutside, null: null)
    case (.double, .double(let number)), (.float, .double(let number)):
      return doubles(slot, comparison.comparator, number, null)
    case (.double, .integer(let number)), (.float, .integer(let number)):
      guard let exact = Double(exactly: number) else { return nil }
      return doubles(slot, comparison.comparator, exact, null)
    case (.decimal, .decimal(let number)): return decimals(slot, comparison.comparator, number, null)
    case (.uuid, .uuid(let uuid)): return self.uuid(uuid, slot, comparison.comparator)
    case (.uuid, .string(let text)):
      return UUID(uuidString: text).flatMap { self.uuid($0, slot, comparison.comparator) }
    case (.date, .date(let date)):
      return doubles(slot, comparison.comparator, date.timeIntervalSinceReferenceDate, null)
    case (.date, .string(let text)):
      guard let date = DateText.date(text) else { return nil }
      return doubles(slot, comparison.comparator, date.timeIntervalSinceReferenceDate, null)
    case (.boolean, .boolean(let flag)):
      switch comparison.comparator {
      case .equal: return .boolean(slot: slot, flag, null: false)
      case .notEqual: return .boolean(slot: slot, !flag, null: true)
      default: return nil
      }
    default: return nil
    }
  }

  private func uuid(_ uuid: UUID, _ slot: Int, _ comparator: FetchPredicate.Comparator) -> RowTest? {
    switch comparator {
    case .equal: .uuid(slot: slot, uuid, isOther: false, null: false)
    case .notEqual: .uuid(slot: slot, uuid, isOther: true, null: true)
    default: nil
    }
  }

  private func doubles(_ slot: Int, _ comparator: FetchPredicate.Comparator, _ number: Double, _ null: Bool) -> RowTest?
  {
    RowTest.Order(comparator).map { .doubles(slot: slot, $0, number, null: null) }
  }

  private func decimals(
    _ slot: Int, _ comparator: FetchPredicate.Comparator, _ number: DecimalNumber, _ null: Bool
  ) -> RowTest? {
    RowTest.Order(comparator).map { .decimals(slot: slot, $0, DecimalBound(number), null: null) }
  }

  private func listTest(
    _ list: [FetchExpression], _ slot: Int, _ type: AttributeType, _ comparison: FetchPredicate.Comparison
  ) -> RowTest? {
    var values: [StoredValue] = []
    for element in list {
      guard case .constant(let value) = element else { return nil }
      values.append(value)
    }
    switch comparison.comparator {
    case .between:
      guard values.count == 2,
        let low = scalar(values[0], slot, type, .init(comparison.left, .greaterOrEqual, list[0])),
        let high = scalar(values[1], slot, type, .init(comparison.left, .lessOrEqual, list[1]))
      else { return nil }
      return .and([low, high])
    case .isIn:
      let holdsNull = values.contains { $0.isNull }
      let some = values.filter { !$0.isNull }
      switch type.valueKind {
      case .string:
        let texts = some.compactMap { if case .string(let text) = $0 { text } else { nil } }
        guard texts.count == some.count else { return nil }
        return .text(slot: slot, TextTest(in: texts, comparison.options), null: holdsNull)
      case .integer:
        let numbers = some.compactMap { if case .integer(let number) = $0 { number } else { nil } }
        guard numbers.count == some.count else { return nil }
        return .integerSet(slot: slot, Set(numbers), null: holdsNull)
      default: return nil
      }
    default: return nil
    }
  }
}
