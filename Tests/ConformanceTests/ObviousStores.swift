import AtomicStoreSPI
import Foundation
import FoundationXML

// The stores that one writes first, with what Foundation has at hand: each a page, each works in a demonstration. What
// they fail is in the article Ways to lose data, and a test holds it to that.

/// Everything a first try knows of a value.
enum ObviousText {
  static func text(_ value: StoredValue) -> String? {
    switch value {
    case .null, .toMany: nil
    case .boolean(let flag): flag ? "1" : "0"
    case .integer(let number): "\(number)"
    case .float(let number): "\(number)"
    case .double(let number): "\(number)"
    case .decimal(let number): "\(number)"
    case .string(let text), .uri(let text): text
    case .data(let data): data.base64EncodedString()
    case .date(let date): ISO8601DateFormatter().string(from: date)
    case .uuid(let uuid): uuid.uuidString
    case .toOne(let reference): "\(reference.reference)"
    }
  }

  static func value(_ text: String, _ type: AttributeType) -> StoredValue {
    switch type {
    case .integer16, .integer32, .integer64: .integer(Int64(text) ?? 0)
    case .double: .double(Double(text) ?? 0)
    case .float: .float(Float(text) ?? 0)
    case .boolean: .boolean(text == "1")
    case .decimal: DecimalNumber(text).map { .decimal($0) } ?? .null
    case .date: ISO8601DateFormatter().date(from: text).map { .date($0) } ?? .null
    case .binaryData, .transformable: Data(base64Encoded: text).map { .data($0) } ?? .null
    case .uuid: UUID(uuidString: text).map { .uuid($0) } ?? .null
    case .uri: .uri(text)
    default: .string(text)
    }
  }

  /// Puts one property of a node.
  static func put(_ text: String, _ name: String, _ entity: Entity, into nodes: NodeTableBuilder)
    throws(PersistentStoreError)
  {
    guard let slot = entity.slot(named: name) else { return }
    switch entity.slots[slot].kind {
    case .attribute(let type): try nodes.set(value(text, type), slot: slot)
    case .toOne: if let id = Int64(text) { try nodes.set(toOne: id, slot: slot) }
    case .toMany:
      for id in text.split(separator: " ") { if let id = Int64(id) { try nodes.append(toMany: id, slot: slot) } }
    }
  }

  static func many(_ value: StoredValue) -> String? {
    guard case .toMany(let list) = value, !list.isEmpty else { return nil }
    return list.map { "\($0.reference)" }.joined(separator: " ")
  }

  static func all(_ source: StoreSource) throws(PersistentStoreError) -> Data {
    let bytes = try source.bytes()
    return bytes.withUnsafeBytes { Data($0) }
  }
}

/// With `XMLDocument`.
struct ObviousXMLStore: AtomicStore {
  static let storeType = "ObviousXML"
  static let traits = StoreTraits(
    summary: "A first try with XMLDocument", fileExtensions: ["oxml"], isSelfDescribing: false)
  static func recognize(_ probe: StoreProbe) -> Recognition { probe.begins(with: "<?xml") ? .yes : .no }
  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {}

  private func root(_ source: StoreSource) throws(PersistentStoreError) -> XMLElement? {
    guard let document = try? XMLDocument(data: try ObviousText.all(source), options: []) else {
      throw PersistentStoreError(.malformed, "no XML", at: StoreLocation(file: source.name))
    }
    return document.rootElement()
  }

  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    let root = try root(source)
    let uuid = root?.attribute(forName: "uuid")?.stringValue.flatMap { UUID(uuidString: $0) } ?? UUID()
    return StoreMetadata(
      storeType: Self.storeType, uuid: uuid,
      lastReference: Int64(root?.attribute(forName: "last")?.stringValue ?? "") ?? 0)
  }

  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    for element in try root(source)?.elements(forName: "object") ?? [] {
      guard let name = element.attribute(forName: "entity")?.stringValue, let entity = nodes.model.entity(named: name),
        let id = Int64(element.attribute(forName: "id")?.stringValue ?? "")
      else { continue }
      try nodes.beginNode(entity: entity.index, reference: id)
      for child in element.children ?? [] {
        guard let child = child as? XMLElement, let name = child.attribute(forName: "name")?.stringValue else {
          continue
        }
        try ObviousText.put(child.stringValue ?? "", name, entity, into: nodes)
      }
    }
  }

  mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    let root = XMLElement(name: "store")
    func attribute(_ name: String, _ value: String) -> XMLNode {
      let node = XMLNode(kind: .attribute)
      node.name = name
      node.stringValue = value
      return node
    }
    root.addAttribute(attribute("uuid", snapshot.metadata.uuid.uuidString))
    root.addAttribute(attribute("last", "\(snapshot.metadata.lastReference)"))
    for entity in snapshot.nodes.model.entities where !entity.isAbstract {
      let reader = snapshot.nodes.reader(of: entity.index)
      for row in 0..<reader.count {
        let element = XMLElement(name: "object")
        element.addAttribute(attribute("entity", entity.name))
        element.addAttribute(attribute("id", "\(reader.reference(row: row))"))
        for slot in entity.slots {
          let value = reader.value(slot: slot.index, row: row)
          guard let text = ObviousText.many(value) ?? ObviousText.text(value) else { continue }
          let child = XMLElement(name: "value", stringValue: text)
          child.addAttribute(attribute("name", slot.name))
          element.addChild(child)
        }
        root.addChild(element)
      }
    }
    let document = XMLDocument(rootElement: root)
    try staged.file().write(Array(document.xmlData))
  }
}

