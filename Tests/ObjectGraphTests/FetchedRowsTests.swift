import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import TestSupport
import Testing

/// Rows that are read from columns, against rows that are computed from objects: an unsaved object of another entity
/// makes the difference.
@Suite("Rows of a fetch from columns") struct FetchedRowsTests {
  static let types: [(name: String, type: AttributeType)] = [
    ("anything", .undefined), ("small", .integer16), ("medium", .integer32), ("large", .integer64),
    ("price", .decimal), ("ratio", .double), ("share", .float), ("title", .string), ("done", .boolean),
    ("day", .date), ("blob", .binaryData), ("key", .uuid), ("link", .uri),
  ]

  static func model() throws -> ManagedObjectModel {
    var properties = types.map { PropertyDescription.attribute($0.name, $0.type) }
    properties += [
      .attribute("place", .composite("Place")), .attribute("passing", .string, isTransient: true),
      .toOne("next", "Thing"), .toMany("all", "Thing"), .toMany("list", "Thing", isOrdered: true),
      .toOne("owner", "Owner"),
    ]
    return try ManagedObjectModel(
      ModelDescription(
        entities: [
          EntityDescription(
            name: "Thing", properties: properties,
            subentities: [EntityDescription(name: "Special", properties: [.attribute("extra", .string)])]),
          EntityDescription(name: "Owner", properties: [.attribute("name", .string), .toOne("thing", "Thing")]),
          EntityDescription(name: "Other"),
        ],
        composites: [
          CompositeDescription(
            name: "Place", attributes: [AttributeDescription(name: "city", type: .string)])
        ]))
  }

