import AtomicStoreSPI
import Foundation
import TestSupport
import Testing

@testable import AtomicStoreKit

@Suite("Numbers, texts and bytes over columns") struct RowNumberTests {
  static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Item",
          properties: [
            .attribute("price", .decimal), .attribute("count", .integer64), .attribute("small", .integer16),
            .attribute("rate", .double), .attribute("part", .float), .attribute("flag", .boolean),
            .attribute("name", .string), .attribute("code", .uuid), .attribute("data", .binaryData),
            .attribute("link", .uri), .toOne("next", "Item", inverse: "previous"),
            .toMany("previous", "Item", inverse: "next"),
          ])
      ]))
  }

  static let decimals: [DecimalNumber] =
    [
      "0", "0.000", "1", "-1", "1.0", "1.50", "1.5", "NaN", "1e127", "1e126", "10e126", "-1e127", "1e-128", "-1e-128",
      "9.99", "10", "123456789012345", "123456789012345.6", "1234567890123456", "123456789012345678",
      "1234567890123456789", "123456789012345678901234567890123456789", "123456789012345678901234567890123456788",
      "340282366920938463463374607431768211455", "-340282366920938463463374607431768211455",
      "12345678901234567890123456789012345678.9", "0.00000000000000000000000000000000000001", "1E+2", "100",
      "1000000000000000000000000000000000000", "1000000000000000000000000000000000000.1", "-0.5", "-0.50", "-0.49",
      "000000000000000000000000000000001.5",
    ].compactMap { DecimalNumber($0) }

  static func randomDecimal(_ random: inout SeededGenerator) -> DecimalNumber {
    if Int.random(in: 0..<3, using: &random) == 0, let known = decimals.randomElement(using: &random) { return known }
    let mantissa =
      UInt128.random(in: 0...UInt128.max, using: &random) >> UInt128(Int.random(in: 0..<128, using: &random))
    return DecimalNumber(
      mantissa: mantissa, exponent: Int8.random(in: Bool.random(using: &random) ? -4...4 : -128...127, using: &random),
      isNegative: Bool.random(using: &random))
  }

  @Test("the numbers of two decimals are in the order of the decimals, also of those with 39 digits", arguments: 1...20)
  func keys(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<1000 {
      let one = Self.randomDecimal(&random)
      let other = Self.randomDecimal(&random)
      let first = (0...2).map { DecimalKey(one).number($0) }
      let second = (0...2).map { DecimalKey(other).number($0) }
      #expect(first.lexicographicallyPrecedes(second) == one.isLess(than: other), "\(one) \(other)")
      #expect((first == second) == (one == other), "\(one) \(other)")
      // What is read from text, in whatever way, is the same.
      var text = one.description
      let (start, all) = text.withUTF8 { bytes in
        (DecimalKey.first(bytes), DecimalKey(bytes).map { key in (0...2).map { key.number($0) } })
      }
      #expect(start == first[0] && all == first, "\(one)")
      // Where a number says that it does not continue, the rest says nothing.
      if first[0] == second[0], !DecimalKey.continues(first[0], 0), !one.isNaN { #expect(one == other) }
      let order = one.isNaN || other.isNaN ? nil : one.isLess(than: other) ? -1 : one == other ? 0 : 1
      #expect(text.withUTF8 { DecimalBound(other).order($0) } == order, "\(one) \(other)")
    }
  }

  @Test("a text that is not a decimal number has no key", arguments: ["", "-", ".", "1.2.3", "--1", "1x", "1e999"])
  func noKey(_ text: String) {
    var text = text
    #expect(text.withUTF8 { DecimalKey.first($0) } == nil)
    #expect(text.withUTF8 { DecimalKey($0) == nil })
  }

  /// Items with everything that is compared in an unusual way.
  func stack(_ seed: UInt64, count: Int) throws -> Stack {
    let stack = try Stack(model: try Self.model())
    var random = SeededGenerator(seed: seed)
    let names = [
      "", "a", "A", "ä", "a\u{308}", "Ä", "Item 9", "item 10", "Item 010", "ITEM 9", "straße", "STRASSE", "ﬁn", "İ",
      "ı",
      "a\0", "a\0b", "z", "éclair", "Eclair", "日本", "00", "0", "x007y", "𝕏", "abcdefg", "abcdefgh", "ABCDEFGhi",
    ]
    let doubles: [Double] = [
      0, -0.0, .nan, .infinity, -.infinity, 1.5, -2, .leastNonzeroMagnitude, 9_007_199_254_740_992,
    ]
    let integers: [Int64] = [0, 1, -1, .max, .min, 7, 1 << 53 + 1]
    var items: [ManagedObject] = []
    func put(_ object: ManagedObject, _ key: String, _ value: Any?) throws {
      if Int.random(in: 0..<6, using: &random) > 0 { try object.setValue(value, forKey: key) }
    }
    for _ in 0..<count {
      let item = try stack.insert("Item")
      try put(item, "price", Self.randomDecimal(&random))
      try put(item, "count", integers.randomElement(using: &random))
      try put(item, "small", Int64.random(in: -3...3, using: &random))
      try put(item, "rate", doubles.randomElement(using: &random))
      try put(item, "part", Float(doubles.randomElement(using: &random) ?? 0))
      try put(item, "flag", Bool.random(using: &random))
      try put(item, "name", names.randomElement(using: &random))
      let bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
      let shared = Bool.random(using: &random)
      try put(
        item, "code",
        UUID(
          uuid: (
            0, 0, shared ? 1 : bytes[2], 0, 0, 0, 0, bytes[7] & 1, 255, 0, 0, 0, 0, 0, bytes[14] & 1, bytes[15]
          )))
      try put(item, "data", Data(bytes.prefix(Int.random(in: 0...16, using: &random)).map { $0 & 0x81 }))
      try put(item, "link", "urn:" + (names.randomElement(using: &random) ?? ""))
      if let other = items.randomElement(using: &random) { try put(item, "next", other) }
      items.append(item)
    }
    try stack.context.save()
    return stack
  }

  static let sorts: [[SortKey]] = [
    [SortKey("price")], [SortKey("price", isAscending: false)], [SortKey("code")],
    [SortKey("code", isAscending: false)],
    [SortKey("data")], [SortKey("data", isAscending: false)], [SortKey("link", options: .caseInsensitive)],
    [SortKey("name", options: [.caseInsensitive])], [SortKey("name", options: [.diacriticInsensitive])],
    [SortKey("name", isAscending: false, options: [.caseInsensitive, .diacriticInsensitive])],
    [SortKey("name", options: [.caseInsensitive, .normalized])], [SortKey("name", textOrder: .localizedStandard)],
    [SortKey("name", isAscending: false, textOrder: .localizedStandard), SortKey("price")],
    [SortKey("next.price"), SortKey("next.name", options: .caseInsensitive)], [SortKey("next.next.name")],
    [SortKey("next.code", isAscending: false), SortKey("rate")], [SortKey("small"), SortKey("price"), SortKey("data")],
  ]

  @Test("rows are sorted by any type as objects are", arguments: [(1, 10), (2, 100), (3, 700)] as [(UInt64, Int)])
  func sorting(_ seed: UInt64, _ count: Int) throws {
    let stack = try stack(seed, count: count)
    let columns = try stack.reopened()
    for keys in Self.sorts {
      let request = FetchRequest<ManagedObject>(entityName: "Item", sortKeys: keys)
      var slow = request
      slow.filter = { _ in true }
      let right = try stack.context.fetch(slow).map(\.objectID)
      #expect(try columns.context.fetchObjectIDs(request) == right, "\(keys)")
      var page = request
      page.fetchOffset = 3
      page.fetchLimit = 20
      #expect(try columns.context.fetchObjectIDs(page) == Array(right.dropFirst(3).prefix(20)), "\(keys)")
      let isByColumn = !keys.contains { $0.keyPath == "next.next.name" }
      // A database sorts itself, or has the kit sort objects.
      if Stack.isLoaded {
        #expect(try columns.context.explain(request).method == (isByColumn ? .columns : .objects))
      }
    }
  }

  static let texts: [String] = {
    var texts: [String] = []
    for comparator in ["==", "!=", "<", ">", "<=", ">="] {
      for sides in [
        ("price", "1.5"), ("price", "100"), ("price", "count"), ("price", "rate"), ("5", "price"), ("price", "0"),
        ("count", "small"), ("count", "rate"), ("rate", "part"), ("count", "1.5"), ("small + 1", "2"),
        ("count + 1", "count"), ("count * small", "7"), ("count - small", "next.count"), ("price * 2", "3"),
        ("price + count", "price"), ("count / 2", "0.5"), ("count / 0", "1"), ("rate / small", "part"),
        ("modulus:by:(count, 2)", "1"), ("abs:(small)", "2"), ("floor:(rate)", "1"), ("sqrt:(small)", "1"),
        ("ceiling:(price)", "2"), ("trunc:(part)", "1"), ("name.length", "3"), ("length:(name)", "small"),
        ("next.name.length", "name.length"), ("length:(next.name)", "5"), ("next.next.price", "price"),
        ("flag", "small"), ("flag + 1", "2"), ("price", "nil"), ("small + next.small", "nil"), ("-small", "1"),
      ] { texts.append("\(sides.0) \(comparator) \(sides.1)") }
    }
    texts += [
      "price BETWEEN {0, 2}", "price IN {1.5, 100, nil}", "small + 1 BETWEEN {0, 2}", "name.length IN {1, 7}",
      "small * 2 IN {2, nil}", "NOT (price > 1 OR small + 1 > 2)", "ANY previous.price > 1",
      "price > 1 AND name.length > 2 AND next.count - 1 < 7",
    ]
    return texts
  }()

  @Test(
    "texts are found in URIs and UUIDs as in texts, over columns and on objects", arguments: [1, 2, 3] as [UInt64])
  func links(_ seed: UInt64) throws {
    let stack = try stack(seed, count: 150)
    let columns = try stack.reopened()
    func count(_ text: String) throws -> Int {
      let predicate = try FetchPredicate(format: text)
      let slow = FetchRequest<ManagedObject>(entityName: "Item") { try PredicateEvaluator($0).evaluate(predicate) }
      let right = try stack.context.fetch(slow).map(\.objectID)
      let request = FetchRequest<ManagedObject>(entityName: "Item", predicate: predicate)
      #expect(try columns.context.fetchObjectIDs(request) == right, "\(text)")
      return right.count
    }
    for key in ["link", "code"] {
      for option in ["", "[c]", "[d]", "[cd]"] {
        for part in ["urn:a", "UrN:", "00", "0-F", "0-f", "E", "1"] {
          let found = try count("\(key) CONTAINS\(option) '\(part)'")
          #expect(try count("'\(part)' IN\(option) \(key)") == found)
          #expect(try count("NOT \(key) CONTAINS\(option) '\(part)'") == 150 - found)
          #expect(
            try count("ANY previous.\(key) CONTAINS\(option) '\(part)'")
              == count("SUBQUERY(previous, $x, $x.\(key) CONTAINS\(option) '\(part)').@count > 0"))
        }
      }
    }
    #expect(try count("link CONTAINS 'urn:'") == count("link != nil"))
    #expect(try count("code CONTAINS 'ff00'") == 0 && count("code CONTAINS[c] 'ff00'") == count("code != nil"))
    #expect(try count("link IN 'see urn:item 10 and urn:z'") > 0)
  }

  @Test("numbers are calculated and compared over columns as on objects", arguments: [1, 2, 3] as [UInt64])
  func comparing(_ seed: UInt64) throws {
    let stack = try stack(seed, count: 150)
    let columns = try stack.reopened()
    for text in Self.texts {
      let predicate = try FetchPredicate(format: text)
      let request = FetchRequest<ManagedObject>(entityName: "Item", predicate: predicate)
      let slow = FetchRequest<ManagedObject>(entityName: "Item") { try PredicateEvaluator($0).evaluate(predicate) }
      let right = try stack.context.fetch(slow).map(\.objectID)
      #expect(try columns.context.fetchObjectIDs(request) == right, "\(text)")
      #expect(try columns.context.count(for: request) == right.count, "\(text)")
    }
  }

  @Test("these comparisons of numbers are compiled, and those that can fail are not")
  func compiled() throws {
    let stack = try stack(1, count: 5)
    let plan = ModelPlan.plan(of: stack.store.model)
    let compiler = RowTestCompiler(plan: plan, version: stack.store.version, store: stack.store.identifier)
    let item = plan.entities[0]
    for text in Self.texts { #expect(compiler.compile(try FetchPredicate(format: text), item) != nil, "\(text)") }
    for text in [
      "modulus:by:(count, small) == 0", "modulus:by:(count, 0) == 0", "name + 1 == 2", "data == 1", "previous + 1 == 2",
      "count.length > 1", "link.length > 3", "unknown + 1 == 2", "now() > count",
    ] { #expect(compiler.compile(try FetchPredicate(format: text), item) == nil, "\(text)") }
  }

  @Test("unsaved changes count as on objects")
  func changes() throws {
    let stack = try stack(4, count: 60)
    let items = try stack.context.fetch(FetchRequest<ManagedObject>(entityName: "Item"))
    var random = SeededGenerator(seed: 9)
    for item in items.prefix(20) {
      try item.setValue(Self.randomDecimal(&random), forKey: "price")
      try item.setValue(Int64.random(in: -3...3, using: &random), forKey: "small")
    }
    try items[21].setValue(nil, forKey: "price")
    _ = try stack.insert("Item", ["price": DecimalNumber(7), "name": "new"])
    for text in ["price > 1", "price != 1.5", "small + 1 > 1", "name.length == 3", "price == small"] {
      let predicate = try FetchPredicate(format: text)
      let request = FetchRequest<ManagedObject>(entityName: "Item", predicate: predicate)
      let slow = FetchRequest<ManagedObject>(entityName: "Item") { try PredicateEvaluator($0).evaluate(predicate) }
      #expect(try Set(stack.context.fetch(request)) == Set(stack.context.fetch(slow)), "\(text)")
    }
  }
}
