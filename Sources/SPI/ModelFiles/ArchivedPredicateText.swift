import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// Converts archived predicates and expressions to the text that they are parsed from; nil if there is no such text.
struct ArchivedPredicateText {
  /// Objects may be shared: the size of what they expand to is limited over a whole model.
  private var nodesLeft: Int
  private static let maximumDepth = 64
  private static let maximumLength = 65_536

  init(maximumNodeCount: Int = 200_000) { nodesLeft = maximumNodeCount }

  mutating func predicate(_ object: KeyedArchive.Value) throws(PersistentStoreError) -> String? {
    try bounded(try predicate(object, depth: 0))
  }
  mutating func expression(_ object: KeyedArchive.Value) throws(PersistentStoreError) -> String? {
    try bounded(try expression(object, depth: 0))
  }

  private func bounded(_ text: String?) throws(PersistentStoreError) -> String? {
    text.flatMap { $0.utf8.count <= Self.maximumLength ? $0 : nil }
  }

  private mutating func enter(_ object: KeyedArchive.Value, _ depth: Int) throws(PersistentStoreError) {
    nodesLeft -= 1
    guard depth <= Self.maximumDepth, nodesLeft >= 0 else {
      throw object.malformed(
        "predicates and expressions are nested too deep, or shared too often", code: .limitExceeded)
    }
  }

  /// Joins the parts, unless the result is too long: shared parts can multiply.
  private func joined(_ parts: [String], _ separator: String) -> String? {
    guard parts.reduce(0, { $0 + $1.utf8.count }) <= Self.maximumLength else { return nil }
    return parts.joined(separator: separator)
  }

  // MARK: Predicates

  private mutating func predicate(_ object: KeyedArchive.Value, depth: Int) throws(PersistentStoreError) -> String? {
    try enter(object, depth)
    switch object.className {
    case "NSTruePredicate"?: return "TRUEPREDICATE"
    case "NSFalsePredicate"?: return "FALSEPREDICATE"
    case "NSCompoundPredicate"?: return try compound(object, depth)
    case "NSComparisonPredicate"?: return try comparison(object, depth)
    default: return nil
    }
  }

  private mutating func compound(_ object: KeyedArchive.Value, _ depth: Int) throws(PersistentStoreError) -> String? {
    var parts: [String] = []
    for part in try object.list("NSSubpredicates") ?? [] {
      guard let text = try predicate(part, depth: depth + 1) else { return nil }
      parts.append(part.className == "NSCompoundPredicate" ? "(\(text))" : text)
    }
    switch try object.integer("NSCompoundPredicateType") {
    case 0?: return parts.count == 1 ? "NOT " + (parts[0].hasPrefix("(") ? parts[0] : "(\(parts[0]))") : nil
    case 1?: return parts.isEmpty ? "TRUEPREDICATE" : joined(parts, " AND ")
    case 2?: return parts.isEmpty ? "FALSEPREDICATE" : joined(parts, " OR ")
    default: return nil
    }
  }

  private mutating func comparison(_ object: KeyedArchive.Value, _ depth: Int) throws(PersistentStoreError) -> String? {
    guard let left = try object["NSLeftExpression"], let right = try object["NSRightExpression"],
      let comparator = try object["NSPredicateOperator"], let leftText = try expression(left, depth: depth + 1),
      let rightText = try expression(right, depth: depth + 1), let sign = try Self.sign(comparator)
    else { return nil }
    let modifier = [1: "ALL ", 2: "ANY "][try comparator.integer("NSModifier") ?? 0] ?? ""
    return joined([modifier + leftText, sign, rightText], " ")
  }

  static func sign(_ comparator: KeyedArchive.Value) throws(PersistentStoreError) -> String? {
    let signs = [
      0: "<", 1: "<=", 2: ">", 3: ">=", 4: "==", 5: "!=", 6: "MATCHES", 7: "LIKE", 8: "BEGINSWITH", 9: "ENDSWITH",
      10: "IN",
      99: "CONTAINS", 100: "BETWEEN",
    ]
    guard let type = try comparator.integer("NSOperatorType"), let sign = signs[type] else { return nil }
    let options = try comparator.first(of: "NSOptions", "NSFlags")?.integerValue ?? 0
    let letters = (options & 1 != 0 ? "c" : "") + (options & 2 != 0 ? "d" : "")
    return letters.isEmpty ? sign : sign + "[\(letters)]"
  }

  // MARK: Expressions

