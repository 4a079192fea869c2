/// An input of two factors of which each takes few bytes: what is made of it may be their product.
package struct ProductShape: Sendable, CustomStringConvertible {
  /// What must come of it at its full size.
  package enum Outcome: Sendable, Equatable {
    /// Read, with so many objects.
    case opens(Int)
    /// Refused, with the error's code, and a place: what the place must name.
    case refused(String, Place)
  }
  package enum Place: Sendable { case line, offset, entity, property }

  package let name: String
  package let reader: HostileReader
  package let outcome: Outcome
  /// The factors at full size.
  private let full: (Int, Int)
  private let make: @Sendable (Int, Int) -> [UInt8]

  package var description: String { name }

  /// The input that exhausts resources where a limit is missing.
  package var bytes: [UInt8] { make(full.0, full.1) }
  /// The same shape in little: what changes begin with.
  var seed: [UInt8] { make(min(full.0, 5), min(full.1, 4)) }

  private init(
    _ name: String, _ reader: HostileReader, _ full: (Int, Int), _ outcome: Outcome,
    _ make: @escaping @Sendable (Int, Int) -> [UInt8]
  ) {
    self.name = name
    self.reader = reader
    self.full = full
    self.outcome = outcome
    self.make = make
  }

  /// The name of a file of this shape: that of a CSV file says what its entity is.
  package var fileName: String {
    switch reader {
    case .csvStore: "Row.csv"
    case .model: "contents"
    case .binaryPropertyList: "store.plist"
    default: "store.xml"
    }
  }

  package static let all: [ProductShape] = models + propertyLists + documents + tables

  // MARK: Model files

  private static func model(_ elements: [String]) -> [UInt8] {
    let head =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<model type=\"com.apple.IDECoreDataModeler.DataModel\" documentVersion=\"1.0\">\n"
    return Array((head + elements.joined(separator: "\n") + "\n</model>\n").utf8)
  }
  private static func attributes(_ count: Int) -> String {
    (0..<count).map { "<attribute name=\"a\($0)\" attributeType=\"String\"/>" }.joined()
  }

  private static let models = [
    ProductShape(
      "a model file of 600 attributes and 3,000 sub-entities", .model, (600, 3000), .refused("limitExceeded", .entity)
    ) {
      model(
        ["<entity name=\"R\">\(attributes($0))</entity>"]
          + (0..<$1).map { "<entity name=\"S\($0)\" parentEntity=\"R\"/>" })
    },
    ProductShape("a model file of 600 attributes and 800 sub-entities", .model, (600, 800), .opens(0)) {
      model(
        ["<entity name=\"R\">\(attributes($0))</entity>"]
          + (0..<$1).map { "<entity name=\"S\($0)\" parentEntity=\"R\"/>" })
    },
    ProductShape("a model file of 60,000 entities", .model, (60_000, 0), .opens(0)) { count, _ in
      model((0..<count).map { "<entity name=\"E\($0)\"/>" })
    },
    ProductShape(
      "a model file of 400 attributes of a composite of 1,000", .model, (400, 1000), .refused("limitExceeded", .entity)
    ) { count, parts in
      model([
        "<composite name=\"K\">\(attributes(parts))</composite>",
        "<entity name=\"E\">"
          + (0..<count).map { "<attribute name=\"c\($0)\" attributeType=\"Composite\" composite=\"K\"/>" }.joined()
          + "</entity>",
      ])
    },
    ProductShape("a model file of a million elements that no one knows", .model, (1_000_000, 0), .opens(0)) {
      count, _ in
      model([String(repeating: "<a/>", count: count)])
    },
  ]

  // MARK: Binary property lists

  private typealias List = SharingPropertyList.Value

  private static func list(
    _ entities: [List], metadata: List = .dictionary([:]), rows: [(key: String, value: List)] = []
  ) -> [UInt8] {
    SharingPropertyList.bytes(
      .dictionary([
        "format": .string("AtomicStore BinaryPropertyList"), "version": .integer(1),
        "UUID": .string("0F7D2C1A-6A31-4D0B-8E57-F21E2D1F0A11"), "lastReference": .integer(0), "metadata": metadata,
        "model": .dictionary(["formatVersion": .integer(1), "entities": .array(entities)]),
        "entities": .dictionary(rows),
      ]), first: "AtomicStore BinaryPropertyList")
  }
  private static func properties(_ count: Int, type: String = "Integer 64") -> List {
    .array((0..<count).map { .dictionary(["name": .string("a\($0)"), "type": .string(type)]) })
  }

  private static let propertyLists = [
    ProductShape(
      "a list of 600 attributes and 3,000 sub-entities", .binaryPropertyList, (600, 3000),
      .refused("limitExceeded", .entity)
    ) {
      list([
        .dictionary([
          "name": .string("R"), "properties": properties($0),
          "subentities": .array((0..<$1).map { .dictionary(["name": .string("S\($0)")]) }),
        ])
      ])
    },
    ProductShape(
      "a list of 160 attributes and 3,000 sub-entities with one more", .binaryPropertyList, (160, 3000), .opens(0)
    ) {
      list([
        .dictionary([
          "name": .string("R"), "properties": properties($0),
          "subentities": .array(
            (0..<$1).map {
              .dictionary([
                "name": .string("S\($0)"),
                "properties": .array([.dictionary(["name": .string("own\($0)"), "type": .string("String")])]),
              ])
            }),
        ])
      ])
    },
    ProductShape(
      "a list of 150 entities that share one list of 100 attributes", .binaryPropertyList, (150, 100), .opens(0)
    ) { count, attributes in
      let shared = properties(attributes)
      return list((0..<count).map { .dictionary(["name": .string("E\($0)"), "properties": shared]) })
    },
    ProductShape(
      "a list of 5,000 entities that share one list of 1,000 attributes", .binaryPropertyList, (5000, 1000),
      .refused("limitExceeded", .offset)
    ) { count, attributes in
      let shared = properties(attributes)
      return list((0..<count).map { .dictionary(["name": .string("E\($0)"), "properties": shared]) })
    },
    ProductShape(
      "a list of 300 columns that share their cells", .binaryPropertyList, (300, 100_000),
      .refused("limitExceeded", .property)
    ) {
      count, rows in
      let references = (0..<rows).flatMap { row in (0..<8).map { UInt8(truncatingIfNeeded: row >> (8 * $0)) } }
      let column = List.dictionary(["cells": .data([UInt8](repeating: 0, count: rows * 8))])
      return list(
        [.dictionary(["name": .string("E"), "properties": properties(count)])],
        rows: [
          (
            "E",
            .dictionary([
              "count": .integer(rows), "references": .data(references),
              "columns": .dictionary((0..<count).map { ("a\($0)", column) }),
            ])
          )
        ])
    },
    ProductShape(
      "metadata of a million values in 600 bytes", .binaryPropertyList, (100, 100), .refused("limitExceeded", .offset)
    ) { count, more in
      let shared = List.array(Array(repeating: .string("x"), count: count))
      let middle = List.array(Array(repeating: shared, count: more))
      return list([], metadata: .dictionary(["x": .array(Array(repeating: middle, count: more))]))
    },
  ]

  // MARK: Documents

  private static func document(_ objects: String) -> [UInt8] {
    Array((HostileReader.documentHead + objects + "\n</database>\n").utf8)
  }

  private static let documents = [
    ProductShape(
      "16,000 objects, each with another attribute", .xmlStore, (16_000, 0), .opens(16_000)
    ) { count, _ in
      document(
        (0..<count).map {
          "<object type=\"E\" id=\"z\($0 + 1)\"><attribute name=\"a\($0)\" type=\"int16\">1</attribute></object>\n"
        }.joined())
    },
    ProductShape("20,000 objects, each with one of 2,000 attributes", .xmlStore, (20_000, 2000), .opens(20_000)) {
      count, attributes in
      document(
        (0..<count).map {
          "<object type=\"E\" id=\"z\($0 + 1)\"><attribute name=\"a\($0 % attributes)\" type=\"int16\">1</attribute></object>\n"
        }
        .joined())
    },
    ProductShape("an object of 16,000 attributes and 1,000 of none", .xmlStore, (16_000, 1000), .opens(1001)) {
      attributes, count in
      document(
        "<object type=\"E\" id=\"z1\">"
          + (0..<attributes).map { "<attribute name=\"a\($0)\" type=\"int16\">1</attribute>" }.joined()
          + "</object>\n" + (0..<count).map { "<object type=\"E\" id=\"z\($0 + 2)\"></object>\n" }.joined())
    },
    ProductShape("2,000 entities of one object", .xmlStore, (2000, 0), .opens(2000)) { count, _ in
      document((0..<count).map { "<object type=\"E\($0)\" id=\"z\($0 + 1)\"></object>\n" }.joined())
    },
    ProductShape("100,000 numbers far from each other", .xmlStore, (100_000, 1024), .opens(100_000)) {
      count, distance in
      document((0..<count).map { "<object type=\"E\" id=\"z\($0 * distance + 1)\"></object>\n" }.joined())
    },
    ProductShape("a comment of 24 MB", .xmlStore, (24 << 20, 0), .opens(0)) { count, _ in
      document("<!--" + String(repeating: "x", count: count) + "-->")
    },
    ProductShape("an instruction of 24 MB", .xmlStore, (24 << 20, 0), .opens(0)) { count, _ in
      document("<?x " + String(repeating: "x", count: count) + "?>")
    },
    ProductShape("an attribute of 24 MB that no one knows", .xmlStore, (24 << 20, 0), .refused("malformed", .line)) {
      count, _ in
      document("<object type=\"E\" id=\"z1\" unknown=\"" + String(repeating: "x", count: count) + "\"></object>")
    },
    ProductShape("metadata of a million dictionaries", .xmlStore, (1_000_000, 0), .opens(0)) { count, _ in
      Array(
        (HostileReader.documentHead.replacing(
          "<string>text</string>", with: "<array>\(String(repeating: "<dict/>", count: count))</array>")
          + "</database>\n").utf8)
    },
  ]

  // MARK: Tables

  private static let tables = [
    ProductShape("a table of a million columns", .csvStore, (1_000_000, 0), .refused("limitExceeded", .line)) {
      count, _ in
      Array(
        ((0..<count).map { "c\($0)" }.joined(separator: ",") + "\n" + String(repeating: "1,", count: count - 1) + "1\n")
          .utf8)
    },
    ProductShape("a typed table of a million columns", .csvStore, (1_000_000, 0), .refused("limitExceeded", .line)) {
      count, _ in
      Array(
        ("id:Reference" + (0..<count).map { ",c\($0):Integer 16" }.joined() + "\n1"
          + String(repeating: ",1", count: count) + "\n").utf8)
    },
    ProductShape("a table of 30,000 columns", .csvStore, (30_000, 0), .opens(1)) { count, _ in
      Array(
        ((0..<count).map { "c\($0)" }.joined(separator: ",") + "\n" + String(repeating: "1,", count: count - 1) + "1\n")
          .utf8)
    },
    ProductShape(
      "a record of ten million fields below a header of two", .csvStore, (10_000_000, 0), .refused("malformed", .line)
    ) { count, _ in
      Array("a,b\n".utf8) + [UInt8](repeating: UInt8(ascii: ","), count: count) + [UInt8(ascii: "\n")]
    },
    ProductShape("a million records of one digit", .csvStore, (1_000_000, 0), .opens(1_000_000)) { count, _ in
      Array("a\n".utf8) + (0..<count).flatMap { _ in [UInt8(ascii: "1"), UInt8(ascii: "\n")] }
    },
  ]
}
