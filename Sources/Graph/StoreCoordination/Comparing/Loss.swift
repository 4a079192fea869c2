/// Something that a format cannot store, with the number of occurrences.
public struct Loss: Sendable, Hashable, CustomStringConvertible {
  /// The kind of loss: a fixed list, so that reports can be compared.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Values of an attribute type that the format does not have.
    case typeUnsupported = "type-unsupported"
    /// Not-a-number, infinities or -0.0.
    case specialFloat = "special-float"
    /// Digits of a decimal that the format does not keep: it becomes another number.
    case decimalPrecision = "decimal-precision"
    /// How a decimal is written: `9.50` becomes `9.5`, which is the same number.
    case decimalSpelling = "decimal-spelling"
    /// How an object is encoded in a value of bytes: it is the same object in other bytes.
    case valueEncoding = "value-encoding"
    /// An empty string or data that is read as null, or the reverse.
    case nilVersusEmpty = "nil-vs-empty"
    /// The order of an ordered relationship.
    case order
    /// References that the format does not store, so that saved URIs refer to other objects.
    case referenceRenumbered = "reference-renumbered"
    /// A metadata entry.
    case metadataKey = "metadata-key"
    /// The store's UUID.
    case storeIdentity = "store-identity"
    /// A relationship.
    case relationshipDropped = "relationship-dropped"
    /// An end of a relationship that contradicts the other end, in a format that stores only one of them: it becomes
    /// what the other end says.
    case endsReconciled = "ends-reconciled"
    /// An attribute that the new model does not have.
    case attributeDropped = "attribute-dropped"
    /// An entity with all its objects.
    case entityDropped = "entity-dropped"
    /// Not the target's fault: the source holds it, or should, and could not load it.
    case notLoaded = "not-loaded"

    /// Whether values change, or only how they are written.
    package var lossClass: Class { [.decimalSpelling, .valueEncoding].contains(self) ? .spelling : .value }
  }
  /// How serious a loss is.
  package enum Class: String, Sendable, Hashable, CaseIterable {
    /// The same value is written in another way. It is listed, and allowed.
    case spelling
    /// A value, or something else of the store, is no longer the same or missing. It is refused unless
    /// ``StoreConverter/allowsLoss`` is set.
    case value
  }
  /// The kind of loss.
  public var kind: Kind
  /// The entity, or `Entity.property`, or the metadata key.
  public var subject: String
  /// The number of objects or values concerned.
  public var count: Int
  /// The first occurrence.
  public var example: String?

  /// Creates a loss.
  package init(kind: Kind, subject: String, count: Int, example: String? = nil) {
    self.kind = kind
    self.subject = subject
    self.count = count
    self.example = example
  }

  /// What a format did not load.
  init(_ note: LoadNote) {
    self.init(
      kind: .notLoaded, subject: "\(note.subject): \(note.text)", count: note.count, example: note.example)
  }

  public var description: String {
    "\(kind.rawValue): \(subject), \(count) time\(count == 1 ? "" : "s")" + (example.map { ", first \($0)" } ?? "")
  }
}
