import AtomicStoreSPI
import FoundationEssentials

/// What a page asks.
package enum BrowserQuestion: Sendable, Equatable {
  /// A part of the objects of an entity.
  case rows(RowQuestion)
  /// How often which values are in a column, by its index, among the objects that match a predicate.
  case facet(RowQuestion, column: Int)
  /// The objects that match a predicate in groups, with a number for each group.
  case groups(GroupQuestion)
  /// One object, by its number.
  case object(Int)
  /// The objects in which a text occurs.
  case search(String)

  package struct RowQuestion: Sendable, Equatable {
    /// The index of the entity.
    package var entity: Int
    /// A predicate in the format language; empty for all objects.
    package var predicate = ""
    /// The property to sort by; nil for the order of the store.
    package var sortedBy: String?
    package var isDescending = false
    package var offset = 0
    /// How many objects are wanted; the answer may have fewer.
    package var limit = 25
  }

  package struct GroupQuestion: Sendable, Equatable {
    package var rows: RowQuestion
    /// The index of the column by whose values the objects are grouped.
    package var column: Int
    /// The unit of dates, such as `month`; empty for values themselves.
    package var unit = ""
    /// What is shown of each group: nil for the number of objects.
    package var measure: Measure?

    package struct Measure: Sendable, Equatable {
      /// `sum` or `average`.
      package var function: String
      /// The index of the column of numbers.
      package var column: Int
    }
  }

  /// Why a question is not understood.
  package struct Problem: Error, Equatable {
    package var text: String
  }

  /// Reads a question.
  ///
  /// - Parameters:
  ///   - name: The last part of the path: `rows`, `facet`, `groups`, `object` or `search`.
  ///   - values: The values of the query, by name.
  package init(_ name: String, _ values: [String: String]) throws(Problem) {
    switch name {
    case "rows", "facet", "groups":
      var rows = RowQuestion(entity: try Self.number("entity", values))
      rows.predicate = values["where"] ?? ""
      rows.sortedBy = values["sort"]
      rows.isDescending = values["descending"] == "1"
      if values["offset"] != nil { rows.offset = try Self.number("offset", values) }
      if values["limit"] != nil { rows.limit = try Self.number("limit", values) }
      switch name {
      case "rows": self = .rows(rows)
      case "facet": self = .facet(rows, column: try Self.number("column", values))
      default: self = .groups(try Self.groups(of: rows, values))
      }
    case "object": self = .object(try Self.number("number", values))
    case "search":
      guard let text = values["text"] else { throw Problem(text: "'text' is missing") }
      self = .search(text)
    default: throw Problem(text: "there is no '\(name)'")
    }
  }

  private static func groups(of rows: RowQuestion, _ values: [String: String]) throws(Problem) -> GroupQuestion {
    var groups = GroupQuestion(rows: rows, column: try number("by", values))
    groups.unit = values["unit"] ?? ""
    guard ["", "year", "month", "day"].contains(groups.unit) else {
      throw Problem(text: "'unit' must be year, month or day, not '\(groups.unit)'")
    }
    if let function = values["measure"] {
      guard ["sum", "average"].contains(function) else { throw Problem(text: "there is no '\(function)'") }
      groups.measure = .init(function: function, column: try number("of", values))
    }
    return groups
  }

  /// The names and values of a query as forms encode it: a space may be `+`.
  ///
  /// - Throws: What is wrong with it: a name that occurs twice, or what is not UTF-8 once it is decoded.
  package static func values(inQuery query: String) throws(Problem) -> [String: String] {
    var values: [String: String] = [:]
    for pair in query.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let texts = parts.map(decoded)
      guard let name = texts[0], let value = texts.count > 1 ? texts[1] : "" else {
        throw Problem(text: "the query is not percent-encoded UTF-8")
      }
      guard values.updateValue(value, forKey: name) == nil else { throw Problem(text: "'\(name)' occurs twice") }
    }
    return values
  }

  /// The text whose percent-encoded UTF-8 is given; nil if it is not.
  private static func decoded(_ text: Substring) -> String? {
    let spaced = text.utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
    return PercentEncoding.bytes(spaced).flatMap { String(validating: $0, as: UTF8.self) }
  }

  private static func number(_ name: String, _ values: [String: String]) throws(Problem) -> Int {
    guard let number = values[name].flatMap({ Int($0) }), number >= 0 else {
      throw Problem(text: "'\(name)' is not a number of 0 or more")
    }
    return number
  }
}
