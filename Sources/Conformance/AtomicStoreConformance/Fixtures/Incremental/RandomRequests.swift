package import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// Requests for objects of ``ItemGraph``, made at random of everything that the language of predicates has, whether a
/// store understands it or not.
package struct RandomRequests {
  private var random: SeededRandom
  /// The objects that requests may name.
  private let objects: [ManagedObjectID]

  /// Creates a source; the same seed makes the same requests about the same objects.
  package init(seed: UInt64, objects: [ManagedObjectID] = []) {
    random = SeededRandom(seed)
    self.objects = objects
  }

  private mutating func pick<Element>(_ list: [Element]) -> Element { list[random.below(list.count)] }
  /// A small number, as the objects have them.
  private mutating func number() -> Int { random.below(7) - 3 }

  private mutating func literal(_ name: String) -> Any? {
    if random.below(8) == 0 { return nil }
    switch name {
    case "name", "extra", "owner.name", "owner.favourite.name", "alone.name", "waitsFor.name":
      return pick(ItemGraph.texts)
    case "weight", "ratio", "alone.weight":
      let number = pick(ItemGraph.doubles)
      return number.isFinite ? number : 2.5
    case "isNew": return random.below(2) == 0
    case "made": return Date(timeIntervalSinceReferenceDate: Double(number()) * 1000.5)
    case "code": return ItemGraph.code(random.below(4))
    case "price": return Decimal(number()) / 4
    default: return number()
    }
  }

  private mutating func comparison() throws -> FetchPredicate {
    switch random.below(13) {
    case 12 where !objects.isEmpty: return try identity()
    case 0:
      let sign = pick(["==", "!=", "<", ">="])
      return try FetchPredicate(
        format: "\(pick(["tags", "parts", "wholes"])).@count \(sign) %@", random.below(4))
    case 1:
      return try FetchPredicate(
        format: "\(pick(["ANY", "ALL", "NONE"])) tags.name \(pick(["==", "!=", "BEGINSWITH", "<"])) %@",
        pick(ItemGraph.texts))
    case 2:
      return try FetchPredicate(
        format: "\(pick(["ANY", "ALL"])) parts.small \(pick(["==", "!=", ">"])) %@", number())
    case 3:
      let operators = ["BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE", "CONTAINS[c]", "==[cd]"]
      return try FetchPredicate(
        format: "\(pick(["name", "owner.name"])) \(pick(operators)) %@", pick(ItemGraph.texts))
    case 4:
      return try FetchPredicate(
        format: "\(pick(["owner", "waitsFor", "alone", "owner.favourite"])) \(pick(["==", "!="])) nil")
    case 5: return try FetchPredicate(format: "small IN {-1, 0, 2\(pick(["", ", nil"]))}")
    case 6: return try FetchPredicate(format: "name IN %@", [pick(ItemGraph.texts), pick(ItemGraph.texts)])
    case 7: return try FetchPredicate(format: "\(pick(["small", "weight", "big"])) BETWEEN {-1, 2}")
    case 8: return try FetchPredicate(format: "small + 1 > big")
    default:
      let name = pick([
        "name", "small", "big", "price", "weight", "ratio", "isNew", "made", "code", "owner.name", "owner.rank",
        "owner.favourite.name", "alone.name", "alone.weight", "waitsFor.name",
      ])
      let argument = literal(name)
      let isOrdered = argument != nil && !["isNew", "code"].contains(name)
      let sign = pick(isOrdered ? ["==", "!=", "<", "<=", ">", ">="] : ["==", "!="])
      guard let argument else { return try FetchPredicate(format: "\(name) \(sign) nil") }
      return try FetchPredicate(format: "\(name) \(sign) %@", argument)
    }
  }

  /// A condition about objects: the evaluated one, or those that it refers to.
  private mutating func identity() throws -> FetchPredicate {
    let key = pick(["SELF", "SELF", "objectID", "owner", "waitsFor", "alone", "owner.favourite"])
    let named = (0...random.below(4)).map { _ in pick(objects) }
    switch random.below(5) {
    case 0: return try FetchPredicate(format: "\(key) != %@", named[0])
    case 1: return try FetchPredicate(format: "\(key) IN %@", named)
    case 2: return try FetchPredicate(format: "ANY \(pick(["tags", "parts", "wholes"])) == %@", named[0])
    default: return try FetchPredicate(format: "\(key) == %@", named[0])
    }
  }

  private mutating func predicate(depth: Int = 0) throws -> FetchPredicate {
    switch random.below(depth < 3 ? 8 : 4) {
    case 4: return .and([try predicate(depth: depth + 1), try predicate(depth: depth + 1)])
    case 5: return .or([try predicate(depth: depth + 1), try predicate(depth: depth + 1)])
    case 6: return .not(try predicate(depth: depth + 1))
    default: return try comparison()
    }
  }

  private mutating func sortKeys() -> [SortKey] {
    let paths = ["name", "small", "big", "weight", "ratio", "isNew", "made", "owner.name", "price", "tags.@count"]
    return (0..<random.below(3)).map { _ in SortKey(pick(paths), isAscending: random.below(2) == 0) }
  }

  /// The next request: predicate, sort keys, limit, offset, with or without sub-entities.
  package mutating func next() throws -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: pick(["Item", "Item", "Special"]))
    if random.below(10) > 0 { request.predicate = try predicate() }
    request.sortKeys = sortKeys()
    request.includesSubentities = random.below(5) > 0
    if random.below(2) == 0 { request.fetchLimit = 1 + random.below(7) }
    if random.below(3) == 0 { request.fetchOffset = 1 + random.below(5) }
    return request
  }

  private static let groupKeys = [
    "name", "small", "big", "isNew", "code", "owner", "owner.name", "owner.rank", "owner.favourite", "owner.link",
    "waitsFor", "alone.name", "fan.name", "weight", "price", "made", "owner.favourite.isNew",
  ]
  private static let computedKeys = [
    "hour:(made)", "startOf:(made, 'hour')", "round:(weight, 1)", "small / 2", "substring:(name, 0, 1)",
    "coalesce:(owner.name, name, 'none')", "TERNARY(small > 0, 'more', 'less')", "kind:(name)", "price * 2",
    "year:(made, 'Europe/Berlin')", "name + name",
  ]
  private static let groupColumns = [
    "@count", "sum:(small)", "sum:(big)", "average:(small)", "min:(name)", "max:(big)", "count:(owner)", "sum:(weight)",
    "min:(made)", "max:(weight)", "min:(ratio)", "sum:(price)", "max:(price)", "min:(isNew)", "sum:(isNew)",
    "count:(owner.name)", "max:(owner.rank)", "min:(owner.link)", "sum:(big) + @count", "@max.small", "@avg.big",
    "median:(small)", "count:(weight)", "average:(weight)", "count:(tags)", "sum:(owner.rank) * 2", "max:(code)",
    "average:(isNew)", "percentile:(weight, 0.25)", "sum:(small * 2)", "max:(length:(name))", "join:(name, '|')",
    "min:(hour:(made))", "first:(name)", "stddev:(big)",
  ]

  /// The next request for groups: keys, columns, predicate, condition of groups, sort keys, limit and offset.
  package mutating func nextGrouped() throws -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: pick(["Item", "Item", "Special"]))
    if random.below(2) == 0 { request.predicate = try predicate(depth: 2) }
    request.includesSubentities = random.below(5) > 0
    for _ in 0..<random.below(4) {
      let key = try FetchColumn(format: pick(random.below(6) == 0 ? Self.computedKeys : Self.groupKeys))
      if !request.propertiesToGroupBy.contains(key) { request.propertiesToGroupBy.append(key) }
    }
    request.propertiesToFetch = request.propertiesToGroupBy
    for _ in 0..<(1 + random.below(3)) {
      request.propertiesToFetch.append(try FetchColumn(format: pick(Self.groupColumns)))
    }
    if random.below(3) == 0 {
      request.havingPredicate = try FetchPredicate(
        format: pick(["@count > 1", "sum:(small) > 0", "max:(big) != nil AND @count < 5", "average:(small) <= 1"]))
    }
    if let key = request.propertiesToGroupBy.first, random.below(3) == 0 {
      let isPath = Self.groupKeys.contains(key.name)
      request.sortKeys = [
        SortKey(random.below(4) == 0 || !isPath ? "big" : key.name, isAscending: random.below(2) == 0)
      ]
    }
    if random.below(4) == 0 { request.fetchLimit = 1 + random.below(7) }
    if random.below(4) == 0 { request.fetchOffset = 1 + random.below(3) }
    return request
  }
}
