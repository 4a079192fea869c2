import AtomicStoreKit
import CommandSupport

extension Loss {
  /// As a command reports it after the result was written.
  var reportLine: String { (kind.lossClass == .spelling ? "respelled: " : "lost: ") + "\(self)" }

  var json: JSONValue {
    var fields: [(String, JSONValue)] = [
      ("kind", .string(kind.rawValue)), ("class", .string(kind.lossClass.rawValue)), ("subject", .string(subject)),
      ("count", .integer(count)),
    ]
    if let example { fields.append(("example", .string(example))) }
    return .object(fields)
  }
}

extension GraphDifference {
  /// As all commands print a difference: values are JSON of the form that the article *Values in JSON and CSV*
  /// describes, and the type says of which type the property is.
  var json: JSONValue {
    var fields: [(String, JSONValue)] = [("kind", .string(kind.rawValue))]
    if let object {
      fields.append(("entity", .string(object.entityName)))
      fields.append(("reference", object.reference.json))
    }
    if let key { fields.append((kind == .changed ? "property" : kind == .model ? "path" : "key", .string(key))) }
    if kind == .metadata { fields.append(("path", .array(path.map { .string($0) }))) }
    if kind == .changed { fields.append(("type", type.map { .string($0) } ?? .null)) }
    if kind != .inserted && kind != .deleted {
      fields.append(("old", json(old, oldValue, oldEntry)))
      fields.append(("new", json(new, newValue, newEntry)))
    }
    return .object(fields)
  }

  private func json(_ text: String?, _ value: StoredValue?, _ entry: PropertyListValue?) -> JSONValue {
    value?.json(isDeclared: type != AttributeType.undefined.modelName) ?? entry?.json ?? text.map { .string($0) }
      ?? .null
  }
}
