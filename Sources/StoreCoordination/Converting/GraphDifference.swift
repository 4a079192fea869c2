public import AtomicStoreSPI

/// One difference between two graphs, found by identity.
public struct GraphDifference: Sendable, Hashable, CustomStringConvertible {
  /// In what way the two graphs differ.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Only in the second.
    case inserted
    /// Only in the first.
    case deleted
    /// In both, with another value of one property.
    case changed
    /// The metadata differ.
    case metadata
    /// The stores' UUIDs differ.
    case identity
  }
  /// The kind of difference.
  public var kind: Kind
  /// The object, `Entity/reference`; nil for metadata.
  public var object: ObjectReference?
  /// The property or metadata key that differs.
  public var key: String?
  /// In the first and in the second, as text; nil where it has none.
  public var old: String?
  /// The value in the second graph, as text; nil where it has none.
  public var new: String?

  /// Creates a difference.
  public init(kind: Kind, object: ObjectReference? = nil, key: String? = nil, old: String? = nil, new: String? = nil) {
    self.kind = kind
    self.object = object
    self.key = key
    self.old = old
    self.new = new
  }

  public var description: String {
    switch kind {
    case .inserted: "+ \(object.map(\.description) ?? "")"
    case .deleted: "- \(object.map(\.description) ?? "")"
    case .changed: "~ \(object.map(\.description) ?? "").\(key ?? ""): \(old ?? "(none)") → \(new ?? "(none)")"
    case .metadata: "~ metadata \(key ?? ""): \(old ?? "(none)") → \(new ?? "(none)")"
    case .identity: "~ UUID: \(old ?? "") → \(new ?? "")"
    }
  }
}
