/// A condition on objects: the counterpart of `NSPredicate`, as a value.
///
/// ```swift
/// let expensive = try FetchPredicate(format: "price > %@ AND author.name BEGINSWITH[c] 'a'", 20)
/// let either = FetchPredicate.or([expensive, try FetchPredicate(format: "available == YES")])
/// print(either.predicateFormat)
/// ```
///
/// Create it from Core Data's format language (`FetchPredicate(format:)`), or from its cases. Two predicates are equal
/// if their trees are; parsing `predicateFormat` results in the same tree.
public indirect enum FetchPredicate: Hashable, Sendable {
  /// `TRUEPREDICATE`, `FALSEPREDICATE`.
  case value(Bool)
  /// A closure: see `FetchPredicate(_:block:)`.
  case block(FetchBlock)
  /// One comparison of two values.
  case comparison(Comparison)
  /// All conditions hold; true for an empty list.
  case and([FetchPredicate])
  /// At least one condition holds; false for an empty list.
  case or([FetchPredicate])
  /// The condition does not hold.
  case not(FetchPredicate)

  /// One comparison of two expressions.
  public struct Comparison: Hashable, Sendable {
    /// The left side.
    public var left: FetchExpression
    /// How the sides are compared.
    public var comparator: Comparator
    /// The right side.
    public var right: FetchExpression
    /// Which elements must fulfil the comparison, if the left side is a list.
    public var modifier: Modifier
    /// Whether case and accents count when strings are compared.
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
    /// The left value is less.
    case less = "<"
    /// The left value is greater.
    case greater = ">"
    /// The left value is less or equal.
    case lessOrEqual = "<="
    /// The left value is greater or equal.
    case greaterOrEqual = ">="
    /// The left value is between the two values on the right, or equal to one of them.
    case between = "BETWEEN"
    /// The left value is an element of the list on the right, or a substring of the string on the right.
    case isIn = "IN"
    /// The right value is an element of the list on the left, or a substring of the string on the left.
    case contains = "CONTAINS"
    /// The string on the left begins with the one on the right.
    case beginsWith = "BEGINSWITH"
    /// The string on the left ends with the one on the right.
    case endsWith = "ENDSWITH"
    /// The string on the left matches a pattern: `?` for one character, `*` for any number.
    case like = "LIKE"
    /// The whole string on the left matches a regular expression.
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

  /// How strings are compared.
  public struct Options: OptionSet, Sendable, Hashable {
    public let rawValue: Int
    @inlinable public init(rawValue: Int) { self.rawValue = rawValue }
    /// `[c]`: upper and lower case are equal.
    public static let caseInsensitive = Options(rawValue: 1)
    /// `[d]`: letters with and without accents are equal.
    public static let diacriticInsensitive = Options(rawValue: 2)
    /// `[n]`: the strings are already normalized; compare them unchanged.
    public static let normalized = Options(rawValue: 4)
    /// `[l]`: by the rules of a locale. It is parsed, but cannot be evaluated, because predicates do not have a locale.
    public static let localeSensitive = Options(rawValue: 8)
  }
}

/// A value in a predicate, or how to compute it: the counterpart of `NSExpression`.
///
/// ```swift
/// let total = try FetchExpression(format: "price * %@", 2)
/// ```
public indirect enum FetchExpression: Hashable, Sendable {
  /// A constant.
  case constant(StoredValue)
  /// An object, by its ID.
  case objectID(ManagedObjectID)
  /// `SELF`: the object, or value, that the predicate is evaluated on.
  case evaluatedObject
  /// `$NAME`, to be replaced: see ``FetchPredicate/substituting(_:)``.
  case variable(String)
  /// A key path from the object, which may contain operators such as `@count` and `@sum`.
  case keyPath([String])
  /// A key path from the value of an expression.
  case member(FetchExpression, [String])
  /// An element of a list: `list[0]`, `list[FIRST]`; or the number of elements: `list[SIZE]`.
  case element(FetchExpression, Element)
  /// A function by its selector's name, such as `sum:`, `add:to:`, `uppercase:`, `now`.
  case function(String, [FetchExpression])
  /// `FUNCTION(target, 'name', …)`: a function that the program registered.
  case custom(FetchExpression, String, [FetchExpression])
  /// `{ … }`.
  case aggregate([FetchExpression])
  /// `SUBQUERY(list, $x, predicate)`: the elements of a list that fulfil a predicate.
  case subquery(FetchExpression, variable: String, FetchPredicate)
  /// `one UNION other`, `INTERSECT`, `MINUS`: a set operation on two lists; the result has no duplicates.
  case set(SetOperation, FetchExpression, FetchExpression)
  /// `CAST(value, 'type')`.
  case cast(FetchExpression, String)
  /// `TERNARY(predicate, value, value)`.
  case conditional(FetchPredicate, FetchExpression, FetchExpression)
  /// `FETCH(request, context, countOnly)`: parsed, but cannot be evaluated.
  case fetch([FetchExpression])
  /// `$NAME := value`: parsed, but cannot be evaluated. Variables get their values from
  /// ``FetchPredicate/substituting(_:)``.
  case assignment(String, FetchExpression)

  /// An element of a list.
  public indirect enum Element: Hashable, Sendable {
    /// The element at an index, starting at 0.
    case at(FetchExpression)
    /// The first one.
    case first
    /// The last one.
    case last
    /// The number of elements, rather than an element.
    case size
  }
  /// A set operation on two lists.
  public enum SetOperation: String, Sendable {
    /// The elements of either list.
    case union = "UNION"
    /// The elements of both lists.
    case intersect = "INTERSECT"
    /// The elements of the first list that are not in the second.
    case minus = "MINUS"
  }
}
