/// A condition on objects: what `NSPredicate` is elsewhere, as a value.
///
/// Made from Core Data's format language (``init(format:_:)``), or case by case. Two are equal when they are the same
/// tree; ``predicateFormat`` is a text that gives the same tree again.
public indirect enum FetchPredicate: Hashable, Sendable {
  /// `TRUEPREDICATE`, `FALSEPREDICATE`.
  case value(Bool)
  /// A closure: see ``init(_:block:)``.
  case block(FetchBlock)
  case comparison(Comparison)
  /// All of them; true for none.
  case and([FetchPredicate])
  /// One of them at least; false for none.
  case or([FetchPredicate])
  case not(FetchPredicate)

  /// One comparison of two expressions.
  public struct Comparison: Hashable, Sendable {
    public var left: FetchExpression
    public var comparator: Comparator
    public var right: FetchExpression
    public var modifier: Modifier
    public var options: Options

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
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case greater = ">"
    case lessOrEqual = "<="
    case greaterOrEqual = ">="
    case between = "BETWEEN"
    /// The left one is among those on the right, or a substring of the text on the right.
    case isIn = "IN"
    case contains = "CONTAINS"
    case beginsWith = "BEGINSWITH"
    case endsWith = "ENDSWITH"
    /// With wildcards: `?` for one character, `*` for any number.
    case like = "LIKE"
    /// A regular expression for the whole text.
    case matches = "MATCHES"
  }

  /// Which elements of a to-many on the left must fulfil the comparison. `NONE` is ``FetchPredicate/not(_:)`` of `.any`.
  public enum Modifier: String, Sendable {
    case direct = ""
    case all = "ALL"
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
  case constant(StoredValue)
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
  case set(SetOperation, FetchExpression, FetchExpression)
  /// `CAST(value, 'type')`.
  case cast(FetchExpression, String)
  /// `TERNARY(predicate, value, value)`.
  case conditional(FetchPredicate, FetchExpression, FetchExpression)
  /// `FETCH(request, context, countOnly)`: parsed, and refused when it is run.
  case fetch([FetchExpression])
  /// `$NAME := value`: parsed, and refused when it is run: variables are given by ``substituting(_:)``.
  case assignment(String, FetchExpression)

  public indirect enum Element: Hashable, Sendable {
    case at(FetchExpression)
    case first
    case last
    case size
  }
  public enum SetOperation: String, Sendable {
    case union = "UNION"
    case intersect = "INTERSECT"
    case minus = "MINUS"
  }
}
