import AtomicStoreKit
import CommandSupport

extension Loss {
  var json: JSONValue {
    var fields: [(String, JSONValue)] = [
      ("kind", .string(kind.rawValue)), ("subject", .string(subject)), ("count", .integer(count)),
    ]
    if let example { fields.append(("example", .string(example))) }
    return .object(fields)
  }
}

extension GraphDifference {
  var json: JSONValue {
    var fields: [(String, JSONValue)] = [("kind", .string(kind.rawValue))]
    if let object {
      fields.append(("entity", .string(object.entityName)))
      fields.append(("reference", .string(object.reference.description)))
    }
    if let key { fields.append((kind == .changed ? "property" : kind == .model ? "path" : "key", .string(key))) }
    if kind != .inserted && kind != .deleted {
      fields.append(("old", old.map { .string($0) } ?? .null))
      fields.append(("new", new.map { .string($0) } ?? .null))
    }
    return .object(fields)
  }
}
