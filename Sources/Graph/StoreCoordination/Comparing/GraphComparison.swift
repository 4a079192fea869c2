/// Compares two graphs: objects by entity and reference, values to the bit and the Unicode scalar, relationships by
/// their destinations, in order if a model on either side says that they are ordered, and the metadata.
///
/// It compares column by column, and values where columns differ. It shares no code with formats or the converter,
/// whose results it checks.
package enum GraphComparison {
  /// What is compared.
  package struct Options: Sendable {
    /// Whether the stores' UUIDs must be the same.
    package var comparesIdentity: Bool
    /// Whether the metadata entries must be the same.
    package var comparesMetadata: Bool
    /// Whether metadata that is derived from the model (``/AtomicStoreSPI/VersionHashes/derivedMetadataKeys``) must be
    /// in both. By default, an entry that only one of them has is not a difference, because a conversion adds such
    /// entries. Two different entries always are a difference.
    var comparesMissingDerivedMetadata: Bool
    /// Whether the models that both stores carry must be the same, as data: see ``ModelComparison``. Models that were
    /// inferred are not compared.
    var comparesModel: Bool
    /// Whether the entities, properties and other things in the models must come in the same order.
    var comparesModelOrder: Bool
    /// Whether entity and property names that differ only in case are treated as the same: for a store whose format
    /// folds them.
    package var ignoresNameCase: Bool
    /// Whether members of to-manys of unknown order are compared in order: a copy must keep it. Otherwise they are
    /// compared as sets, unless a model on either side says that the relationship is ordered.
    package var comparesUnknownOrder: Bool
    /// The maximum number of differences to find; nil for all.
    var limit: Int?
    /// Creates options. By default everything is compared except carried models and unknown orders, and all differences
    /// are found.
    package init(
      comparesIdentity: Bool = true, comparesMetadata: Bool = true, comparesMissingDerivedMetadata: Bool = false,
      comparesModel: Bool = false, comparesModelOrder: Bool = true,
      ignoresNameCase: Bool = false, comparesUnknownOrder: Bool = false, limit: Int? = nil
    ) {
      self.comparesIdentity = comparesIdentity
      self.comparesMetadata = comparesMetadata
      self.comparesMissingDerivedMetadata = comparesMissingDerivedMetadata
      self.comparesModel = comparesModel
      self.comparesModelOrder = comparesModelOrder
      self.ignoresNameCase = ignoresNameCase
      self.comparesUnknownOrder = comparesUnknownOrder
      self.limit = limit
    }
  }
}
