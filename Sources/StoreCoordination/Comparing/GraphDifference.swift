public import AtomicStoreSPI

/// A difference between two graphs.
public struct GraphDifference: Sendable, Hashable, CustomStringConvertible {
  /// In what way the two graphs differ.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The object is only in the second graph.
    case inserted
    /// The object is only in the first graph.
    case deleted
    /// A property of an object that is in both graphs has different values.
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
  /// The object; nil for metadata.
  public var object: ObjectReference?
  /// The property or metadata key that differs.
  public var key: String?
  /// The value in the first graph, as text; nil if there is none.
  public var old: String?
  /// The value in the second graph, as text; nil if there is none.
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
    case .model: "~ model \(key ?? ""): \(old ?? "(none)") → \(new ?? "(none)")"
    case .identity: "~ UUID: \(old ?? "") → \(new ?? "")"
    }
  }
}
