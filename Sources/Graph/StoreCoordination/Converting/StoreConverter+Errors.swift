import AtomicStoreSPI

extension StoreConverter {
  /// The error for losses that were not allowed.
  public struct LossError: Error, Sendable, CustomStringConvertible {
    /// The type that cannot store everything.
    public var targetType: String
    /// What it cannot store, with counts.
    public var losses: [Loss]
    /// The error without the list of losses.
    public var summary: String {
      losses.allSatisfy { $0.kind == .notLoaded }
        ? "not everything in the source was read" : "\(targetType) cannot store everything"
    }
    public var description: String {
      summary + "; nothing was written:\n"
        + losses.map { "  \($0)" }.joined(separator: "\n")
    }
  }

  /// The result, read back, is not what was to be written.
  public struct VerificationError: Error, Sendable, CustomStringConvertible {
    /// The type whose format wrote something else than it was given, or read something else than it wrote.
    public var targetType: String
    /// In what the result differs from the source.
    public var differences: [GraphDifference]
    /// Creates an error.
    package init(targetType: String, differences: [GraphDifference]) {
      self.targetType = targetType
      self.differences = differences
    }
    public var description: String {
      "the format \(targetType) failed verification: the written store differs from the source; nothing was written:\n"
        + differences.prefix(20).map { "  \($0)" }.joined(separator: "\n")
    }
  }

  /// - Throws: ``LossError`` unless the losses are allowed. Those of spelling always are.
  func refuse(_ losses: [Loss], of source: SourceGraph, _ targetType: String) throws(LossError) {
    let values = losses.filter { $0.kind.lossClass == .value }
    guard !allowsLoss, !values.isEmpty, !allowsLossOfDamage || values != source.damage else { return }
    throw LossError(targetType: targetType, losses: values)
  }
}

/// An error of a function that a store calls, within the error that the store sees.
struct CallbackError: Error, CustomStringConvertible {
  let error: any Error
  var description: String { "\(error)" }

  /// An error as the store sees it. One of a store is passed as it is: the store repeats its transaction if the code
  /// says so.
  static func passed(_ error: any Error) -> PersistentStoreError {
    if let error = error as? PersistentStoreError { return error }
    return PersistentStoreError(.internalInconsistency, "\(error)", underlying: CallbackError(error: error))
  }

  /// The error that a function threw, whatever the store has made of it; for another failure, the store's error.
  static func thrown(_ error: any Error) -> any Error {
    var inner: (any Error)? = error
    while let next = inner {
      if let callback = next as? CallbackError { return callback.error }
      inner = (next as? PersistentStoreError)?.underlying
    }
    return error
  }
}

extension StoreConverter.SourceGraph {
  /// What the format did not load, and what the target cannot keep of contradicting ends.
  var losses: [Loss] { loadNotes.filter(\.isLoss).map(Loss.init) + reconciled }

  /// What it left out because it is damaged.
  var damage: [Loss] { loadNotes.filter { $0.isLoss && $0.location != nil }.map(Loss.init) }
}
