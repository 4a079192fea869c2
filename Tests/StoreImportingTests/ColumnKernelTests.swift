import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StoreMaintenance
import TestSupport
import Testing

/// What is counted and matched by the bytes of columns is what values one by one give.
@Suite("Statistics and keys of random columns") struct ColumnKernelTests {
  private static func table(_ random: inout SeededGenerator) throws -> NodeTable {
    let types: [(String, AttributeType)] = [
      ("text", .string), ("link", .uri), ("number", .integer64), ("small", .integer16), ("half", .float),
      ("double", .double), ("price", .decimal), ("flag", .boolean), ("day", .date), ("any", .undefined),
    ]
    let properties = types.map { PropertyDescription.attribute($0.0, $0.1) }
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Item", properties: properties,
          subentities: [EntityDescription(name: "Part", properties: [.attribute("more", .string)])])
      ]))
    var nodes = NodeTable(model: model)
    let texts = ["a", "a (2)", "a (2) (2)", "b", "", "é", "1", "1.5", "10", "x-coredata"]
    let doubles = [0.0, -0.0, .nan, 1, 1.5, .infinity, -3, 1e300, .leastNonzeroMagnitude]
    for (number, entity) in (0..<Int64(40)).map({ ($0, Int.random(in: 0..<2, using: &random)) }) {
      let node = try nodes.addCacheNode(entity: entity, reference: .integer(number))
      func pick<Value>(_ values: [Value]) -> Value { values[Int.random(in: values.indices, using: &random)] }
      for (name, type) in types where Int.random(in: 0..<6, using: &random) > 0 {
        let double = pick(doubles)
        let value: StoredValue =
          switch type {
          case .string: .string(pick(texts))
          case .uri: .uri(pick(texts))
          case .integer64: .integer(pick([.min, -1, 0, 1, .max]))
          case .integer16: .integer(pick([-1, 0, 7]))
          case .float: .float(Float(double))
          case .double: .double(double)
          case .decimal:
            .decimal(pick(["1.10", "1.1", "-0", "0", "NaN", "1e9", "-7.25"].compactMap { DecimalNumber($0) }))
          case .boolean: .boolean(.random(using: &random))
          case .date: .date(.init(timeIntervalSinceReferenceDate: double))
          default: pick([.integer(1), .string("1"), .double(1), .boolean(true)])
          }
        try nodes.setValue(value, forKey: name, of: node)
      }
    }
    return nodes
  }

  private static func isLess(_ one: StoredValue, _ other: StoredValue) -> Bool {
    switch (one, other) {
    case (.integer(let a), .integer(let b)): a < b
    case (.float(let a), .float(let b)): a < b
    case (.double(let a), .double(let b)): a < b
    case (.decimal(let a), .decimal(let b)): !a.isNaN && !b.isNaN && a.isLess(than: b)
    case (.date(let a), .date(let b)): a.timeIntervalSinceReferenceDate < b.timeIntervalSinceReferenceDate
    case (.string(let a), .string(let b)), (.uri(let a), .uri(let b)): a.utf8.lexicographicallyPrecedes(b.utf8)
    default: false
    }
  }

  @Test("statistics are those of the values", arguments: 1...60 as ClosedRange<UInt64>)
  func statistics(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let nodes = try Self.table(&random)
    for found in StoreStatistics(nodes).properties {
      let entity = try #require(nodes.model.entity(named: found.entityName))
      let values = nodes.handles(of: entity.index).compactMap { nodes.value(forKey: found.propertyName, of: $0) }
      let present = values.filter { !$0.isNull }
      #expect(found.valueCount == present.count && found.nullCount == values.count - present.count)
      #expect(found.distinctCount == Set(present).count, "\(found.propertyName)")
      let lengths = present.compactMap { value -> Int? in
        switch value {
        case .string(let text), .uri(let text): text.unicodeScalars.count
        default: nil
        }
      }
      #expect(found.longest == lengths.max())
      if let least = found.minimum, let greatest = found.maximum {
        #expect(!present.contains { Self.isLess($0, least) || Self.isLess(greatest, $0) }, "\(found.propertyName)")
        #expect(present.contains { $0.isIdentical(to: least) } && present.contains { $0.isIdentical(to: greatest) })
      } else if found.propertyName != "any" {
        #expect(!present.contains { one in present.contains { Self.isLess(one, $0) } }, "\(found.propertyName)")
      }
    }
  }

  @Test(
    "names of objects by their keys differ, and numbers distinguish equal ones in the order of references",
    arguments: 1...60 as ClosedRange<UInt64>)
  func keys(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let nodes = try Self.table(&random)
    for key in [["text"], ["number"], ["price"], ["text", "number"], ["link"]] {
      let keys = try ObjectKeys([(entity: "Item", keyPaths: key)], models: [nodes.model])
      let other = try Self.table(&random)
      // What the other graph has does not matter.
      let both = try KeyedNames(keys, nodes, other)
      let swapped = try KeyedNames(keys, other, nodes)
      var plain: [(entity: Entity, row: Int, name: String?)] = []
      for entity in nodes.model.entities {
        for (row, node) in nodes.handles(of: entity.index).enumerated() {
          let values = key.compactMap { nodes.value(forKey: $0, of: node) }.filter { !$0.isNull }
          var name: String?
          if values.count == key.count, key.count == 1 {
            switch values[0] {
            case .string(let text), .uri(let text): name = text
            case .integer(let number): name = "\(number)"
            case .decimal(let number): name = number.normalized.description
            default: break
            }
          }
          if values.count < key.count { name = "(no key) \(nodes.reference(of: node))" }
          plain.append((entity, row, name))
        }
      }
      #expect(both.one.keyless.reduce(0) { $0 + $1.count } == plain.count { $0.name?.hasPrefix("(no key)") ?? false })
      guard plain.allSatisfy({ $0.name != nil }) else { continue }
      let names = plain.compactMap(\.name)
      var used = Dictionary(names.map { ($0, 0) }) { one, _ in one }
      var repeated = 0
      for (place, object) in plain.enumerated() {
        var name = names[place]
        var number = (used[name] ?? 0) + 1
        if number > 1 {
          repeated += 1
          while used["\(name) (\(number))"] != nil { number += 1 }
          used["\(name) (\(number))"] = 1
          used[name] = number
          name += " (\(number))"
        } else {
          used[name] = 1
        }
        let node = NodeHandle(entity: object.entity.index, row: object.row)
        #expect(both.reference(of: node, in: .one) == .string(name), "\(key)")
        #expect(swapped.reference(of: node, in: .other) == .string(name), "\(key)")
      }
      #expect(both.one.repeated.reduce(0) { $0 + $1.count } == repeated)
    }
  }
}
