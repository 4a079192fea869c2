public import AtomicStoreSPI
import StoreJSON

/// Patches as JSON:
///
/// ```json
/// { "atomicstorePatch": 1, "changes": [
///   {"kind": "changed", "entity": "Book", "reference": 3, "property": "price", "type": "Decimal", "old": 24.90, "new": 19.90},
///   {"kind": "inserted", "entity": "Book", "reference": 12, "values": {"title": "Emma", "author": {"entity": "Author", "reference": 1}}},
///   {"kind": "metadata", "key": "settings", "path": ["color"], "old": null, "new": "red"} ] }
/// ```
extension StorePatch {
  /// The version of the form that is written, and the latest that is read.
  private static let version = 1

  /// The patch as JSON text in UTF-8. Decimals keep their digits.
  ///
  /// - Parameter model: The model of the graphs, which says of which types values are.
  public func json(_ model: ManagedObjectModel) -> [UInt8] {
    let value = JSONValue.object([
      ("atomicstorePatch", .integer(Self.version)), ("changes", .array(changes.map { Self.json($0, model) })),
    ])
    return Array((value.text + "\n").utf8)
  }

  private static func json(_ change: Change, _ model: ManagedObjectModel) -> JSONValue {
    func head(_ kind: String, _ object: ObjectReference) -> [(String, JSONValue)] {
      [("kind", .string(kind)), ("entity", .string(object.entityName)), ("reference", object.reference.json)]
    }
    func json(_ value: StoredValue, _ object: ObjectReference, _ property: String) -> JSONValue {
      value.json(isDeclared: slot(property, of: object, in: model)?.attributeType != .undefined)
    }
    switch change {
    case .inserted(let object, let values):
      let members = values.map { ($0.property, json($0.value, object, $0.property)) }
      return .object(head("inserted", object) + [("values", .object(members))])
    case .deleted(let object, let values):
      let members = values.map { ($0.property, json($0.value, object, $0.property)) }
      return .object(head("deleted", object) + [("values", .object(members))])
    case .changed(let object, let property, let old, let new):
      let type = slot(property, of: object, in: model)?.kindDescription
      return .object(
        head("changed", object) + [
          ("property", .string(property)), ("type", type.map { .string($0) } ?? .null),
          ("old", json(old, object, property)), ("new", json(new, object, property)),
        ])
    case .metadata(let key, let path, let old, let new):
      return .object([
        ("kind", .string("metadata")), ("key", .string(key)), ("path", .array(path.map { .string($0) })),
        ("old", old?.json ?? .null), ("new", new?.json ?? .null),
      ])
    }
  }

  private static func slot(_ property: String, of object: ObjectReference, in model: ManagedObjectModel) -> Slot? {
    guard let entity = model.entity(named: object.entityName) else { return nil }
    return entity.slot(named: property).map { entity.slots[$0] }
  }

  /// Reads a patch.
  ///
  /// - Parameters:
  ///   - bytes: JSON text as ``json(_:)`` returns it; other members than its own are refused.
  ///   - name: The name of the file, for errors.
  ///   - model: The model of the store that the patch is for.
  /// - Throws: `.malformed` for text that is not a patch; ``PatchConflictError`` with every change whose entity,
  ///   property or type of value the model does not have.
  public init(json bytes: [UInt8], name: String, model: ManagedObjectModel) throws {
    let file = try JSONReader.read(bytes, name: name)
    func malformed(_ message: String) -> PersistentStoreError {
      PersistentStoreError(.malformed, message, at: StoreLocation(file: name))
    }
    guard case .integer(let version)? = file["atomicstorePatch"], case .array(let list)? = file["changes"] else {
      throw malformed("this is not a patch: it does not have the members 'atomicstorePatch' and 'changes'")
    }
    guard version == Self.version else { throw malformed("the patch has version \(version); known is \(Self.version)") }
    var reader = PatchReader(model: model)
    for (index, value) in list.enumerated() {
      if let message = reader.read(value) { throw malformed("changes[\(index)]: \(message)") }
    }
    guard reader.conflicts.isEmpty else { throw ConflictError(conflicts: reader.conflicts) }
    self.init(changes: reader.changes)
  }
}

