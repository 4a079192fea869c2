/// Something that a format cannot carry, with how often it occurs.
public struct Loss: Sendable, Hashable, CustomStringConvertible {
  /// The kinds, a closed list so that reports can be compared.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    case typeUnsupported = "type-unsupported"
    case specialFloat = "special-float"
    case decimalPrecision = "decimal-precision"
    case nilVersusEmpty = "nil-vs-empty"
    case order
    case referenceRenumbered = "reference-renumbered"
    case metadataKey = "metadata-key"
    case storeIdentity = "store-identity"
    case relationshipDropped = "relationship-dropped"
    case entityDropped = "entity-dropped"
    /// Not the target's fault: the source holds it, or should, and could not load it.
    case notLoaded = "not-loaded"
  }
  public var kind: Kind
  /// The entity, or `Entity.property`, or the metadata key.
  public var subject: String
  /// How many objects or values are concerned.
  public var count: Int
  /// The first one, for a look.
  public var example: String?

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
