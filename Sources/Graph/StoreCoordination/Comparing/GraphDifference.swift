public import AtomicStoreSPI

/// A difference between two graphs.
///
/// Two differences are equal if they read the same; `oldValue` and the other exact values are not compared.
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
  /// Where in a metadata entry that is a dictionary in both graphs: the keys that lead to the value, outermost first.
  public var path: [String] = []
  /// The value in the first graph, as text; nil if there is none.
  public var old: String?
  /// The value in the second graph, as text; nil if there is none.
  public var new: String?
  /// The type of the property, as models name it: `Decimal`, `to-one Author`; nil for what is not a property.
  package var type: String?
  /// The property's value in the first graph; nil for what is not a property, and where the graph does not have it.
  package var oldValue: StoredValue?
  /// The property's value in the second graph.
  package var newValue: StoredValue?
  /// The value of the metadata entry, or of the part of it that ``path`` leads to, in the first graph.
  package var oldEntry: PropertyListValue?
  /// The value of the metadata entry in the second graph.
  package var newEntry: PropertyListValue?

  /// Creates a difference.
  package init(kind: Kind, object: ObjectReference? = nil, key: String? = nil, old: String? = nil, new: String? = nil) {
    self.kind = kind
    self.object = object
    self.key = key
    self.old = old
    self.new = new
  }

  public static func == (one: GraphDifference, other: GraphDifference) -> Bool {
    one.kind == other.kind && one.object == other.object && one.key == other.key && one.path == other.path
      && one.old == other.old && one.new == other.new
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(kind)
    hasher.combine(object)
    hasher.combine(key)
    hasher.combine(path)
    hasher.combine(old)
    hasher.combine(new)
  }

  /// The key, and behind it the ``path``, with a dot before each part; a part with a dot in it is in quotes.
  public var keyPath: String {
    path.reduce(key ?? "") { $0 + "." + ($1.contains(".") || $1.isEmpty ? "\"\($1)\"" : $1) }
  }

  public var description: String {
    switch kind {
    case .inserted: "+ \(object.map(\.description) ?? "")"
    case .deleted: "- \(object.map(\.description) ?? "")"
    case .changed: "~ \(object.map(\.description) ?? "").\(key ?? ""): \(old ?? "(none)") → \(new ?? "(none)")"
    case .metadata: "~ metadata \(keyPath): \(old ?? "(none)") → \(new ?? "(none)")"
    case .model: "~ model \(key ?? ""): \(old ?? "(none)") → \(new ?? "(none)")"
    case .identity: "~ UUID: \(old ?? "") → \(new ?? "")"
    }
  }
}
