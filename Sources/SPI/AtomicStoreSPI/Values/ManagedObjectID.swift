public import FoundationEssentials

/// The identity of an object in any context: its store, its entity, and its reference there; for an object that was
/// never saved, a unique name.
///
/// Once it is permanent, it never changes: saves, Save As and conversions preserve it.
///
/// ```swift
/// if let id = ManagedObjectID(uriRepresentation: object.objectID.uriRepresentation) {
///   print(try context.existingObject(with: id))
/// }
/// ```
public struct ManagedObjectID: Sendable, CustomStringConvertible {
  package enum Form: Hashable, Sendable {
    case permanent(store: UUID, ReferenceObject)
    case temporary(UUID)
  }
  /// The concrete entity's name.
  public let entityName: String
  package let form: Form

  /// Creates the ID of an object in a store.
  public init(storeIdentifier: UUID, entityName: String, reference: ReferenceObject) {
    self.entityName = entityName
    form = .permanent(store: storeIdentifier, reference)
  }

  package init(temporary: UUID, entityName: String) {
    self.entityName = entityName
    form = .temporary(temporary)
  }

  /// Whether the object was never saved, nor given a permanent ID.
  public var isTemporaryID: Bool { if case .temporary = form { true } else { false } }
  /// The UUID of the object's store; nil for a temporary ID.
  public var storeIdentifier: UUID? { if case .permanent(let store, _) = form { store } else { nil } }
  /// The object's reference in the store; nil for a temporary ID.
  public var reference: ReferenceObject? { if case .permanent(_, let reference) = form { reference } else { nil } }

  /// The ID as a URI: `x-coredata://STORE-UUID/Entity/p12`. A string reference follows `ps`, with everything except
  /// letters, digits, `-`, `_` and `.` percent-encoded, so that no string can be read as a number. A temporary ID is
  /// `x-coredata:///Entity/tUUID`: it is meaningless outside its context, so do not store it.
  public var uriRepresentation: String {
    switch form {
    case .permanent(let store, .integer(let number)):
      "x-coredata://\(store.uuidString)/\(Self.encoding.encoded(entityName))/p\(number)"
    case .permanent(let store, .string(let text)):
      "x-coredata://\(store.uuidString)/\(Self.encoding.encoded(entityName))/ps\(Self.encoding.encoded(text))"
    case .temporary(let name): "x-coredata:///\(Self.encoding.encoded(entityName))/t\(name.uuidString)"
    }
  }

  public var description: String { uriRepresentation }

  /// Parses the URI of an ID; nil if it is not one.
  public init?(uriRepresentation text: String) {
    let prefix = "x-coredata://"
    guard text.hasPrefix(prefix) else { return nil }
    let parts = text.dropFirst(prefix.count).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3, let entity = Self.unescaped(parts[1]), !entity.isEmpty, let kind = parts[2].first else {
      return nil
    }
    let tail = parts[2].dropFirst()
    if parts[0].isEmpty {
      guard kind == "t", let name = UUID(uuidString: String(tail)) else { return nil }
      self.init(temporary: name, entityName: entity)
      return
    }
    guard kind == "p", let store = UUID(uuidString: String(parts[0])) else { return nil }
    if tail.first == "s" {
      guard let reference = Self.unescaped(tail.dropFirst()) else { return nil }
      self.init(storeIdentifier: store, entityName: entity, reference: .string(reference))
    } else {
      guard let number = Int64(tail), String(number) == tail else { return nil }
      self.init(storeIdentifier: store, entityName: entity, reference: .integer(number))
    }
  }

  private static let encoding = PercentEncoding(keeping: "-._")

  /// In a URI that was written elsewhere, more may be kept than here.
  private static func unescaped(_ text: Substring) -> String? {
    PercentEncoding.bytes(text.utf8).flatMap { String(validating: $0, as: UTF8.self) }
  }
}

extension ManagedObjectID: Hashable {
  public static func == (one: ManagedObjectID, other: ManagedObjectID) -> Bool {
    one.form == other.form && one.entityName.utf8.elementsEqual(other.entityName.utf8)
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(form) }
}
