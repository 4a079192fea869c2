public import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

extension FetchPredicate: CustomStringConvertible {
  /// The predicate as text of the format language. Parsing it returns an equal predicate.
  public var predicateFormat: String { text(inside: 0) }
  public var description: String { predicateFormat }

  /// The context: 0 for top level, 1 in an OR, 2 in an AND, 3 in a NOT.
  private func text(inside: Int) -> String {
    switch self {
    case .value(let flag): return flag ? "TRUEPREDICATE" : "FALSEPREDICATE"
    case .block(let block): return "BLOCKPREDICATE(\(PredicateText.quoted(block.name)))"
    case .or(let parts):
      if parts.isEmpty { return "FALSEPREDICATE" }
      if parts.count == 1 { return "(" + parts[0].text(inside: 0) + ")" }
      let text = parts.map { $0.text(inside: 1) }.joined(separator: " OR ")
      return inside > 0 ? "(\(text))" : text
    case .and(let parts):
      if parts.isEmpty { return "TRUEPREDICATE" }
      if parts.count == 1 { return "(" + parts[0].text(inside: 0) + ")" }
      let text = parts.map { $0.text(inside: 2) }.joined(separator: " AND ")
      return inside > 1 ? "(\(text))" : text
    case .not(let part): return "NOT " + part.text(inside: 3)
    case .comparison(let comparison):
      var text = comparison.modifier == .direct ? "" : comparison.modifier.rawValue + " "
      text += comparison.left.text(inside: 0) + " " + comparison.comparator.rawValue
      var letters = ""
      if comparison.options.contains(.caseInsensitive) { letters += "c" }
      if comparison.options.contains(.diacriticInsensitive) { letters += "d" }
      if comparison.options.contains(.normalized) { letters += "n" }
      if comparison.options.contains(.localeSensitive) { letters += "l" }
      if !letters.isEmpty { text += "[\(letters)]" }
      return text + " " + comparison.right.text(inside: 0)
    }
  }
}

extension FetchPredicate {
  /// Words that predicates write with a number sign where they are keys, in capitals.
  package static var keywords: Set<String> { PredicateText.reserved }
}

extension FetchExpression: CustomStringConvertible {
  public var description: String { text(inside: 0) }

  /// The context: 0 for top level, 1 in a sum or set operation, 2 in a product, 3 on the right of a product or power, 4
  /// on the left of a power or before a dot or bracket.
  func text(inside: Int) -> String {
    func list(_ parts: [FetchExpression]) -> String { parts.map { $0.text(inside: 0) }.joined(separator: ", ") }
    func wrapped(_ level: Int, _ text: String) -> String { inside >= level ? "(\(text))" : text }
    switch self {
    case .constant(let value): return PredicateText.literal(value, inside: inside)
    case .objectID(let id): return "CAST(\(PredicateText.quoted(id.uriRepresentation)), \"NSManagedObjectID\")"
    case .evaluatedObject: return "SELF"
    case .variable(let name): return "$" + name
    case .keyPath(let path): return PredicateText.path(path, isFirst: true)
    case .member(let base, let path): return base.text(inside: 4) + "." + PredicateText.path(path, isFirst: false)
    case .element(let base, let element):
      let text = base.text(inside: 4)
      switch element {
      case .at(let index): return "\(text)[\(index.text(inside: 0))]"
      case .first: return "\(text)[FIRST]"
      case .last: return "\(text)[LAST]"
      case .size: return "\(text)[SIZE]"
      }
    case .function(let name, let arguments):
      if arguments.count == 2 {
        switch name {
        case "add:to:": return wrapped(2, arguments[0].text(inside: 1) + " + " + arguments[1].text(inside: 2))
        case "from:subtract:": return wrapped(2, arguments[0].text(inside: 1) + " - " + arguments[1].text(inside: 2))
        case "multiply:by:": return wrapped(3, arguments[0].text(inside: 2) + " * " + arguments[1].text(inside: 3))
        case "divide:by:": return wrapped(3, arguments[0].text(inside: 2) + " / " + arguments[1].text(inside: 3))
        // No parentheses on the right, or the text would nest deeper than the one that it was parsed from.
        case "raise:toPower:": return wrapped(4, arguments[0].text(inside: 4) + " ** " + arguments[1].text(inside: 3))
        default: break
        }
        if let symbol = PredicateText.bitwiseSymbols[name] {
          return wrapped(1, arguments[0].text(inside: 0) + " \(symbol) " + arguments[1].text(inside: 1))
        }
      }
      return "\(name)(\(list(arguments)))"
    case .custom(let target, let name, let arguments):
      return "FUNCTION(" + list([target, .constant(.string(name))] + arguments) + ")"
    case .aggregate(let parts): return "{\(list(parts))}"
    case .subquery(let source, let variable, let predicate):
      return "SUBQUERY(\(source.text(inside: 0)), $\(variable), \(predicate.predicateFormat))"
    case .set(let operation, let one, let other):
      return wrapped(2, "\(one.text(inside: 1)) \(operation.rawValue) \(other.text(inside: 2))")
    case .cast(let value, let type): return "CAST(\(value.text(inside: 0)), \(PredicateText.quoted(type)))"
    case .conditional(let predicate, let one, let other):
      return "TERNARY(\(predicate.predicateFormat), \(one.text(inside: 0)), \(other.text(inside: 0)))"
    case .fetch(let parts): return "FETCH(\(list(parts)))"
    case .assignment(let name, let value): return wrapped(1, "$\(name) := \(value.text(inside: 0))")
    }
  }
}

