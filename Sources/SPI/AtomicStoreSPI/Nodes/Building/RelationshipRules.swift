/// How a load treats relationships whose two ends contradict each other, references to objects that do not exist, and
/// objects that cannot be read.
///
/// Callers set them as options with the names below, for any format; the kit removes them before the format receives
/// its options.
package struct RelationshipRules: Sendable, Hashable {
  /// The option `inverses`: what happens if one end names an object that does not name it back.
  package enum Inverses: String, Sendable, Hashable, CaseIterable {
    /// An error (`.inverseMismatch`) that names both ends.
    case refuse
    /// If both ends are to-one, each is read as it is stored, as Core Data does, with a note; otherwise an error. The
    /// default when a store is opened.
    case toOneAsStored = "to-one-as-stored"
    /// Each end is read as it is stored, with a note.
    case asStored = "as-stored"
    /// Of a to-one and a to-many end, the to-one is correct: the to-many end is derived from it. If both ends are of
    /// the same kind, as ``fromToMany``.
    case fromToOne = "from-to-one"
    /// Of a to-one and a to-many end, the to-many is correct: the to-one end is derived from it. If several to-manys
    /// name one object, the one that the object names keeps it, otherwise the first. If both ends are to-many, both get
    /// the links that either has. If both are to-one, the same, as far as each object then names one: links that both
    /// ends have come first, then the others in the order of objects.
    case fromToMany = "from-to-many"
  }
  /// The option `dangling`: what happens to a reference to an object that does not exist, or is not of the destination
  /// entity.
  package enum DanglingReferences: String, Sendable, Hashable, CaseIterable {
    /// An error (`.danglingReference`).
    case refuse
    /// The reference is removed.
    case nullify
    /// The reference is removed, and its text is kept in the metadata, under
    /// ``RelationshipRules/danglingReferencesKey``.
    case keepAsText = "keep-as-text"
  }
  /// The option `damaged`: what happens to an object that cannot be read.
  package enum DamagedObjects: String, Sendable, Hashable, CaseIterable {
    /// An error.
    case refuse
    /// The object is left out, and so are references to it, references that cannot be read, and references to objects
    /// that do not exist, or that a to-many already names; each is reported as a loss, with its location. Once
    /// something is left out, so are links that only one end of a relationship has, unless the option `inverses` says
    /// how they are handled, or both ends are to-one. A store with such losses opens read-only. Formats that cannot
    /// tell a damaged object from a damaged store refuse it.
    case skip = "skip-object"
  }
  /// What happens if the two ends of a relationship contradict each other. By default, it is an error; the options of a
  /// store that is opened have the default ``Inverses/toOneAsStored``.
  package var inverses = Inverses.refuse
  /// Whether two to-one ends are read as they are stored, whatever ``inverses`` is.
  var keepsToOnes = false
  /// What happens to references to objects that do not exist. By default, the store is refused.
  package var danglingReferences = DanglingReferences.refuse

  /// What happens to objects that cannot be read. By default, the store is refused.
  package var damagedObjects = DamagedObjects.refuse
  /// With ``DamagedObjects/skip``: objects and relationships of which nothing may be left out; nil if anything may.
  package var neededObjects: NeededObjects?
  /// Whether each reference that is removed is reported as a loss, because `dangling` was not specified and
  /// `damaged=skip-object` implies it.
  var reportsRemovedReferences = false
  /// Whether the rules are those of options, so that errors name the option that helps.
  var namesOptions = false

  /// The metadata entry for references that were kept as text: a dictionary whose keys are like `Employee/3.department`
  /// and whose values are arrays of strings like `Department/99`.
  package static let danglingReferencesKey = "AtomicStoreDanglingReferences"

  /// Creates the default rules, which refuse an inconsistent store.
  package init() {}
}
