import ArgumentParser
import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import StoreCodecs
import StoreCoordination
import StorePredicates

struct Dump: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dump",
    abstract: "Print a store as text that is suitable for diff: the same for every type of store.",
    discussion: """
        atomicstore dump Company.xml
        atomicstore dump Company.xml --json --entity Employee

      One line for each value, objects in order of entity and reference. To use it as git's textconv:

        git config diff.atomicstore.textconv 'atomicstore dump'
        echo '*.plist diff=atomicstore' >> .gitattributes
      """)
  @Argument(help: "The store; - for standard input.") var store: String
  @Option(help: "Print only the objects of this entity. May be repeated.", completion: Completions.entities) var entity:
    [String] = []
  @Option(help: "How decimals are written in JSON: number, with all digits, or string.")
  var decimals = Fetch.Decimals.number
  @Flag(help: "After binary data, show as JSON what it contains, where that is recognized.") var decode = false
  @OptionGroup(title: "Options for reading") var source: SourceOptions
  @OptionGroup(title: "Common options") var common: CommonOptions

  func run() throws {
    try guarded(common) {
      let (coordinator, opened) = try source.open(store, needs: { readNeeds($0) })
      defer { withExtendedLifetime(coordinator) {} }
      let nodes = try opened.nodesWithDeferredValues().canonical()
      for name in entity { _ = try nodes.model.entity(asked: name) }
      if common.json {
        try dumpJSON(nodes, opened.metadata)
      } else {
        try dumpText(nodes, opened.metadata)
      }
    }
  }

  /// With entities, their objects and what is printed of them.
  private func readNeeds(_ model: ManagedObjectModel) -> ReadNeeds {
    let entities = entity.compactMap { model.entity(named: $0) }
    guard entities.count == entity.count, var needed = entities.first.map({ NeededObjects(of: $0) }) else {
      return ReadNeeds()
    }
    for entity in entities {
      needed.add(entity)
      for slot in entity.slots where !needed.add([slot.name], from: entity) { return ReadNeeds() }
    }
    return ReadNeeds(objects: needed)
  }

  private func isWanted(_ name: String) -> Bool { entity.isEmpty || entity.contains(name) }

  private func dumpText(_ nodes: NodeTable, _ metadata: StoreMetadata) throws {
    try Diagnostics.stream { writer in
      writer.append("store \(metadata.uuid.uuidString)\n")
      for entry in metadata.entries {
        writer.append("metadata \(Self.name(entry.key)): \(GraphComparison.fullText(entry.value))\n")
      }
      for entity in nodes.model.entities where isWanted(entity.name) {
        let reader = nodes.reader(of: entity.index)
        let slots = entity.slots.sorted { ScalarString($0.name) < ScalarString($1.name) }
          .map { (index: $0.index, title: Array("  \(Self.name($0.name)): ".utf8)) }
        let title = Array("\n\(Self.name(entity.name))/".utf8)
        for row in 0..<reader.count {
          writer.append(title)
          Self.write(reader.reference(row: row), to: writer)
          writer.append(byte: UInt8(ascii: "\n"))
          for slot in slots {
            switch reader.value(slot: slot.index, row: row) {
            case .null: continue
            case .toMany(let list):
              for object in list {
                writer.append(slot.title)
                Self.write(.toOne(object), to: writer)
                writer.append(byte: UInt8(ascii: "\n"))
              }
            case let value:
              writer.append(slot.title)
              Self.write(value, to: writer)
              if decode, case .data(let data) = value { writer.append(" " + DecodedContent.text(of: data)) }
              writer.append(byte: UInt8(ascii: "\n"))
            }
          }
          try writer.flushIfNeeded()
        }
      }
    }
  }

  private static func write(_ reference: ReferenceObject, to writer: ByteWriter) {
    switch reference {
    case .integer(let number): writer.append(integer: number)
    case .string(let text): writer.append(name(text))
    }
  }

  /// A name or reference unchanged, or in quotes if it could be misread, for example as the next line.
  static func name(_ text: String) -> String {
    let isPlain = text.unicodeScalars.allSatisfy {
      $0 != "\"" && !TerminalText.isUnsafe($0) && $0 != "\n" && $0 != "\t"
    }
    return isPlain ? text : GraphComparison.quoted(text)
  }

  /// As `GraphComparison.fullText`, but frequent types without intermediate strings.
  private static func write(_ value: StoredValue, to writer: ByteWriter) {
    switch value {
    case .integer(let number): writer.append(integer: number)
    case .boolean(let flag): writer.append(flag ? "true" : "false")
    case .uuid(let uuid): writer.append(uuid: uuid)
    case .toOne(let object):
      writer.append(name(object.entityName))
      writer.append(byte: UInt8(ascii: "/"))
      write(object.reference, to: writer)
    case .string(var text):
      let isPlain = text.withUTF8 { bytes in
        bytes.allSatisfy {
          $0 >= UInt8(ascii: " ") && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
        }
      }
      guard isPlain else { return writer.append(GraphComparison.quoted(text)) }
      writer.append(byte: UInt8(ascii: "\""))
      writer.append(text)
      writer.append(byte: UInt8(ascii: "\""))
    case .data(let data):
      writer.append(byte: UInt8(ascii: "<"))
      for byte in data { writer.append(hexadecimal: UInt64(byte), digits: 2) }
      writer.append(byte: UInt8(ascii: ">"))
    default: writer.append(GraphComparison.fullText(value))
    }
  }

  private func dumpJSON(_ nodes: NodeTable, _ metadata: StoreMetadata) throws {
    try Diagnostics.stream { writer in
      // One object at a time, with the enclosing text written explicitly: as one value, all of them would need many
      // times the size of the store.
      let frame: [(String, JSONValue)] = [
        ("uuid", .string(metadata.uuid.uuidString)),
        ("metadata", .object(metadata.entries.map { ($0.key, $0.value.json) })),
      ]
      writer.append(byte: UInt8(ascii: "{"))
      for (index, member) in frame.enumerated() {
        JSONValue.begin(index, to: writer, indent: 0)
        JSONValue.quote(member.0, to: writer)
        writer.append(": ")
        member.1.write(to: writer, indent: 1)
      }
      JSONValue.begin(frame.count, to: writer, indent: 0)
      writer.append("\"objects\": [")
      var count = 0
      for entity in nodes.model.entities where isWanted(entity.name) {
        let reader = nodes.reader(of: entity.index)
        for row in 0..<reader.count {
          let object = JSONValue.object([
            ("entity", .string(entity.name)), ("reference", reader.reference(row: row).json),
            (
              "values",
              .object(
                entity.slots.map { slot in
                  let value = reader.value(slot: slot.index, row: row)
                  if decode, case .data(let data) = value { return (slot.name, DecodedContent.value(of: data).json) }
                  return (
                    slot.name,
                    value.json(isDeclared: slot.attributeType != .undefined, quotesDecimals: decimals == .string)
                  )
                })
            ),
          ])
          JSONValue.begin(count, to: writer, indent: 1)
          object.write(to: writer, indent: 2)
          count += 1
          try writer.flushIfNeeded()
        }
      }
      JSONValue.end(count == 0, to: writer, indent: 1)
      writer.append("]\n}\n")
    }
  }
}