enum PredicateText {
  static let bitwiseSymbols = [
    "bitwiseOr:with:": "|", "bitwiseAnd:with:": "&", "bitwiseXor:with:": "^", "leftshift:by:": "<<",
    "rightshift:by:": ">>",
  ]

  static func quoted(_ text: String) -> String {
    var result = String.UnicodeScalarView("\"".unicodeScalars)
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\":
        result.append("\\")
        result.append(scalar)
      case "\n": result.append(contentsOf: "\\n".unicodeScalars)
      case "\r": result.append(contentsOf: "\\r".unicodeScalars)
      case "\t": result.append(contentsOf: "\\t".unicodeScalars)
      case "\0": result.append(contentsOf: "\\0".unicodeScalars)
      default: result.append(scalar)
      }
    }
    result.append("\"")
    return String(result)
  }

  static func literal(_ value: StoredValue, inside: Int) -> String {
    func cast(_ text: String, _ type: String) -> String { "CAST(\(quoted(text)), \"\(type)\")" }
    switch value {
    case .null, .toOne, .toMany: return "nil"
    case .boolean(let flag): return flag ? "TRUE" : "FALSE"
    case .integer(let number): return number < 0 && inside > 0 ? "(\(number))" : "\(number)"
    case .double(let number):
      guard number.isFinite else { return cast("bits:" + String(number.bitPattern, radix: 16), "Double") }
      let text = "\(number)"
      return number.sign == .minus && inside > 0 ? "(\(text))" : text
    case .float(let number): return cast("\(number)", "Float")
    case .decimal(let number): return cast(number.description, "NSDecimalNumber")
    case .string(let text): return quoted(text)
    case .date(let date):
      if let text = DateText.text(date) { return cast(text, "NSDate") }
      let seconds = date.timeIntervalSinceReferenceDate
      return seconds.isFinite ? "CAST(\(seconds), \"NSDate\")" : cast("\(seconds)", "NSDate")
    case .data(let data): return cast(data.base64EncodedString(), "NSData")
    case .uuid(let uuid): return cast(uuid.uuidString, "NSUUID")
    case .uri(let text): return cast(text, "NSURL")
    }
  }

  static let reserved: Set<String> = [
    "AND", "OR", "NOT", "IN", "BETWEEN", "CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE", "MATCHES", "ANY", "SOME", "ALL",
    "NONE",
    "TRUE", "YES", "FALSE", "NO", "NIL", "NULL", "SELF", "TRUEPREDICATE", "FALSEPREDICATE", "SUBQUERY", "CAST",
    "TERNARY",
    "FUNCTION", "FETCH", "BLOCKPREDICATE", "UNION", "INTERSECT", "MINUS", "FIRST", "LAST", "SIZE",
  ]

  static func path(_ keys: [String], isFirst: Bool) -> String {
    var parts: [String] = []
    for (index, key) in keys.enumerated() {
      let isOperator = key.first == "@" && PredicateLexer.isWord(String(key.dropFirst()))
      if !isOperator, !PredicateLexer.isWord(key) {
        parts.append("#" + quoted(key))
      } else {
        let isReserved = index == 0 && isFirst && reserved.contains(key.uppercased())
        parts.append(isReserved ? "#" + key : key)
      }
    }
    return parts.joined(separator: ".")
  }
}

extension StepBudget {
  /// A budget whose error quotes the predicate.
  package convenience init(limit: Int, predicate: FetchPredicate?) {
    self.init(limit: limit, text: predicate.map { predicate in { predicate.predicateFormat } })
  }
}
