package import AtomicStoreSPI

/// The value of an expression.
package enum PredicateValue {
  case value(StoredValue)
  /// A number whose type those beside it determine. ``PredicateEvaluator/value(of:for:)`` does not return it.
  case open(OpenNumber)
  case object(any PredicateSubject)
  /// An object that is not in memory: it is compared by its ID.
  case id(ManagedObjectID)
  case list([PredicateValue])
  /// A composite attribute as a whole, which can only be compared with nil.
  case composite(PredicateComposite)

  package static var null: PredicateValue { .value(.null) }

  package var isNull: Bool { if case .value(.null) = self { true } else { false } }
  /// The elements of a list; the value itself if it is not a list; empty for null.
  package var elements: [PredicateValue] {
    switch self {
    case .list(let list): list
    case .value(.null): []
    default: [self]
    }
  }
}

/// A composite attribute of an object: its name, and its parts with their values.
package struct PredicateComposite {
  package let name: String
  package let parts: [(name: String, value: PredicateValue)]
  package init(name: String, parts: [(name: String, value: PredicateValue)]) {
    self.name = name
    self.parts = parts
  }

  /// A composite is nil if all its parts are.
  package var isNull: Bool { parts.allSatisfy(\.value.isNull) }
  /// The message of every error about a whole composite.
  package var refusal: String { Self.refusal(name, parts.map(\.name)) }

  package static func refusal(_ name: String, _ parts: [String]) -> String {
    "\(needsPart(name)); \(suggestion(parts))"
  }

  package static func needsPart(_ name: String) -> String {
    "'\(name)' is a composite, which can only be compared with nil"
  }

  package static func suggestion(_ parts: [String]) -> String {
    parts.isEmpty
      ? "it has no parts"
      : "use one of its parts: " + parts.prefix(6).joined(separator: ", ") + (parts.count > 6 ? " …" : "")
  }
}
