extension PersistentStoreError {
  /// What a caller can choose so that a call succeeds. Programs that have other names for it, such as the flags of the
  /// command, show those; ``description`` has the names of the library.
  ///
  /// ```swift
  /// throw PersistentStoreError(
  ///   .changedOnDisk, "the file was changed since the store was saved",
  ///   remedy: .readOption("edited=accept", effect: "reads it anyway"))
  /// ```
  public struct Remedy: Hashable, Sendable, CustomStringConvertible {
    package enum Choice: Hashable, Sendable {
      case readOption, writeOption
      /// What is at the path may be replaced.
      case replacement
      /// The result is another store than the source.
      case newStore
      /// The type of the result is named.
      case storeType
      /// Objects outside of a subset are included, or references to them removed.
      case relatedObjects
    }
    package let choice: Choice
    /// The options, as `name=value`.
    package let options: [String]
    /// What the choice does, as the end of a sentence.
    package let effect: String

    package init(_ choice: Choice, _ options: [String] = [], _ effect: String = "") {
      self.choice = choice
      self.options = options
      self.effect = effect
    }

    /// An option for reading.
    ///
    /// - Parameters:
    ///   - option: Name and value, as `rows=skip`.
    ///   - others: More of them, of which any does it.
    ///   - effect: What it does, as the end of a sentence: `leaves such rows out`.
    public static func readOption(_ option: String, or others: [String] = [], effect: String) -> Remedy {
      Remedy(.readOption, [option] + others, effect)
    }

    /// An option for writing, as ``readOption(_:or:effect:)``.
    public static func writeOption(_ option: String, or others: [String] = [], effect: String) -> Remedy {
      Remedy(.writeOption, [option] + others, effect)
    }

    /// `the option rows=skip leaves such rows out`; empty for a choice that has no name in the library.
    public var description: String {
      options.isEmpty ? "" : "the option \(options.joined(separator: " or ")) \(effect)"
    }
  }
}