  static func value(_ type: AttributeType, _ generator: inout SeededGenerator) -> StoredValue {
    func pick<Element>(_ list: [Element]) -> Element { list[Int.random(in: 0..<list.count, using: &generator)] }
    switch type {
    case .integer16, .integer32, .integer64: return .integer(pick([0, 1, -1, 300]))
    case .decimal:
      return .decimal(pick([DecimalNumber(mantissa: 150, exponent: -2), DecimalNumber(mantissa: 15, exponent: -1)]))
    case .double: return .double(pick([0, -0.0, .nan, 1.5, .infinity]))
    case .float: return .float(pick([0, -0.0, 1.5, .nan]))
    case .string: return .string(pick(["", "é", "e\u{301}", "a, \"b\"\nc", " plain"]))
    case .boolean: return .boolean(pick([true, false]))
    case .date: return .date(Date(timeIntervalSinceReferenceDate: pick([0, -0.0, 0.1, 1e9])))
    case .binaryData, .transformable: return .data(pick([Data(), Data([0]), Data([1, 2, 3])]))
    case .uuid: return .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, pick([16, 17]))))
    case .uri: return .uri(pick(["http://a.example", "http://b.example"]))
    default: return pick([.integer(1), .double(1), .string("1"), .boolean(true)])
    }
  }

  /// A store with random objects.
  static func stack(_ generator: inout SeededGenerator, _ type: String = Stack.standardType) throws -> Stack {
    let stack = try Stack(type, model: try model())
    var things: [ManagedObject] = []
    for number in 0..<30 {
      let thing = try stack.insert(number % 3 == 0 ? "Special" : "Thing", [:])
      for (name, type) in types where Int.random(in: 0..<4, using: &generator) > 0 {
        try thing.setValue(value(type, &generator).anyValue, forKey: name)
      }
      if number % 2 == 0 { try thing.setValue("city \(number % 3)", forKey: "place.city") }
      things.append(thing)
    }
    for (number, thing) in things.enumerated() {
      if number % 3 != 1 { try thing.setValue(things.randomElement(using: &generator), forKey: "next") }
      try thing.setValue(Set((0..<number % 4).map { things[$0 * 5] }), forKey: "all")
      try thing.setValue((0..<number % 3).map { things[20 - $0] }, forKey: "list")
      guard number % 4 > 0 else { continue }
      let owner = try stack.insert("Owner", ["name": "owner \(number % 5)", "thing": things[number / 2]])
      try thing.setValue(owner, forKey: "owner")
    }
    try stack.context.save()
    return stack
  }

  static let paths =
    types.map(\.name) + [
      "place.city", "next", "all", "list", "next.title", "next.price", "next.next.next.medium", "next.all", "owner",
      "owner.name", "owner.thing.day", "owner.thing.place.city",
    ]

  @Test("random requests give the same rows as objects do", arguments: 0..<12)
  func random(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed) + 1)
    let stack = try Self.stack(&generator).reopened()
    var requests: [FetchRequest<ManagedObject>] = []
    for _ in 0..<40 {
      var request = FetchRequest<ManagedObject>(
        entityName: ["Thing", "Special"].randomElement(using: &generator) ?? "Thing")
      let columns = Self.paths.shuffled(using: &generator).prefix(Int.random(in: 1..<5, using: &generator))
      request.propertiesToFetch = columns.map { FetchColumn(keyPath: $0) }
      if Bool.random(using: &generator) { request.propertiesToFetch.append(FetchColumn("self", .evaluatedObject)) }
      if Bool.random(using: &generator) {
        request.sortKeys = [SortKey("medium", isAscending: false), SortKey("title")]
      }
      if Bool.random(using: &generator) { request.predicate = try FetchPredicate(format: "small >= 0 OR done == YES") }
      request.includesSubentities = Int.random(in: 0..<4, using: &generator) > 0
      request.returnsDistinctResults = Bool.random(using: &generator)
      request.fetchLimit = [0, 0, 1, 7].randomElement(using: &generator) ?? 0
      request.fetchOffset = [0, 0, 3, 40].randomElement(using: &generator) ?? 0
      requests.append(request)
    }
    let found = try requests.map { try stack.context.fetchRows($0) }
    #expect(stack.context.registeredObjects.isEmpty, "no object was made")
    _ = try stack.insert("Other", [:])
    for (request, rows) in zip(requests, found) {
      let wanted = try stack.context.fetchRows(request)
      #expect(rows == wanted, "\(request.propertiesToFetch.map(\.name))")
      #expect(rows.map { $0.values.map(Self.bits) } == wanted.map { $0.values.map(Self.bits) })
    }
    #expect(!stack.context.registeredObjects.isEmpty)
  }

  @Test(
    "the cells of a row are its values", .enabled(if: Stack.isLoaded, "a database gives values, not columns"),
    arguments: 0..<4)
  func cells(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed) + 50)
    let stack = try Self.stack(&generator).reopened()
    var request = FetchRequest<ManagedObject>(entityName: "Thing")
    request.propertiesToFetch = Self.paths.map { FetchColumn(keyPath: $0) } + [FetchColumn("self", .evaluatedObject)]
    request.sortKeys = [SortKey("title")]
    guard case .columns(let rows) = try stack.context.fetchedRows(request) else {
      Issue.record("the rows are not read from columns")
      return
    }
    var kinds: Set<String> = []
    rows.forEachRow { row in
      #expect(row.cells.count == row.count)
      for index in 0..<row.count {
        if let value = Self.value(of: row.cells[index], row) {
          #expect(Self.bits(value) == Self.bits(row[index]), "\(Self.paths)[\(index)]")
          kinds.insert("\(row.cells[index])".prefix { $0 != "(" }.description)
        }
      }
    }
    #expect(
      kinds.isSuperset(of: ["null", "boolean", "integer", "double", "date", "text", "decimal", "object", "objects"]))
  }

  /// What a cell stands for; nil if the row must be asked.
  private static func value(of cell: RowCell, _ row: borrowing ColumnRows.Row) -> FetchedRow.Value? {
    func id(_ node: NodeHandle, _ identifier: UUID) -> FetchedRow.Value {
      let name = row.name(of: node)
      return .object(
        ManagedObjectID(
          storeIdentifier: identifier, entityName: String(decoding: name.entity, as: UTF8.self),
          reference: name.text.map { .string(String(decoding: $0, as: UTF8.self)) } ?? .integer(name.number)))
    }
    guard case .object(let own) = row[row.count - 1], let store = own.storeIdentifier else { return nil }
    switch cell {
    case .null: return .value(.null)
    case .boolean(let flag): return .value(.boolean(flag))
    case .integer(let number): return .value(.integer(number))
    case .double(let number): return .value(.double(number))
    case .date(let seconds): return .value(.date(Date(timeIntervalSinceReferenceDate: seconds)))
    case .text(let bytes):
      let text = String(decoding: bytes, as: UTF8.self)
      return text.hasPrefix("http:") ? .value(.uri(text)) : .value(.string(text))
    case .decimal(let bytes):
      return DecimalNumber(utf8: Span(_unsafeElements: bytes)).map { .value(.decimal($0)) }
    case .data(let bytes): return .value(.data(Data(bytes)))
    case .object(let node): return id(node, store)
    case .objects(let list): return .list(list.map { id($0, store) })
    case .other: return nil
    }
  }

  /// To the bit, where `==` takes two numbers or spellings for one.
  private static func bits(_ value: FetchedRow.Value) -> String {
    switch value {
    case .value(.double(let number)): "\(number.bitPattern)"
    case .value(.float(let number)): "\(number.bitPattern)"
    case .value(.decimal(let number)): number.description
    case .value(.date(let date)): "\(date.timeIntervalSinceReferenceDate.bitPattern)"
    default: "\(value)"
    }
  }

  @Test("unsaved changes are in the rows, also those of objects at the end of a relationship")
  func changes() throws {
    var generator = SeededGenerator(seed: 5)
    let stack = try Self.stack(&generator).reopened()
    var request = FetchRequest<ManagedObject>(
      entityName: "Thing", predicate: try FetchPredicate(format: "owner != nil"))
    request.propertiesToFetch = ["owner.name"]
    request.fetchLimit = 1
    let thing = try #require(try stack.context.fetch(request).first)
    let owner = try #require(thing["owner"] as? ManagedObject)
    try owner.setValue("renamed", forKey: "name")
    #expect(try stack.context.fetchRows(request).first?["owner.name"] as? String == "renamed")
  }

  @Test("without pending changes, rows, groups and totals are of what the stores hold")
  func storesAlone() throws {
    var generator = SeededGenerator(seed: 7)
    let stack = try Self.stack(&generator).reopened()
    var rows = FetchRequest<ManagedObject>(entityName: "Thing")
    rows.propertiesToFetch = ["medium", "all", "list", "owner.name"]
    var groups = FetchRequest<ManagedObject>(entityName: "Thing")
    groups.propertiesToGroupBy = ["small"]
    groups.propertiesToFetch = ["small", try FetchColumn(format: "sum:(large)")]
    var total = FetchRequest<ManagedObject>(entityName: "Thing")
    total.propertiesToFetch = [try FetchColumn(format: "sum:(large)")]
    var requests = [rows, groups, total]
    let before = try requests.map { try stack.context.fetchRows($0) }

    let things = try stack.context.fetch(FetchRequest<ManagedObject>(entityName: "Thing"))
    let new = try stack.insert("Thing", ["small": Int16(7), "large": Int64(1_000)])
    try things[0].setValue(Int32(99), forKey: "medium")
    try things[0].add(new, to: "all")
    stack.context.delete(things[1])
    #expect(zip(try requests.map { try stack.context.fetchRows($0) }, before).allSatisfy { $0 != $1 })
    for index in requests.indices { requests[index].includesPendingChanges = false }
    #expect(try requests.map { try stack.context.fetchRows($0) } == before)
  }

  @Test("a limit and an offset are applied before columns are computed")
  func limit() throws {
    var generator = SeededGenerator(seed: 6)
    let stack = try Self.stack(&generator).reopened()
    var request = FetchRequest<ManagedObject>(entityName: "Thing")
    request.propertiesToFetch = [try FetchColumn(format: "medium + 1")]
    request.fetchLimit = 2
    request.fetchOffset = 3
    #expect(try stack.context.fetchRows(request).count == 2)
    #expect(stack.context.registeredObjects.count <= 2)
  }

  @Test(
    "rows that are sorted by columns are in the order of objects that are sorted by the same keys", arguments: 0..<8)
  func sortedRows(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed) + 80)
    let stack = try Self.stack(&generator).reopened()
    for distinct in [false, true] {
      for (limit, offset) in [(0, 0), (7, 0), (5, 9), (3, 100)] {
        let names = ["medium", "title", "price", "ratio", "blob", "day"].shuffled(using: &generator)
        var request = FetchRequest<ManagedObject>(entityName: "Thing")
        request.propertiesToFetch = names.map { FetchColumn($0.uppercased(), .keyPath([$0])) }
        request.returnsDistinctResults = distinct
        request.fetchLimit = limit
        request.fetchOffset = offset
        let keys = names.prefix(3).map { SortKey($0, isAscending: Bool.random(using: &generator)) }
        var sortedObjects = request
        sortedObjects.sortKeys = keys
        var sortedRows = request
        sortedRows.rowSortKeys = keys.map { SortKey($0.keyPath.uppercased(), isAscending: $0.isAscending) }
        let wanted = try stack.context.fetchRows(sortedObjects)
        let found = try stack.context.fetchRows(sortedRows)
        #expect(found == wanted, "\(keys)")
        // Of equal rows, either may be the one that stays.
        guard !distinct else { continue }
        #expect(found.map { $0.values.map(Self.bits) } == wanted.map { $0.values.map(Self.bits) }, "\(keys)")
        #expect(wanted.isEmpty == (offset == 100))
      }
    }
  }

  @Test("distinct rows have one null, whether the value or the object that has it is missing")
  func distinctNulls() throws {
    let stack = try Stack(model: try Self.model())
    let empty = try stack.insert("Thing", [:])
    try empty.setValue(empty, forKey: "next")
    _ = try stack.insert("Thing", [:])
    try stack.context.save()
    let reopened = try stack.reopened()
    for (name, _) in Self.types {
      var request = FetchRequest<ManagedObject>(entityName: "Thing")
      request.propertiesToFetch = [FetchColumn("a", .keyPath(["next", name])), FetchColumn(keyPath: name)]
      request.returnsDistinctResults = true
      #expect(try reopened.context.fetchRows(request).count == 1, "\(name)")
    }
  }

  @Test("a date that is not-a-number comes before all others in minima and maxima")
  func datesThatAreNotANumber() throws {
    let stack = try Stack(model: try Self.model())
    for seconds in [1, Double.nan, 2] {
      _ = try stack.insert("Thing", ["day": Date(timeIntervalSinceReferenceDate: seconds)])
    }
    try stack.context.save()
    var request = FetchRequest<ManagedObject>(entityName: "Thing")
    request.propertiesToFetch = [try FetchColumn(format: "max:(day)"), try FetchColumn(format: "min:(day)")]
    let values = try #require(try stack.reopened().context.fetchRows(request).first?.values)
    #expect(values.first == .value(.date(Date(timeIntervalSinceReferenceDate: 2))))
    guard case .value(.date(let least)) = values[1] else {
      Issue.record("\(values)")
      return
    }
    #expect(least.timeIntervalSinceReferenceDate.isNaN)
  }

  @Test("rows cannot be sorted by what is not a column, or by objects and lists")
  func rowSortErrors() throws {
    var generator = SeededGenerator(seed: 9)
    let stack = try Self.stack(&generator).reopened()
    for (key, message) in [("smal", "not the name of a column"), ("all", "no order"), ("me", "no order")] {
      var request = FetchRequest<ManagedObject>(entityName: "Thing")
      request.propertiesToFetch = ["all", FetchColumn("me", .evaluatedObject)]
      request.rowSortKeys = [SortKey(key)]
      let error = graphError { _ = try stack.context.fetchRows(request) }
      #expect(
        error?.code == .invalidFetch && error?.description.contains(message) == true, "\(String(describing: error))")
    }
  }

  @Test("a path that is dangling is refused whether or not there is a row")
  func errors() throws {
    let stack = try Stack(model: try Self.model())
    var request = FetchRequest<ManagedObject>(entityName: "Thing")
    for path in ["nothing", "title.nothing", "next.nothing"] {
      request.propertiesToFetch = [FetchColumn(keyPath: path)]
      #expect(graphError { _ = try stack.context.fetchRows(request) }?.code == .invalidFetch)
    }
  }

  @Test("the condition of groups names columns as variables", arguments: Stack.types)
  func havingColumns(_ type: String) throws {
    let stack = try Stack(type)
    for (name, age) in [("a", 1), ("a", 2), ("b", 3), ("c", 4), ("c", 5)] {
      _ = try stack.insert("Person", ["name": name, "age": age])
    }
    try stack.context.save()
    for isPending in [false, true] {
      if isPending { _ = try stack.insert("Person", ["name": "b", "age": 6]) }
      var request = FetchRequest<ManagedObject>(entityName: "Person")
      request.propertiesToGroupBy = ["name"]
      request.propertiesToFetch = ["name", try FetchColumn(format: "count:(age)", as: "n")]
      request.havingPredicate = try FetchPredicate(format: "$n > 1 AND $name != 'a'")
      let names = try stack.context.fetchRows(request).compactMap { $0["name"] as? String }
      #expect(names.sorted() == (isPending ? ["b", "c"] : ["c"]))
    }
  }
}