  private mutating func expression(_ object: KeyedArchive.Value, depth: Int) throws(PersistentStoreError) -> String? {
    try enter(object, depth)
    switch object.className {
    case "NSSelfExpression"?: return "SELF"
    case "NSVariableExpression"?: return try object.string("NSVariable").map { "$" + $0 }
    case "NSConstantValueExpression"?: return try constant(try object["NSConstantValue"], depth)
    case "NSKeyPathSpecifierExpression"?: return try object.string("NSKeyPath")
    case "NSKeyPathExpression"?, "NSFunctionExpression"?: return try function(object, depth)
    case "NSAggregateExpression"?:
      var parts: [String] = []
      for part in try object.list("NSCollection") ?? [] {
        guard let text = try expression(part, depth: depth + 1) else { return nil }
        parts.append(text)
      }
      return joined(parts, ", ").map { "{\($0)}" }
    case "NSSubqueryExpression"?:
      guard let collection = try object.first(of: "NSCollectionExpression", "NSSubqueryCollection"),
        let variable = try object.string("NSVariable"), let condition = try object["NSPredicate"],
        let collectionText = try expression(collection, depth: depth + 1),
        let text = try predicate(condition, depth: depth + 1)
      else { return nil }
      return "SUBQUERY(\(collectionText), $\(variable), \(text))"
    case "NSFetchRequestExpression"?:
      guard let request = try object["NSFRExpression"], let context = try object["NSMOCExpression"],
        let requestText = try expression(request, depth: depth + 1),
        let contextText = try expression(context, depth: depth + 1)
      else { return nil }
      return "FETCH(\(requestText), \(contextText), \(try object.boolean("NSCountOnlyFlag") ? "YES" : "NO"))"
    default: return nil
    }
  }

  private mutating func function(_ object: KeyedArchive.Value, _ depth: Int) throws(PersistentStoreError) -> String? {
    guard let selector = try object.string("NSSelectorName") else { return nil }
    var arguments: [String] = []
    for argument in try object.list("NSArguments") ?? [] {
      guard let text = try expression(argument, depth: depth + 1) else { return nil }
      arguments.append(text)
    }
    let operand = try object["NSOperand"]
    if selector == "valueForKeyPath:" || selector == "valueForKey:", arguments.count == 1,
      try object.list("NSArguments")?.first?.className == "NSKeyPathSpecifierExpression"
    {
      guard let operand, operand.className != "NSSelfExpression" else { return arguments[0] }
      guard var text = try expression(operand, depth: depth + 1) else { return nil }
      if try Self.level(operand) != nil { text = "(\(text))" }
      return joined([text, arguments[0]], ".")
    }
    if let (sign, level) = Self.arithmetic[selector], arguments.count == 2 {
      let list = try object.list("NSArguments") ?? []
      // Of two equal signs the parser takes the left one first, of two powers the right one.
      let groupedLater = sign == "**" ? 0 : 1
      for (index, argument) in list.enumerated() {
        let isNegativeBase = sign == "**" && index == 0 && arguments[index].hasPrefix("-")
        let inner = try Self.level(argument) ?? (isNegativeBase ? 0 : .max)
        if inner < level || inner == level && index == groupedLater { arguments[index] = "(\(arguments[index]))" }
      }
      return joined(arguments, " \(sign) ")
    }
    let list = joined(arguments, ", ") ?? ""
    // A built-in function; others are methods of an operand.
    guard let operand else { return "\(selector)(\(list))" }
    if operand.className == "NSConstantValueExpression", try operand["NSConstantValueClassName"] != nil {
      return "\(selector)(\(list))"
    }
    guard let text = try expression(operand, depth: depth + 1) else { return nil }
    return joined([text, "'\(selector)'"] + arguments, ", ").map { "FUNCTION(\($0))" }
  }

  /// Selectors that have signs, and how strongly these bind.
  private static let arithmetic = [
    "add:to:": ("+", 1), "from:subtract:": ("-", 1), "multiply:by:": ("*", 2), "divide:by:": ("/", 2),
    "raise:toPower:": ("**", 3),
  ]

  /// How strongly the sign of an expression binds; nil for one that is written without a sign.
  private static func level(_ object: KeyedArchive.Value) throws(PersistentStoreError) -> Int? {
    guard object.className == "NSFunctionExpression", try object.list("NSArguments")?.count == 2,
      let selector = try object.string("NSSelectorName")
    else { return nil }
    return arithmetic[selector]?.1
  }

  private mutating func constant(_ value: KeyedArchive.Value?, _ depth: Int) throws(PersistentStoreError) -> String? {
    guard let value else { return "nil" }
    try enter(value, depth)
    if let text = value.stringValue { return Self.quoted(text) }
    if let flag = value.booleanValue { return flag ? "YES" : "NO" }
    if let number = value.decimalValue { return number.description }
    if let number = value.integerValue { return String(number) }
    if let number = value.realValue { return number.description }
    if let date = value.dateValue { return "CAST(\(date.timeIntervalSinceReferenceDate), 'NSDate')" }
    guard value.classNames.contains(where: { ["NSArray", "NSSet"].contains($0) }) else { return nil }
    var parts: [String] = []
    for element in try value.elements() {
      guard let text = try constant(element.isNull ? nil : element, depth + 1) else { return nil }
      parts.append(text)
    }
    return joined(parts, ", ").map { "{\($0)}" }
  }

  static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\\(scalar)"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
