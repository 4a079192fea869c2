public import AtomicStoreKit
import AtomicStoreSPI
import StorePredicates

/// A new value for a property of objects: an expression over each object, or a value.
///
/// ```swift
/// try context.setValues(
///   [PropertyAssignment(parsing: "price=price * 0.9"), PropertyAssignment(parsing: "note:=sale")],
///   entityName: "Book", predicate: FetchPredicate(format: "price > 20"))
/// ```
public struct PropertyAssignment: Sendable {
  /// Where a value comes from.
  public enum Source: Sendable {
    /// An expression of the predicate language, evaluated on the object as it was before any assignment.
    case expression(FetchExpression)
    /// A text, read as the property's type; an object as `Entity/reference`. Empty for null.
    case text(String)
  }
  /// The property's name.
  public var property: String
  /// Where the value comes from.
  public var source: Source
  /// The assignment as it was written, for errors; nil for one that was not parsed.
  private(set) var written: String?
  /// The same as an assignment of a text: `note:=sale`.
  var writtenAsText: String {
    let text = written.flatMap { written in Self.equalsSign(in: written).map { written[$0...].dropFirst() } }
    return "\(property):=\(text ?? "TEXT")"
  }

  /// Creates an assignment of an expression.
  public init(_ property: String, _ expression: FetchExpression) {
    self.property = property
    source = .expression(expression)
  }

  /// Creates an assignment of a text.
  public init(_ property: String, text: String) {
    self.property = property
    source = .text(text)
  }

  /// Reads `PROPERTY=EXPRESSION` or `PROPERTY:=TEXT`.
  ///
  /// - Throws: `PredicateFormatError` for an expression that cannot be read; `PersistentStoreError` (`.invalidOption`)
  ///   for a text without an equals sign.
  public init(parsing text: String) throws {
    guard let equals = Self.equalsSign(in: text), equals != text.startIndex else {
      throw PersistentStoreError(
        .invalidOption, "'\(text)' is neither PROPERTY=EXPRESSION nor PROPERTY:=TEXT, in one word")
    }
    let value = String(text[text.index(after: equals)...])
    let name = text[..<equals]
    if name.hasSuffix(":") {
      self.init(String(name.dropLast()), text: value)
    } else {
      do throws(PredicateFormatError) {
        self.init(String(name), try FetchExpression(format: value))
      } catch {
        var error = error
        error.suggestion = (error.suggestion.map { $0 + "; " } ?? "") + "a text is given as \(name):=\(value)"
        throw error
      }
    }
    written = text
  }

  /// The equals sign after the property, which may be written as in predicates: `#"a=b"=5`.
  private static func equalsSign(in text: String) -> String.Index? {
    let signs = text.indices.lazy.filter { text[$0] == "=" }
    guard text.hasPrefix("#") else { return signs.first }
    return signs.first { equals in
      let name = text[..<equals]
      return FetchExpression.isKeyPath(String(name.hasSuffix(":") ? name.dropLast() : name))
    } ?? signs.first
  }
}
