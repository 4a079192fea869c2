/// What a load does with relationships whose two ends contradict each other, and with references to objects that do not
/// exist.
///
/// Callers set both as options by the names below, whatever the format; the kit takes them out before the format sees
/// its own.
public struct RelationshipRules: Sendable, Hashable {
  /// The option `inverses`: what happens where one end names an object that does not name it back.
  public enum Inverses: String, Sendable, Hashable, CaseIterable {
    /// An error (`.inverseMismatch`) that names both ends.
    case refuse
    /// The to-one end is right: the to-many end follows.
    case fromToOne = "from-to-one"
    /// The to-many end is right: the to-one end follows.
    case fromToMany = "from-to-many"
  }
  /// The option `dangling`: what happens to a reference to an object that does not exist, or is not of the destination
  /// entity.
  public enum DanglingReferences: String, Sendable, Hashable, CaseIterable {
    /// An error (`.danglingReference`).
    case refuse
    /// The relationship does not name it.
    case nullify
    /// The same, and its text is kept in the metadata, under ``RelationshipRules/danglingReferencesKey``.
    case keepAsText = "keep-as-text"
  }
  /// What happens where the two ends of a relationship contradict each other. By default the store is refused.
  public var inverses = Inverses.refuse
  /// What happens to references to objects that do not exist. By default the store is refused.
  public var danglingReferences = DanglingReferences.refuse

  /// The metadata entry for references that were kept as text: a dictionary of `Employee/3.department` with an array of
  /// texts, as `Department/99`.
  public static let danglingReferencesKey = "AtomicStoreDanglingReferences"

  /// Creates the default rules, which refuse a store that is not sound.
  public init() {}
}
