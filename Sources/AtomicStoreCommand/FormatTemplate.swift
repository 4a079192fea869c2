// Written by Scripts/update-format-template from SampleStores/JSONLines: change the sample, then run the script.

/// The package that new-format writes, under its own name.
enum FormatTemplate {
  static let files: [(path: String, text: String)] = [
    (
      ".ci/run",
      ###"""
        #!/bin/sh
        set -e
        cd "$(dirname "$0")/.."
        swift test
        swift build -c release
        """###
    ),
    (
      ".gitignore",
      ###"""
        .build/
        .build-*/
        Package.resolved
        """###
    ),
    (
      "Package.swift",
      ###"""
        // swift-tools-version: 6.2
        import PackageDescription

        // Everything links the kit's one dynamic library, so that there is one copy of it, whoever loads the format.
        let kit = Target.Dependency.product(name: "AtomicStoreKitDynamic", package: "atomic-store-kit")

        let package = Package(
          name: "JSONLines",
          products: [
            // For programs that have the format compiled in.
            .library(name: "JSONLinesFormat", targets: ["JSONLinesStore"]),
            // For the stock command: atomicstore … --plugin libJSONLinesStore.so
            .library(name: "JSONLinesStore", type: .dynamic, targets: ["JSONLinesPlugin"]),
            .executable(name: "jsonlines", targets: ["jsonlines"]),
          ],
          dependencies: [.package(name: "atomic-store-kit", path: "../..")],
          targets: [
            .target(name: "JSONLinesStore", dependencies: [kit]),
            .target(name: "CJSONLinesInfo", dependencies: [kit]),
            .target(name: "JSONLinesPlugin", dependencies: ["JSONLinesStore", "CJSONLinesInfo", kit]),
            .executableTarget(name: "jsonlines", dependencies: ["JSONLinesStore", kit]),
            .testTarget(name: "JSONLinesStoreTests", dependencies: ["JSONLinesStore", kit]),
          ]
        )
        """###
    ),
    (
      "README.md",
      ###"""
        # JSONLines

        A store format for AtomicStoreKit, made as an outsider would make it: lines of JSON, one object each.

        ```sh
        swift test                                        # every check of the conformance harness
        swift build -c release
        .build/release/jsonlines formats                  # the whole command, with this format compiled in
        atomicstore convert Company.xml c.jsonl --to JSONLines --plugin .build/release/libJSONLinesStore.so
        ```

        | Trait | |
        |---|---|
        | layout | one file |
        | references | integers and texts |
        | order of to-many relationships | kept |
        | nil apart from empty | yes |
        | not-a-number, infinities, -0.0 | kept to the bit |
        | metadata, its own model | kept |
        | attribute types | all |

        `Sources/JSONLinesStore` is the format, `Sources/JSONLinesPlugin` and `Sources/CJSONLinesInfo` make it a plug-in, `Sources/jsonlines`
        a command. Change `JSONLinesStore.swift` piece by piece, and run `swift test` after each.
        """###
    ),
    (
      "Sources/CJSONLinesInfo/include/CJSONLinesInfo.h",
      ###"""
        // The plug-in's description is data alone: nothing is declared here.
        """###
    ),
    (
      "Sources/CJSONLinesInfo/info.c",
      ###"""
        #include "CStorePlugin.h"

        // What the plug-in says of itself before any of its code runs.
        ATOMICSTORE_PLUGIN("JSONLines")
        """###
    ),
    (
      "Sources/JSONLinesPlugin/Plugin.swift",
      ###"""
        import AtomicStoreSPI
        import JSONLinesStore

        /// Called once, by the program that loads the plug-in.
        @_cdecl("atomicstore_plugin_register_v1")
        public func registerFormats(_ sink: UnsafeMutableRawPointer) {
          StorePluginSink.add(JSONLinesStore.self, to: sink)
        }
        """###
    ),
    (
      "Sources/JSONLinesStore/Header.swift",
      ###"""
        import AtomicStoreSPI
        import FoundationEssentials

        /// The first line.
        struct Header {
          let metadata: StoreMetadata
          /// How many lines follow.
          let count: Int

          init(_ line: JSONValue, _ place: StoreLocation) throws(PersistentStoreError) {
            let fields = try Fields(line, ["store", "version", "uuid", "last", "objects", "model", "metadata"], place)
            guard try fields.string("store") == JSONLinesStore.storeType else {
              throw PersistentStoreError(.storeTypeMismatch, "the first line tells of another store", at: place)
            }
            let version = try fields.integer("version")
            guard version == 1 else {
              throw PersistentStoreError(.unsupportedVersion, "it was made by a newer version: \(version), and 1 is read here", at: place)
            }
            guard let uuid = UUID(uuidString: try fields.string("uuid")) else {
              throw PersistentStoreError(.malformed, "'uuid' is no UUID", at: place)
            }
            guard let count = Int(exactly: try fields.integer("objects")), count >= 0 else {
              throw PersistentStoreError(.malformed, "'objects' is a count", at: place)
            }
            self.count = count
            var metadata = StoreMetadata(storeType: JSONLinesStore.storeType, uuid: uuid, lastReference: try fields.integer("last"))
            if let model = fields.optional("model") {
              metadata.model = try ModelDescription(propertyList: try PropertyListValue(json: model, place))
            }
            guard case .dictionary(let entries) = try PropertyListValue(json: try fields.value("metadata"), place) else {
              throw PersistentStoreError(.malformed, "'metadata' is an object", at: place)
            }
            metadata.entries = entries
            self.metadata = metadata
          }
        }

        /// The members of an object that has these and no others.
        struct Fields {
          private let members: [(key: String, value: JSONValue)]
          private let place: StoreLocation

          init(_ value: JSONValue, _ known: [String], _ place: StoreLocation) throws(PersistentStoreError) {
            guard case .object(let members) = value else { throw PersistentStoreError(.malformed, "a line is an object", at: place) }
            for (key, _) in members where !known.contains(key) {
              throw PersistentStoreError(.malformed, "'\(key)' has no meaning here", at: place)
            }
            self.members = members
            self.place = place
          }

          func optional(_ key: String) -> JSONValue? { members.first { $0.key == key }?.value }
          func value(_ key: String) throws(PersistentStoreError) -> JSONValue {
            guard let value = optional(key) else { throw PersistentStoreError(.malformed, "'\(key)' is missing", at: place) }
            return value
          }
          func string(_ key: String) throws(PersistentStoreError) -> String {
            guard case .string(let text) = try value(key) else { throw PersistentStoreError(.malformed, "'\(key)' is a text", at: place) }
            return text
          }
          func integer(_ key: String) throws(PersistentStoreError) -> Int64 {
            guard case .integer(let number) = try value(key) else {
              throw PersistentStoreError(.malformed, "'\(key)' is a whole number", at: place)
            }
            return number
          }
        }

        /// Metadata and models are property lists. What JSON has no word for is an object with one member whose name begins with `$`.
        extension PropertyListValue {
          init(json: JSONValue, _ place: StoreLocation) throws(PersistentStoreError) {
            switch json {
            case .string(let text): self = .string(text)
            case .integer(let number): self = .integer(Int128(number))
            case .boolean(let flag): self = .boolean(flag)
            case .array(let list):
              var values: [PropertyListValue] = []
              for element in list { values.append(try PropertyListValue(json: element, place)) }
              self = .array(values)
            case .object(let members):
              if members.count == 1, members[0].key.hasPrefix("$"), let value = try Self.special(members[0].key, members[0].value, place) {
                self = value
                return
              }
              var dictionary = PropertyListDictionary()
              for (key, value) in members {
                let name = key.hasPrefix("$$") ? String(key.dropFirst()) : key
                dictionary[name] = try PropertyListValue(json: value, place)
              }
              self = .dictionary(dictionary)
            }
          }

          private static func special(
            _ name: String, _ value: JSONValue, _ place: StoreLocation
          ) throws(PersistentStoreError) -> PropertyListValue? {
            if name.hasPrefix("$$") { return nil }
            guard case .string(let text) = value else { throw PersistentStoreError(.malformed, "'\(name)' holds a text", at: place) }
            switch (name, StoredValue(typedText: text)) {
            case ("$value", .double(let number)?): return .real(number)
            case ("$value", .date(let date)?): return .date(date)
            case ("$value", .data(let data)?): return .data(data)
            default: break
            }
            if name == "$integer", let number = Int128(text) { return .integer(number) }
            if name == "$uid", let number = UInt64(text) { return .uid(number) }
            throw PersistentStoreError(.malformed, "'\(name)' of '\(text.prefix(40))' has no meaning", at: place)
          }
        }
        """###
    ),
    (
      "Sources/JSONLinesStore/JSONLinesStore.swift",
      ###"""
        import AtomicStoreSPI
        import FoundationEssentials

        /// A store as lines of JSON: a line that describes the store, then a line for each object.
        ///
        /// ```
        /// {"store":"JSONLines","version":1,"uuid":"…","last":3,"objects":3,"model":{…},"metadata":{…}}
        /// {"entity":"Person","id":1,"values":{"name":"Ada","born":"date:-2714860800.0","team":2}}
        /// ```
        ///
        /// Texts, whole numbers and truth values are JSON's own; other values are texts that say what they are (`double:0.1`,
        /// `data:AAEC`), so that every bit comes back. Relationships are the destinations' ids.
        public struct JSONLinesStore: AtomicStore {
          public static let storeType = "JSONLines"
          public static let traits = StoreTraits(
            summary: "Lines of JSON, one object each", fileExtensions: ["jsonl", "ndjson"])

          public static func recognize(_ probe: StoreProbe) -> Recognition {
            probe.begins(with: "{\"store\":\"JSONLines\"") ? .yes : .no
          }

          public init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {}

          // MARK: Reading

          public mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
            var lines = try LineReader(source)
            return try Header(try lines.next(), lines.place).metadata
          }

          public mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
            var lines = try LineReader(source)
            let header = try Header(try lines.next(), lines.place)
            var count = 0
            while !lines.isAtEnd {
              try load(try lines.next(), lines.place, into: nodes)
              count += 1
            }
            // A file that was cut at the end of a line has every line whole and is not whole itself.
            guard count == header.count else {
              throw PersistentStoreError(.malformed, "the first line tells of \(header.count) objects, and \(count) follow", at: lines.place)
            }
          }

          private func load(
            _ line: JSONValue, _ place: StoreLocation, into nodes: NodeTableBuilder
          ) throws(PersistentStoreError) {
            let fields = try Fields(line, ["entity", "id", "values"], place)
            let name = try fields.string("entity")
            guard let entity = nodes.model.entity(named: name) else {
              throw PersistentStoreError(.modelMismatch, "the model has no entity '\(name)'", at: place)
            }
            try nodes.beginNode(entity: entity.index, reference: try Self.reference(try fields.value("id"), place), line: place.line ?? 0)
            guard case .object(let values) = try fields.value("values") else {
              throw PersistentStoreError(.malformed, "'values' is an object", at: place)
            }
            for (key, value) in values {
              guard let slot = entity.slot(named: key) else {
                throw PersistentStoreError(.modelMismatch, "\(name) has no property '\(key)'", at: nodes.location())
              }
              switch nodes.model.entity(at: entity.index).slots[slot].kind {
              case .attribute(let type): try nodes.set(try Self.stored(value, type, nodes.location(slot)), slot: slot)
              case .toOne: try nodes.set(toOne: try Self.reference(value, nodes.location(slot)), slot: slot)
              case .toMany:
                guard case .array(let list) = value else {
                  throw PersistentStoreError(.malformed, "a relationship to many is a list of ids", at: nodes.location(slot))
                }
                for element in list { try nodes.append(toMany: try Self.reference(element, nodes.location(slot)), slot: slot) }
              }
            }
          }

          private static func reference(_ value: JSONValue, _ place: StoreLocation) throws(PersistentStoreError) -> ReferenceObject {
            switch value {
            case .integer(let number): return .integer(number)
            case .string(let text): return .string(text)
            default: throw PersistentStoreError(.malformed, "an id is a whole number or a text", at: place)
            }
          }

          private static func stored(
            _ value: JSONValue, _ type: AttributeType, _ place: StoreLocation
          ) throws(PersistentStoreError) -> StoredValue {
            let stored: StoredValue?
            switch (type, value) {
            case (.string, .string(let text)): stored = .string(text)
            case (.integer16, .integer(let number)), (.integer32, .integer(let number)), (.integer64, .integer(let number)):
              stored = .integer(number)
            case (.boolean, .boolean(let flag)): stored = .boolean(flag)
            case (_, .string(let text)) where type != .string: stored = StoredValue(typedText: text)
            default: stored = nil
            }
            guard let stored, !stored.isNull, type.accepts(stored) else {
              throw PersistentStoreError(.invalidValue, "the value is no \(type.modelName)", at: place)
            }
            return stored
          }

          // MARK: Writing

          public mutating func save(_ snapshot: StoreSnapshot, to staged: StagedStore) throws(PersistentStoreError) {
            let file = try staged.file()
            var text = LineWriter()
            let count = snapshot.nodes.model.entities.reduce(0) { $0 + snapshot.nodes.count(of: $1.index) }
            text.header(snapshot.metadata, count: count)
            for entity in snapshot.nodes.model.entities where !entity.isAbstract {
              let reader = snapshot.nodes.reader(of: entity.index)
              for row in 0..<reader.count {
                text.object(entity, reader, row, snapshot.nodes)
                if text.bytes.count > 1 << 18 {
                  try file.write(text.bytes)
                  text.bytes.removeAll(keepingCapacity: true)
                }
              }
            }
            try file.write(text.bytes)
          }
        }
        """###
    ),
    (
      "Sources/JSONLinesStore/JSONReader.swift",
      ###"""
        import AtomicStoreSPI

