import Synchronization

/// A store type of either kind, in a list of both: what a plug-in registers.
package enum AnyStoreType: Sendable {
  /// Its stores are loaded and saved whole.
  case whole(any AtomicStore.Type)
  /// Its stores are read and written in parts.
  case inParts(any IncrementalStore.Type)

  /// The name that the type is registered under.
  package var storeType: String {
    switch self {
    case .whole(let type): type.storeType
    case .inParts(let type): type.storeType
    }
  }

  /// What the type can keep.
  package var traits: StoreTraits {
    switch self {
    case .whole(let type): type.traits
    case .inParts(let type): type.traits
    }
  }

  /// Whether some content is a store of this type.
  package func recognize(_ probe: StoreProbe) -> Recognition {
    switch self {
    case .whole(let type): type.recognize(probe)
    case .inParts(let type): type.recognize(probe)
    }
  }

  /// The identity and the full name of the Swift type.
  package var identity: ObjectIdentifier {
    switch self {
    case .whole(let type): ObjectIdentifier(type)
    case .inParts(let type): ObjectIdentifier(type)
    }
  }
  var fullName: String {
    switch self {
    case .whole(let type): String(reflecting: type)
    case .inParts(let type): String(reflecting: type)
    }
  }

  var atomic: (any AtomicStore.Type)? { if case .whole(let type) = self { type } else { nil } }
  var incremental: (any IncrementalStore.Type)? { if case .inParts(let type) = self { type } else { nil } }
}

/// Types that are found once, when they are needed.
final class LaterStoreTypes: Sendable {
  private let find: @Sendable () -> [AnyStoreType]
  private let types = Mutex<[AnyStoreType]?>(nil)

  init(_ find: @escaping @Sendable () -> [AnyStoreType]) { self.find = find }

  /// The types that were found so far.
  var known: [AnyStoreType] { types.withLock { $0 ?? [] } }

  func found() -> [AnyStoreType] {
    types.withLock { types in
      if let types { return types }
      let new = find()
      types = new
      return new
    }
  }
}
