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
    /// The models that the stores carry differ; ``GraphDifference/key`` says where.
    case model
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

  public var description: String {
    switch kind {
    case .inserted: "+ \(object.map(\.description) ?? "")"
    case .deleted: "- \(object.map(\.description) ?? "")"
    case .changed: "~ \(object.map(\.description) ?? "").\(key ?? ""): \(old ?? "(none)") → \(new ?? "(none)")"
    case .metadata: "~ metadata \(key ?? ""): \(old ?? "(none)") → \(new ?? "(none)")"
    case .model: "~ model \(key ?? ""): \(old ?? "(none)") → \(new ?? "(none)")"
    case .identity: "~ UUID: \(old ?? "") → \(new ?? "")"
    }
  }
}