        /// JSON as these files have it: no numbers with fractions, no null.
        enum JSONValue {
          case string(String)
          case integer(Int64)
          case boolean(Bool)
          case array([JSONValue])
          case object([(key: String, value: JSONValue)])
        }

        /// Reads a store line by line. Strict: what JSON does not allow is an error with its line and column.
        struct LineReader {
          private let bytes: StoreBytes
          private let file: String
          private var offset = 0
          private var line = 0
          private var lineStart = 0

          /// Objects and lists in each other.
          static let maximumDepth = 200

          init(_ source: StoreSource) throws(PersistentStoreError) {
            bytes = try source.bytes()
            file = source.name
          }

          var isAtEnd: Bool { offset == bytes.count }
          /// The line that was read last.
          var place: StoreLocation { StoreLocation(file: file, line: max(line, 1)) }

          private func failure(_ message: String, at offset: Int? = nil) -> PersistentStoreError {
            PersistentStoreError(
              .malformed, message, at: StoreLocation(file: file, line: max(line, 1), column: (offset ?? self.offset) - lineStart + 1))
          }

          /// The next line's value.
          mutating func next() throws(PersistentStoreError) -> JSONValue {
            line += 1
            lineStart = offset
            guard !isAtEnd else { throw failure("a line is expected") }
            let value = try value(depth: 0)
            guard peek() == 0x0A else { throw failure(isAtEnd ? "the line is not ended" : "the line goes on after its value") }
            offset += 1
            return value
          }

