import ArgumentParser
import AtomicStoreKit
import Foundation

struct Dump: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print a store as text that diffs well: the same for every type of store.",
    discussion: """
      One line for each value, objects in order of entity and reference. As git's textconv:

        git config diff.atomicstore.textconv 'atomicstore dump'
        echo '*.plist diff=atomicstore' >> .gitattributes
      """)
  @Argument(help: "The store; - for standard input.") var store: String
  @Option(help: "Only the objects of this entity. May be repeated.") var entity: [String] = []
  @OptionGroup var source: SourceOptions
  @OptionGroup var common: CommonOptions

  func run() throws {
    try guarded(common) {
      let (coordinator, opened) = try source.open(store)
      defer { withExtendedLifetime(coordinator) {} }
      let nodes = try opened.nodes.canonical()
      for name in entity where nodes.model.entity(named: name) == nil {
        let names = nodes.model.entities.map(\.name).joined(separator: ", ")
        throw CommandFailure("there is no entity '\(name)'; there are \(names)", exitCode: 65, json: common.json)
      }
      if common.json {
        try dumpJSON(nodes, opened.metadata)
      } else {
        try dumpText(nodes, opened.metadata)
      }
    }
  }

  private func isWanted(_ name: String) -> Bool { entity.isEmpty || entity.contains(name) }

  private func dumpText(_ nodes: NodeTable, _ metadata: StoreMetadata) throws {
    var text = "store \(metadata.uuid.uuidString)\n"
    for entry in metadata.entries { text += "metadata \(entry.key): \(GraphComparison.summary(entry.value))\n" }
    for entity in nodes.model.entities where isWanted(entity.name) {
      let reader = nodes.reader(of: entity.index)
      for row in 0..<reader.count {
        text += "\n\(entity.name)/\(reader.reference(row: row))\n"
        for slot in entity.slots.sorted(by: { ScalarString($0.name) < ScalarString($1.name) }) {
          let value = reader.value(slot: slot.index, row: row)
          if case .toMany(let list) = value {
            for reference in list { text += "  \(slot.name): \(reference)\n" }
          } else if !value.isNull {
            text += "  \(slot.name): \(GraphComparison.fullText(value))\n"
          }
        }
        if text.utf8.count > 1 << 20 {
          try Talk.put(text)
          text = ""
        }
      }
    }
    try Talk.put(text)
  }

  private func dumpJSON(_ nodes: NodeTable, _ metadata: StoreMetadata) throws {
    var objects: [JSONValue] = []
    for entity in nodes.model.entities where isWanted(entity.name) {
      let reader = nodes.reader(of: entity.index)
      for row in 0..<reader.count {
        var values: [(String, JSONValue)] = []
        for slot in entity.slots {
          let value = reader.value(slot: slot.index, row: row)
          values.append((slot.name, Self.json(value)))
        }
        objects.append(
          .object([
            ("entity", .string(entity.name)), ("reference", Self.json(reader.reference(row: row))),
            ("values", .object(values)),
          ]))
      }
    }
    let all = JSONValue.object([
      ("uuid", .string(metadata.uuid.uuidString)),
      ("metadata", .object(metadata.entries.map { ($0.key, $0.value.json) })), ("objects", .array(objects)),
    ])
    try Talk.put(all.text + "\n")
  }

  private static func json(_ reference: ReferenceObject) -> JSONValue {
    switch reference {
    case .integer(let number): .integer(Int(number))
    case .string(let text): .string(text)
    }
  }

  private static func json(_ value: StoredValue) -> JSONValue {
    switch value {
    case .null: .null
    case .boolean(let flag): .boolean(flag)
    case .integer(let number): .integer(Int(number))
    case .float(let number): .number(Double(number))
    case .double(let number): .number(number)
    case .decimal(let number): .string(number.description)
    case .string(let text): .string(text)
    case .data(let data): .string(data.base64EncodedString())
    case .date(let date): .number(date.timeIntervalSinceReferenceDate)
    case .uuid(let uuid): .string(uuid.uuidString)
    case .uri(let text): .string(text)
    case .toOne(let object): .object([("entity", .string(object.entityName)), ("reference", json(object.reference))])
    case .toMany(let list): .array(list.map { json(.toOne($0)) })
    }
  }
}