/// Reads the changes of a patch by a model.
private struct PatchReader {
  let model: ManagedObjectModel
  var changes: [PatchChange] = []
  var conflicts: [PatchConflict] = []

  /// - Returns: What is wrong with the form of the change; nil for nothing.
  mutating func read(_ value: JSONValue) -> String? {
    guard case .object(let members) = value else { return "it is not an object" }
    guard case .string(let kind)? = value["kind"] else { return "the member 'kind' is missing" }
    if kind == "metadata" { return readMetadata(value, members) }
    let known =
      kind == "changed"
      ? ["kind", "entity", "reference", "property", "type", "old", "new"] : ["kind", "entity", "reference", "values"]
    if let other = members.first(where: { !known.contains($0.0) }) { return "the member '\(other.0)' is not known" }
    guard let object = ObjectReference(json: value) else { return "'entity' and 'reference' do not name an object" }
    guard let entity = model.entity(named: object.entityName) else {
      add(object, nil, "the model has no entity '\(object.entityName)'")
      return nil
    }
    switch kind {
    case "inserted", "deleted":
      guard case .object(let values)? = value["values"] else { return "the member 'values' is missing" }
      let read = values.compactMap { name, json in
        stored(json, name, entity, object).map { (property: name, value: $0) }
      }
      changes.append(kind == "inserted" ? .inserted(object, values: read) : .deleted(object, values: read))
    case "changed":
      guard case .string(let property)? = value["property"], let old = value["old"], let new = value["new"] else {
        return "the members 'property', 'old' and 'new' are needed"
      }
      guard let before = stored(old, property, entity, object), let after = stored(new, property, entity, object) else {
        return nil
      }
      changes.append(.changed(object, property: property, old: before, new: after))
    default: return "the kind '\(kind)' is not one of inserted, deleted, changed and metadata"
    }
    return nil
  }

  private mutating func add(_ object: ObjectReference, _ property: String?, _ message: String) {
    let conflict = PatchConflict(object: object, property: property, message: message)
    if conflicts.last != conflict { conflicts.append(conflict) }
  }

  private mutating func stored(
    _ json: JSONValue, _ name: String, _ entity: Entity, _ object: ObjectReference
  ) -> StoredValue? {
    guard let index = entity.slot(named: name) else {
      add(object, name, "the model has no such property")
      return nil
    }
    let slot = entity.slots[index]
    if let value = StoredValue(json: json, slot: slot) { return value }
    add(object, name, "\(json.line) is not a value of the type \(slot.kindDescription)")
    return nil
  }

  private mutating func readMetadata(_ value: JSONValue, _ members: [(String, JSONValue)]) -> String? {
    let known = ["kind", "key", "path", "old", "new"]
    if let other = members.first(where: { !known.contains($0.0) }) { return "the member '\(other.0)' is not known" }
    guard case .string(let key)? = value["key"], let old = value["old"], let new = value["new"] else {
      return "the members 'key', 'old' and 'new' are needed"
    }
    var path: [String] = []
    if let list = value["path"] {
      guard case .array(let parts) = list else { return "'path' is not a list of keys" }
      for part in parts {
        guard case .string(let text) = part else { return "'path' is not a list of keys" }
        path.append(text)
      }
    }
    if StoreMetadata.reservedKeys.contains(key) || VersionHashes.derivedMetadataKeys.contains(key) {
      return "the kit manages the metadata key '\(key)', which cannot be changed"
    }
    // Null stands for an entry that does not exist.
    var entries: [PropertyListValue?] = []
    for (name, json) in [("old", old), ("new", new)] {
      let entry = PropertyListValue(json: json)
      if entry == nil, case .null = json {} else if entry == nil { return "'\(name)' is not a metadata value" }
      entries.append(entry)
    }
    changes.append(.metadata(key: key, path: path, old: entries[0], new: entries[1]))
    return nil
  }
}
