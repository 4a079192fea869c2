/// How a load treats relationships whose two ends contradict each other, references to objects that do not exist, and
/// objects that cannot be read.
///
/// Callers set them as options with the names below, for any format; the kit removes them before the format receives
/// its options.
public struct RelationshipRules: Sendable, Hashable {
  /// The option `inverses`: what happens if one end names an object that does not name it back.
  public enum Inverses: String, Sendable, Hashable, CaseIterable {
    /// An error (`.inverseMismatch`) that names both ends.
    case refuse
    /// The to-one end is correct: the to-many end is derived from it.
    case fromToOne = "from-to-one"
    /// The to-many end is correct: the to-one end is derived from it. If both ends are to-many, the links that either
    /// end has are kept, and both ends get them.
    case fromToMany = "from-to-many"
  }
  /// The option `dangling`: what happens to a reference to an object that does not exist, or is not of the destination
  /// entity.
  public enum DanglingReferences: String, Sendable, Hashable, CaseIterable {
    /// An error (`.danglingReference`).
    case refuse
    /// The reference is removed.
    case nullify
    /// The reference is removed, and its text is kept in the metadata, under
    /// ``RelationshipRules/danglingReferencesKey``.
    case keepAsText = "keep-as-text"
  }
  /// The option `damaged`: what happens to an object that cannot be read.
  public enum DamagedObjects: String, Sendable, Hashable, CaseIterable {
    /// An error.
    case refuse
    /// The object is left out, and so are references to it, references that cannot be read, and references to objects
    /// that do not exist, or that a to-many already names; each is reported as a loss, with its location. Once
    /// something is left out, so are links that only one end of a relationship has, unless the option `inverses` says
    /// which end is correct. A store with such losses opens read-only. Formats that cannot tell a damaged object from a
    /// damaged store refuse it.
    case skip = "skip-object"
  }
  /// What happens if the two ends of a relationship contradict each other. By default, the store is refused.
  public var inverses = Inverses.refuse
  /// What happens to references to objects that do not exist. By default, the store is refused.
  public var danglingReferences = DanglingReferences.refuse

  /// What happens to objects that cannot be read. By default, the store is refused.
  public var damagedObjects = DamagedObjects.refuse
  /// Whether each reference that is removed is reported as a loss, because `dangling` was not specified and
  /// `damaged=skip-object` implies it.
  var reportsRemovedReferences = false

  /// The metadata entry for references that were kept as text: a dictionary whose keys are like `Employee/3.department`
  /// and whose values are arrays of strings like `Department/99`.
  public static let danglingReferencesKey = "AtomicStoreDanglingReferences"

  /// Creates the default rules, which refuse an inconsistent store.
  public init() {}
}
