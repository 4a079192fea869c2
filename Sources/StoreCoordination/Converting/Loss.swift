/// Something that a format cannot carry, with how often it occurs.
public struct Loss: Sendable, Hashable, CustomStringConvertible {
  /// The kinds, a closed list so that reports can be compared.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Values of an attribute type that the format does not have.
    case typeUnsupported = "type-unsupported"
    /// Not-a-number, infinities or -0.0.
    case specialFloat = "special-float"
    /// Empty text or data that comes back as null, or null as empty.
    case nilVersusEmpty = "nil-vs-empty"
    /// The sequence of an ordered relationship.
    case order
    /// References that the format does not keep, so that saved URIs name other objects.
    case referenceRenumbered = "reference-renumbered"
    /// A metadata entry.
    case metadataKey = "metadata-key"
    /// The store's UUID.
    case storeIdentity = "store-identity"
    /// A relationship.
    case relationshipDropped = "relationship-dropped"
    /// An attribute that the new model does not have.
    case attributeDropped = "attribute-dropped"
    /// An entity with all its objects.
    case entityDropped = "entity-dropped"
  }
  /// The kind of loss.
  public var kind: Kind
  /// The entity, or `Entity.property`, or the metadata key.
  public var subject: String
  /// How many objects or values are concerned.
  public var count: Int
  /// The first one, for a look.
  public var example: String?

  /// Creates a loss.
  public init(kind: Kind, subject: String, count: Int, example: String? = nil) {
    self.kind = kind
    self.subject = subject
    self.count = count
    self.example = example
  }

  public var description: String {
    "\(kind.rawValue): \(subject), \(count) times" + (example.map { ", first \($0)" } ?? "")
  }
}