          private func peek() -> UInt8? { offset < bytes.count ? bytes.span[offset] : nil }

          private mutating func take(_ byte: UInt8) -> Bool {
            guard peek() == byte else { return false }
            offset += 1
            return true
          }

          private mutating func expect(_ text: StaticString) throws(PersistentStoreError) {
            for index in 0..<text.utf8CodeUnitCount {
              guard take(text.utf8Start[index]) else { throw failure("'\(text)' is expected") }
            }
          }

          private mutating func value(depth: Int) throws(PersistentStoreError) -> JSONValue {
            guard depth < Self.maximumDepth else {
              throw PersistentStoreError(.limitExceeded, "more than \(Self.maximumDepth) levels in each other", at: failure("").location)
            }
            switch peek() {
            case 0x22: return .string(try string())
            case 0x74:
              try expect("true")
              return .boolean(true)
            case 0x66:
              try expect("false")
              return .boolean(false)
            case 0x5B:
              offset += 1
              var list: [JSONValue] = []
              if take(0x5D) { return .array(list) }
              repeat { list.append(try value(depth: depth + 1)) } while take(0x2C)
              guard take(0x5D) else { throw failure("',' or ']' is expected") }
              return .array(list)
            case 0x7B:
              offset += 1
              var members: [(key: String, value: JSONValue)] = []
              var known: Set<ScalarString> = []
              if take(0x7D) { return .object(members) }
              repeat {
                let start = offset
                let key = try string()
                guard known.insert(ScalarString(key)).inserted else { throw failure("'\(key)' stands here twice", at: start) }
                guard take(0x3A) else { throw failure("':' is expected") }
                members.append((key, try value(depth: depth + 1)))
              } while take(0x2C)
              guard take(0x7D) else { throw failure("',' or '}' is expected") }
              return .object(members)
            default: return .integer(try integer())
            }
          }

