public import AtomicStoreSPI

/// Something in a store that would make a save or another program fail.
public struct CheckFinding: Sendable, Hashable, CustomStringConvertible {
  /// The kinds, a closed list so that reports can be compared.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The store, or an object in it, cannot be read. If it is the store, nothing else is checked.
    case unreadable
    /// The model is questionable.
    case model
    /// A required value or object is missing. It is a warning if a to-many relationship without a minimum count is
    /// empty, as SwiftData writes its arrays.
    case missing
    /// A value breaks a rule of the model: a bound, a length, a pattern.
    case rule
    /// A to-many relationship has too few or too many objects.
    case count
    /// An object names another that does not name it back.
    case inverse
    /// A reference to an object that does not exist.
    case dangling
    /// Two objects have the same values of a uniqueness constraint.
    case unique
    /// A derived attribute does not have the value that its derivation gives. It is a warning.
    case derived
  }
  /// The kind of finding.
  public var kind: Kind
  /// The object; nil for the store or the model as a whole.
  public var object: ObjectReference?
  /// The property; several, separated by commas, for a uniqueness constraint of several.
  public var property: String?
  /// The value as text, cut after 200 characters; nil for none.
  public var value: String?
  /// What is wrong, in one sentence.
  public var message: String
  /// Whether nothing fails because of it: a warning about the model, a derived attribute, or an empty to-many.
  public var isWarning = false
  /// The rule that is broken, whatever the value is, where a property can break several.
  var rule: String?
  /// How far the number of objects of a to-many is beyond its bound.
  var excess: Int?

  public var description: String {
    let subject = (object.map(\.description) ?? "") + (property.map { object == nil ? $0 : "." + $0 } ?? "")
    return (isWarning ? "warning: " : "") + (subject.isEmpty ? message : "\(subject): \(message)")
  }
}

/// Which properties a check looks at.
package enum CheckedProperties {
  case all, attributes, relationships
}
