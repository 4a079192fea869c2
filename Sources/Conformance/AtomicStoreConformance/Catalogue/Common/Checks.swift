import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// The catalogue: the families of checks, one file each.
enum Checks {
  static let kit = "the kit’s own rule"
  /// What ``CheckContext/expectLine(of:about:in:without:_:)`` expects, as a part of a check's procedure.
  static let errorLines =
    "An error that names a line or byte of a text file names the line that was changed, or the first line of its object; and the file, in a store that is a directory"

  static let metadataIsKept: @Sendable (StoreTraits) -> CheckDefinition.Demand = { traits in
    traits.keepsMetadata ? .applies : .notApplicable("keepsMetadata is false")
  }

  static let identityIsKept: @Sendable (StoreTraits) -> CheckDefinition.Demand = { traits in
    traits.keepsIdentity ? .applies : .notApplicable("keepsIdentity is false")
  }

  static let metadataIsSetAlone: @Sendable (StoreTraits) -> CheckDefinition.Demand = { traits in
    traits.isSelfDescribing ? metadataIsKept(traits) : .notApplicable("isSelfDescribing is false")
  }

  static let equalBytes: @Sendable (StoreTraits) -> CheckDefinition.Demand = { traits in
    traits.writesEqualBytes ? .applies : .notApplicable("writesEqualBytes is false")
  }

  static func entries(_ list: KeyValuePairs<String, PropertyListValue>) -> PropertyListDictionary {
    var entries = PropertyListDictionary()
    for (key, value) in list { entries[key] = value }
    return entries
  }
}

extension StoreTraits {
  /// Whether metadata is set in a store that is not open. Without a model, the objects beside it cannot be saved again.
  var setsMetadataAlone: Bool { keepsMetadata && isSelfDescribing }
}

extension StoreSession {
  /// The metadata without opening the store.
  func metadata(_ path: String) throws -> StoreMetadata {
    try PersistentStoreCoordinator.metadataForPersistentStore(
      type: subject.type.storeType, at: path, registry: try registry())
  }

  @discardableResult func setMetadata(_ list: KeyValuePairs<String, PropertyListValue>, _ path: String) throws -> Bool {
    try PersistentStoreCoordinator.setMetadata(
      Checks.entries(list), type: subject.type.storeType, at: path, registry: try registry())
    return true
  }

  /// Opens a store, gives one of its nodes, in the order of their names, a number, and saves it.
  @discardableResult func setNumber(_ path: String, _ graph: Graph, object: Int, to number: Int64) throws -> Bool {
    try opened(path, graph.model) { open in
      try all(open, "Node").sorted { StoreSession.name($0) < StoreSession.name($1) }[object].setValue(
        StoredValue.integer(number), forKey: "number")
      try open.context.save()
      return true
    }
  }
}

extension CheckContext {
  func supports(_ type: AttributeType) -> Bool { !traits.unsupportedTypes.contains(type.modelName) }

  /// Whether the format says that it keeps a value although it does not support the type.
  func isPromised(_ value: StoredValue, _ type: AttributeType) -> Bool {
    traits.keptValue?(value, AttributeDescription(name: "value", type: type))?.isIdentical(to: value) ?? false
  }
}
