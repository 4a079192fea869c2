package import AtomicStoreSPI

/// What an expression comes to.
package enum PredicateValue {
  case value(StoredValue)
  case object(any PredicateSubject)
  /// An object that is not at hand: it is compared by its ID.
  case id(ManagedObjectID)
  case list([PredicateValue])
  /// A composite attribute as a whole, of which nothing can be asked but whether it is nil.
  case composite(PredicateComposite)

  package static var null: PredicateValue { .value(.null) }

  package var isNull: Bool { if case .value(.null) = self { true } else { false } }
  /// The elements of a list; of anything else itself, of null nothing.
  package var elements: [PredicateValue] {
    switch self {
    case .list(let list): list
    case .value(.null): []
    default: [self]
    }
  }
}

/// A composite attribute of an object: its name, and what its parts are.
package struct PredicateComposite {
  package let name: String
  package let parts: [(name: String, value: PredicateValue)]
  package init(name: String, parts: [(name: String, value: PredicateValue)]) {
    self.name = name
    self.parts = parts
  }

  /// A composite is nil if all its parts are.
  package var isNull: Bool { parts.allSatisfy(\.value.isNull) }
  /// The sentence of every error about one.
  package var refusal: String { Self.refusal(name, parts.map(\.name)) }

  package static func refusal(_ name: String, _ parts: [String]) -> String {
    "\(needsPart(name)); \(suggestion(parts))"
  }

  package static func needsPart(_ name: String) -> String {
    "'\(name)' is a composite, which can be compared with nil alone"
  }

  package static func suggestion(_ parts: [String]) -> String {
    parts.isEmpty
      ? "it has no parts"
      : "ask for a part of it: " + parts.prefix(6).joined(separator: ", ") + (parts.count > 6 ? " …" : "")
  }
}
