/// A condition on objects: what `NSPredicate` is elsewhere, as a value.
///
/// Made from Core Data's format language (`FetchPredicate(format:)`), or case by case. Two are equal when they are the
/// same tree; `predicateFormat` is a text that gives the same tree again.
public indirect enum FetchPredicate: Hashable, Sendable {
  /// `TRUEPREDICATE`, `FALSEPREDICATE`.
  case value(Bool)
  /// A closure: see `FetchPredicate(_:block:)`.
  case block(FetchBlock)
  /// One comparison of two values.
  case comparison(Comparison)
  /// All of them; true for none.
  case and([FetchPredicate])
  /// One of them at least; false for none.
  case or([FetchPredicate])
  /// Whether the condition does not hold.
  case not(FetchPredicate)

  /// One comparison of two expressions.
  public struct Comparison: Hashable, Sendable {
    /// The left side.
    public var left: FetchExpression
    /// How the sides are compared.
    public var comparator: Comparator
    /// The right side.
    public var right: FetchExpression
    /// Which elements must fulfil the comparison, where the left side is a list.
    public var modifier: Modifier
    /// Whether case and accents count, where texts are compared.
    public var options: Options

    /// Creates a comparison.
    public init(
      _ left: FetchExpression, _ comparator: Comparator, _ right: FetchExpression, modifier: Modifier = .direct,
      options: Options = []
    ) {
      self.left = left
      self.comparator = comparator
      self.right = right
      self.modifier = modifier
      self.options = options
    }
  }

  /// How two values are compared.
  public enum Comparator: String, Sendable, CaseIterable {
    /// Both are equal. Null equals null.
    case equal = "=="
    /// The two differ.
    case notEqual = "!="
    /// The left one is less.
    case less = "<"
    /// The left one is greater.
    case greater = ">"
    /// The left one is less or equal.
    case lessOrEqual = "<="
    /// The left one is greater or equal.
    case greaterOrEqual = ">="
    /// The left one is between the two values on the right, or equal to one of them.
    case between = "BETWEEN"
    /// The left one is among those on the right, or a substring of the text on the right.
    case isIn = "IN"
    /// The right one is among those on the left, or a substring of the text on the left.
    case contains = "CONTAINS"
    /// The text on the left begins with the one on the right.
    case beginsWith = "BEGINSWITH"
    /// The text on the left ends with the one on the right.
    case endsWith = "ENDSWITH"
    /// With wildcards: `?` for one character, `*` for any number.
    case like = "LIKE"
    /// A regular expression for the whole text.
    case matches = "MATCHES"
  }

  /// Which elements of a to-many on the left must fulfil the comparison. `NONE` is ``FetchPredicate/not(_:)`` of
  /// `.any`.
  public enum Modifier: String, Sendable {
    /// None: the left side is one value, or a list as a whole.
    case direct = ""
    /// All elements; true for an empty list.
    case all = "ALL"
    /// At least one element.
    case any = "ANY"
  }

  /// How texts are compared.
  public struct Options: OptionSet, Sendable, Hashable {
    public let rawValue: Int
    @inlinable public init(rawValue: Int) { self.rawValue = rawValue }
    /// `[c]`: capital and small letters are equal.
    public static let caseInsensitive = Options(rawValue: 1)
    /// `[d]`: letters with and without accents are equal.
    public static let diacriticInsensitive = Options(rawValue: 2)
    /// `[n]`: the texts are normalised already, compare them as they stand.
    public static let normalized = Options(rawValue: 4)
    /// `[l]`: by the rules of the reader's language. Parsed, and refused when it is run: there is no language here.
    public static let localeSensitive = Options(rawValue: 8)
  }
}

/// A value in a predicate, or how to come by one: what `NSExpression` is elsewhere.
public indirect enum FetchExpression: Hashable, Sendable {
  /// A value written into the predicate.
  case constant(StoredValue)
  /// An object, by its ID.
  case objectID(ManagedObjectID)
  /// `SELF`: the object, or value, that the predicate is asked of.
  case evaluatedObject
  /// `$NAME`, to be substituted: see ``FetchPredicate/substituting(_:)``.
  case variable(String)
  /// A path of keys from the object, among them operators such as `@count` and `@sum`.
  case keyPath([String])
  /// A path of keys from what an expression gives.
  case member(FetchExpression, [String])
  /// An element of a list: `list[0]`, `list[FIRST]`, or how many it has: `list[SIZE]`.
  case element(FetchExpression, Element)
  /// A function by its selector's name, such as `sum:`, `add:to:`, `uppercase:`, `now`.
  case function(String, [FetchExpression])
  /// `FUNCTION(target, 'name', …)`: a function that the program registered.
  case custom(FetchExpression, String, [FetchExpression])
  /// `{ … }`.
  case aggregate([FetchExpression])
  /// `SUBQUERY(list, $x, predicate)`: those of a list that fulfil a predicate.
  case subquery(FetchExpression, variable: String, FetchPredicate)
  /// `one UNION other`, `INTERSECT`, `MINUS`: of two lists, without duplicates.
  case set(SetOperation, FetchExpression, FetchExpression)
  /// `CAST(value, 'type')`.
  case cast(FetchExpression, String)
  /// `TERNARY(predicate, value, value)`.
  case conditional(FetchPredicate, FetchExpression, FetchExpression)
  /// `FETCH(request, context, countOnly)`: parsed, and refused when it is run.
  case fetch([FetchExpression])
  /// `$NAME := value`: parsed, and refused when it is run: variables are given by ``substituting(_:)``.
  case assignment(String, FetchExpression)

  /// Which element of a list.
  public indirect enum Element: Hashable, Sendable {
    /// The one at an index, from 0.
    case at(FetchExpression)
    /// The first one.
    case first
    /// The last one.
    case last
    /// Not an element: how many there are.
    case size
  }
  /// What is made of two lists.
  public enum SetOperation: String, Sendable {
    /// What is in at least one.
    case union = "UNION"
    /// What is in both.
    case intersect = "INTERSECT"
    /// What is in the first and not in the second.
    case minus = "MINUS"
  }
}