          private mutating func integer() throws(PersistentStoreError) -> Int64 {
            let start = offset
            var text = ""
            if take(0x2D) { text = "-" }
            while let byte = peek(), byte >= 0x30, byte <= 0x39 {
              text.unicodeScalars.append(Unicode.Scalar(byte))
              offset += 1
            }
            let digits = text.drop { $0 == "-" }
            guard let number = Int64(text), digits.count == 1 || !digits.hasPrefix("0"), text != "-0" else {
              throw failure("a value is expected: a text, a whole number of 64 bits, true, false, a list or an object", at: start)
            }
            return number
          }

          private mutating func string() throws(PersistentStoreError) -> String {
            let start = offset
            guard take(0x22) else { throw failure("a text is expected") }
            var text: [UInt8] = []
            while true {
              guard let byte = peek() else { throw failure("the text is not closed", at: start) }
              offset += 1
              switch byte {
              case 0x22:
                guard let string = String(validating: text, as: UTF8.self) else { throw failure("the text is no UTF-8", at: start) }
                return string
              case 0..<0x20: throw failure("a control character stands in a text", at: offset - 1)
              case 0x5C: try escape(into: &text)
              default: text.append(byte)
              }
            }
          }

          private mutating func escape(into text: inout [UInt8]) throws(PersistentStoreError) {
            let start = offset - 1
            guard let byte = peek() else { throw failure("the text is not closed", at: start) }
            offset += 1
            switch byte {
            case 0x22, 0x5C, 0x2F: text.append(byte)
            case 0x62: text.append(0x08)
            case 0x66: text.append(0x0C)
            case 0x6E: text.append(0x0A)
            case 0x72: text.append(0x0D)
            case 0x74: text.append(0x09)
            case 0x75:
              var value = try digits(start)
              // The upper half of a pair is followed by the lower one, or it is no character.
              if value >= 0xD800, value < 0xDC00, take(0x5C), take(0x75) {
                let low = try digits(start)
                guard low >= 0xDC00, low < 0xE000 else { throw failure("half a character", at: start) }
                value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
              }
              guard let scalar = Unicode.Scalar(value) else { throw failure("half a character", at: start) }
              text.append(contentsOf: Array(String(Character(scalar)).utf8))
            default: throw failure("an escape that JSON does not have", at: start)
            }
          }

