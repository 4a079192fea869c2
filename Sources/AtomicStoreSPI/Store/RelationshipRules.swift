/// What a load does with relationships whose two ends contradict each other, and with references to objects that do not exist.
///
/// Callers set both as options by the names below, whatever the format; the kit takes them out before the format sees its own.
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
  /// The option `dangling`: what happens to a reference to an object that does not exist, or is not of the destination entity.
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

  /// The metadata entry for references that were kept as text: a dictionary of `Employee/3.department` with an array of texts, as
  /// `Department/99`.
  public static let danglingReferencesKey = "AtomicStoreDanglingReferences"

  /// Creates the default rules, which refuse a store that is not sound.
  public init() {}

  /// The rules as options, for whoever lists those of a format.
  public static let options: [StoreOption] = [
    StoreOption(
      name: "inverses", help: "Where the two ends of a relationship contradict each other: refuse the store, or which end is right.",
      values: Inverses.allCases.map(\.rawValue)),
    StoreOption(
      name: "dangling",
      help: "References to objects that do not exist: refuse the store, leave them out, or leave them out and keep their text in the metadata.",
      values: DanglingReferences.allCases.map(\.rawValue)),
  ]

  /// Takes the rules out of the options.
  ///
  /// - Throws: `.invalidOption` for values that there are not.
  public init(taking options: inout StoreOptions) throws(PersistentStoreError) {
    inverses = try Self.take("inverses", from: &options) ?? .refuse
    danglingReferences = try Self.take("dangling", from: &options) ?? .refuse
  }

  private static func take<Choice: RawRepresentable<String> & CaseIterable>(
    _ name: String, from options: inout StoreOptions
  ) throws(PersistentStoreError) -> Choice? {
    guard let text = options.removeValue(forKey: name) else { return nil }
    guard let choice = Choice(rawValue: text) else {
      throw PersistentStoreError(
        .invalidOption, "the option '\(name)' takes \(Choice.allCases.map(\.rawValue).joined(separator: ", ")), not '\(text)'")
    }
    return choice
  }
}