/// With `PropertyListSerialization`.
struct ObviousPropertyListStore: AtomicStore {
  static let storeType = "ObviousPropertyList"
  static let traits = StoreTraits(
    summary: "A first try with PropertyListSerialization", fileExtensions: ["oplist"], isSelfDescribing: false)
  static func recognize(_ probe: StoreProbe) -> Recognition { probe.begins(with: "bplist00") ? .yes : .no }
  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {}

  private func root(_ source: StoreSource) throws(PersistentStoreError) -> [String: Any] {
    let data = try ObviousText.all(source)
    guard let root = try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any] else {
      throw PersistentStoreError(.malformed, "no property list", at: StoreLocation(file: source.name))
    }
    return root
  }

  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    let root = try root(source)
    let uuid = (root["uuid"] as? String).flatMap { UUID(uuidString: $0) } ?? UUID()
    return StoreMetadata(storeType: Self.storeType, uuid: uuid, lastReference: Int64(root["last"] as? Int ?? 0))
  }

  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    for object in try root(source)["objects"] as? [[String: Any]] ?? [] {
      guard let name = object["entity"] as? String, let entity = nodes.model.entity(named: name),
        let id = object["id"] as? Int
      else { continue }
      try nodes.beginNode(entity: entity.index, reference: Int64(id))
      for (name, value) in object["values"] as? [String: Any] ?? [:] {
        guard let slot = entity.slot(named: name) else { continue }
        if case .attribute(let type) = entity.slots[slot].kind, let data = value as? Data, type == .binaryData {
          try nodes.set(.data(data), slot: slot)
        } else if case .attribute(.date) = entity.slots[slot].kind, let date = value as? Date {
          try nodes.set(.date(date), slot: slot)
        } else {
          try ObviousText.put("\(value)", name, entity, into: nodes)
        }
      }
    }
  }

  mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    var objects: [[String: Any]] = []
    for entity in snapshot.nodes.model.entities where !entity.isAbstract {
      let reader = snapshot.nodes.reader(of: entity.index)
      for row in 0..<reader.count {
        var values: [String: Any] = [:]
        for slot in entity.slots {
          let value = reader.value(slot: slot.index, row: row)
          switch value {
          case .data(let data): values[slot.name] = data
          case .date(let date): values[slot.name] = date
          default: if let text = ObviousText.many(value) ?? ObviousText.text(value) { values[slot.name] = text }
          }
        }
        guard case .integer(let id) = reader.reference(row: row) else { continue }
        objects.append(["entity": entity.name, "id": Int(id), "values": values])
      }
    }
    let root: [String: Any] = [
      "uuid": snapshot.metadata.uuid.uuidString, "last": Int(snapshot.metadata.lastReference), "objects": objects,
    ]
    guard let data = try? PropertyListSerialization.data(fromPropertyList: root, format: .binary, options: 0) else {
      throw PersistentStoreError(.unsupportedByFormat, "no property list")
    }
    try staged.file().write(Array(data))
  }
}

/// With `split`.
struct ObviousCSVStore: AtomicStore {
  static let storeType = "ObviousCSV"
  static let traits = StoreTraits(summary: "A first try with split", fileExtensions: ["ocsv"], isSelfDescribing: false)
  static func recognize(_ probe: StoreProbe) -> Recognition { probe.begins(with: "store,") ? .yes : .no }
  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {}

  private func lines(_ source: StoreSource) throws(PersistentStoreError) -> [[String]] {
    let text = String(decoding: try ObviousText.all(source), as: UTF8.self)
    return text.split(separator: "\n").map { $0.split(separator: ",").map(String.init) }
  }

  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    let head = try lines(source).first ?? []
    let uuid = head.count > 1 ? UUID(uuidString: head[1]) : nil
    return StoreMetadata(
      storeType: Self.storeType, uuid: uuid ?? UUID(), lastReference: head.count > 2 ? Int64(head[2]) ?? 0 : 0)
  }

  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    for fields in try lines(source).dropFirst() {
      guard fields.count > 1, let entity = nodes.model.entity(named: fields[0]), let id = Int64(fields[1]) else {
        continue
      }
      try nodes.beginNode(entity: entity.index, reference: id)
      for field in fields.dropFirst(2) {
        let parts = field.split(separator: "=", maxSplits: 1).map(String.init)
        if parts.count == 2 { try ObviousText.put(parts[1], parts[0], entity, into: nodes) }
      }
    }
  }

  mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    var text = "store,\(snapshot.metadata.uuid.uuidString),\(snapshot.metadata.lastReference)\n"
    for entity in snapshot.nodes.model.entities where !entity.isAbstract {
      let reader = snapshot.nodes.reader(of: entity.index)
      for row in 0..<reader.count {
        var fields = [entity.name, "\(reader.reference(row: row))"]
        for slot in entity.slots {
          let value = reader.value(slot: slot.index, row: row)
          if let content = ObviousText.many(value) ?? ObviousText.text(value) {
            fields.append(slot.name + "=" + content)
          }
        }
        text += fields.joined(separator: ",") + "\n"
      }
    }
    try staged.file().write(Array(text.utf8))
  }
}
