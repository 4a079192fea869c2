import AtomicStoreSPI
import FoundationEssentials

/// Functions of texts. Positions and lengths count Unicode scalars.
extension PredicateFunction {
  static let texts: [PredicateFunction] =
    ["uppercase:", "lowercase:", "canonical:", "trim:"].map { PredicateFunction($0, 1...1, [.text], .text, changed) }
    + [
      PredicateFunction("length:", 1...1, [.text], .number, length),
      PredicateFunction("replace:", 3...3, [.text], .text, replace),
      PredicateFunction("substring:", 2...3, [.text, .number], .text, substring),
      PredicateFunction("concat:", 1...many, [.any], .text, concatenate),
      PredicateFunction("split:", 2...2, [.text], .list(.text), split),
      PredicateFunction("join:", 2...2, [.any, .text], .text, style: .whole, readsList: true, join),
    ]

  private static func changed(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    let text = try string(call)
    switch call.name {
    case "uppercase:": return .value(.string(text.uppercased()))
    case "lowercase:": return .value(.string(text.lowercased()))
    case "trim:": return .value(.string(trimmed(text)))
    default: return .value(.string(StringComparison.folded(text, [.caseInsensitive, .diacriticInsensitive])))
    }
  }

  private static func length(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    .value(.integer(Int64(try string(call).unicodeScalars.count)))
  }

  /// The first argument, which must be a string.
  private static func string(_ call: FunctionCall) throws(PredicateEvaluationError) -> String {
    guard case .value(.string(let text)) = call.arguments[0] else {
      throw call.failure("\(call.name) requires a string")
    }
    return text
  }

  private static func trimmed(_ text: String) -> String {
    let scalars = text.unicodeScalars
    guard let first = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
      let last = scalars.lastIndex(where: { !$0.properties.isWhitespace })
    else { return "" }
    return String(scalars[first...last])
  }

  private static func replace(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    let text = Array(try call.text(0).utf8)
    let sought = Array(try call.text(1).utf8)
    let new = Array(try call.text(2).utf8)
    guard !sought.isEmpty, sought.count <= text.count else {
      return .value(.string(String(decoding: text, as: UTF8.self)))
    }
    try call.budget.take(call.budget.stepsOfSearch(for: sought.count, in: text.count))
    var result: [UInt8] = []
    var place = 0
    while place < text.count {
      if text[place] == sought[0], place + sought.count <= text.count,
        text[place..<place + sought.count].elementsEqual(sought)
      {
        try call.check(bytes: result.count + new.count)
        result += new
        place += sought.count
      } else {
        result.append(text[place])
        place += 1
      }
    }
    try call.take(bytes: result.count)
    return .value(.string(String(decoding: result, as: UTF8.self)))
  }

  private static func substring(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    let start = try call.integer(1)
    let count = call.arguments.count > 2 ? try call.integer(2) : Int.max
    guard start >= 0, count >= 0 else {
      throw call.failure("\(call.name) requires a position from 0 and a length from 0, not \(start) and \(count)")
    }
    let rest = try call.text(0).unicodeScalars.dropFirst(start)
    return .value(.string(String(rest.prefix(count))))
  }

  private static func concatenate(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    var result = ""
    for argument in call.arguments {
      result += try call.words(argument)
      try call.check(bytes: result.utf8.count)
    }
    try call.take(bytes: result.utf8.count)
    return .value(.string(result))
  }

  private static func split(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    let text = Array(try call.text(0).utf8)
    let separator = Array(try call.text(1).utf8)
    guard !separator.isEmpty else { throw call.failure("split: requires a separator of at least one character") }
    try call.budget.take(call.budget.stepsOfSearch(for: separator.count, in: text.count))
    var parts: [PredicateValue] = []
    var start = 0
    var place = 0
    func part(_ end: Int) -> PredicateValue { .value(.string(String(decoding: text[start..<end], as: UTF8.self))) }
    while place + separator.count <= text.count {
      if text[place..<place + separator.count].elementsEqual(separator) {
        parts.append(part(place))
        try call.budget.checkList(parts.count)
        place += separator.count
        start = place
      } else {
        place += 1
      }
    }
    return .list(parts + [part(text.count)])
  }

  private static func join(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    if call.arguments.contains(where: \.isNull) { return .null }
    let separator = try call.text(1)
    var result = ""
    var isFirst = true
    for element in call.arguments[0].elements where !element.isNull {
      if !isFirst { result += separator }
      isFirst = false
      result += try call.words(element)
      try call.check(bytes: result.utf8.count)
    }
    try call.take(bytes: result.utf8.count)
    return .value(.string(result))
  }
}