          private mutating func digits(_ start: Int) throws(PersistentStoreError) -> UInt32 {
            var value: UInt32 = 0
            for _ in 0..<4 {
              guard let byte = peek(), let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw failure("four digits are expected", at: start)
              }
              value = value << 4 | UInt32(digit)
              offset += 1
            }
            return value
          }
        }
        """###
    ),
    (
      "Sources/JSONLinesStore/LineWriter.swift",
      ###"""
        import AtomicStoreSPI
        import FoundationEssentials

        /// Writes lines. Equal graphs make equal bytes: rows come in the order of their references, properties in the model's.
        struct LineWriter {
          var bytes: [UInt8] = []

          mutating func header(_ metadata: StoreMetadata, count: Int) {
            put("{\"store\":\"\(JSONLinesStore.storeType)\",\"version\":1,\"uuid\":\"\(metadata.uuid.uuidString)\",")
            put("\"last\":\(metadata.lastReference),\"objects\":\(count),")
            if let model = metadata.model {
              put("\"model\":")
              value(model.propertyList)
              put(",")
            }
            put("\"metadata\":")
            value(.dictionary(metadata.entries))
            put("}\n")
          }

          mutating func object(_ entity: Entity, _ reader: EntityReader, _ row: Int, _ nodes: NodeTable) {
            put("{\"entity\":")
            string(entity.name)
            put(",\"id\":")
            reference(reader.reference(row: row))
            put(",\"values\":{")
            var isFirst = true
            for slot in entity.slots where !reader.isNull(slot: slot.index, row: row) {
              // A set without members is what a set is when nothing is written.
              if case .toMany = slot.kind, reader.toMany(slot: slot.index, row: row).isEmpty { continue }
              if !isFirst { put(",") }
              isFirst = false
              string(slot.name)
              put(":")
              switch slot.kind {
              case .attribute(let type):
                switch type {
                case .string: string(reader.string(slot: slot.index, row: row))
                case .integer16, .integer32, .integer64: put("\(reader.integer(slot: slot.index, row: row))")
                case .boolean: put(reader.boolean(slot: slot.index, row: row) ? "true" : "false")
                default: string(reader.value(slot: slot.index, row: row).typedText)
                }
              case .toOne:
                if let node = reader.toOne(slot: slot.index, row: row) { reference(nodes.reference(of: node)) }
              case .toMany:
                put("[")
                let list = reader.toMany(slot: slot.index, row: row)
                for place in list.indices {
                  if place > 0 { put(",") }
                  reference(nodes.reference(of: list[place]))
                }
                put("]")
              }
            }
            put("}}\n")
          }

          private mutating func put(_ text: String) { bytes.append(contentsOf: text.utf8) }

          private mutating func reference(_ reference: ReferenceObject) {
            switch reference {
            case .integer(let number): put("\(number)")
            case .string(let text): string(text)
            }
          }

          private mutating func string(_ text: String) {
            bytes.append(0x22)
            for byte in text.utf8 {
              switch byte {
              case 0x22: put("\\\"")
              case 0x5C: put("\\\\")
              case 0x0A: put("\\n")
              case 0x0D: put("\\r")
              case 0x09: put("\\t")
              case 0..<0x20, 0x7F:
                let digits = String(byte, radix: 16)
                put("\\u" + String(repeating: "0", count: 4 - digits.count) + digits)
              default: bytes.append(byte)
              }
            }
            bytes.append(0x22)
          }

          private mutating func value(_ value: PropertyListValue) {
            switch value {
            case .string(let text): string(text)
            case .integer(let number):
              if let small = Int64(exactly: number) { put("\(small)") } else { put("{\"$integer\":\"\(number)\"}") }
            case .boolean(let flag): put(flag ? "true" : "false")
            case .real(let number): special(.double(number))
            case .date(let date): special(.date(date))
            case .data(let data): special(.data(data))
            case .uid(let number): put("{\"$uid\":\"\(number)\"}")
            case .array(let list):
              put("[")
              for (place, element) in list.enumerated() {
                if place > 0 { put(",") }
                self.value(element)
              }
              put("]")
            case .dictionary(let dictionary):
              put("{")
              let entries = dictionary.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
              for (place, entry) in entries.enumerated() {
                if place > 0 { put(",") }
                // A name that looks like one of ours gets another sign before it.
                string(entry.key.hasPrefix("$") ? "$" + entry.key : entry.key)
                put(":")
                self.value(entry.value)
              }
              put("}")
            }
          }

          private mutating func special(_ value: StoredValue) {
            put("{\"$value\":")
            string(value.typedText)
            put("}")
          }
        }
        """###
    ),
    (
      "Sources/jsonlines/main.swift",
      ###"""
        import AtomicStoreCommand
        import JSONLinesStore

        // The whole command, with this format beside the kit's.
        AtomicStoreTool.main(formats: [JSONLinesStore.self])
        """###
    ),
    (
      "Tests/JSONLinesStoreTests/ConformanceTests.swift",
      ###"""
        import AtomicStoreConformance
        import JSONLinesStore
        import Testing

        /// All that a format's tests need. It stays as it is when checks are added.
        @Test(arguments: Conformance.checks(for: JSONLinesStore.self))
        func conforms(_ check: ConformanceCheck) throws { try check.run() }
        """###
    ),
  ]
}
