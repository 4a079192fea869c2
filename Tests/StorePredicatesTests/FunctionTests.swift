import Foundation
import StorePredicates
import Testing

/// Expressions without keys, evaluated.
enum Calculation {
  static func value(_ text: String) throws -> PredicateValue {
    let evaluator = PredicateEvaluator(list: [], now: Date(timeIntervalSinceReferenceDate: 0), entityName: "Thing")
    return try evaluator.value(of: FetchExpression(format: text))
  }

  static func text(_ value: PredicateValue) -> String {
    switch value {
    case .value(let value): value.isNull ? "null" : value.typedText
    case .list(let list): "[" + list.map(text).joined(separator: ", ") + "]"
    default: "object"
    }
  }

  static func text(of expression: String) throws -> String { text(try value(expression)) }

  /// The message of the error.
  static func failure(_ expression: String) throws -> String {
    do { return "no error, but \(text(try value(expression)))" } catch let error as PredicateEvaluationError {
      #expect(error.entityName == "Thing" || error.kind == .stepLimitExceeded)
      return error.message
    }
  }

  /// Bytes as a constant of the language.
  static func data(_ bytes: [UInt8]) -> String { "CAST('\(Data(bytes).base64EncodedString())', 'NSData')" }
}

@Suite("Functions of the predicate language") struct FunctionTests {
  @Test(
    "a function has this result",
    arguments: [
      // Rounding: halves away from zero; a double as it is shown.
      ("round:(2.5)", "double:3.0"), ("round:(-2.5)", "double:-3.0"), ("round:(2.675, 2)", "double:2.68"),
      ("round:digits:(1234, -2)", "integer:1200"), ("round(1250, -2)", "integer:1300"), ("round:(7)", "integer:7"),
      ("round:(CAST('2.345', 'NSDecimalNumber'), 2)", "decimal:2.35"),
      ("round:(CAST('-0.5', 'NSDecimalNumber'))", "decimal:-1"), ("round:(1e300, 2)", "double:1e+300"),
      ("round:(5e-324, 3)", "double:0.0"), ("round:(9223372036854775807, -1)", "double:9.223372036854776e+18"),
      ("round:(-9223372036854775808, -19)", "double:-1e+19"), ("round:(nil)", "null"),
      // Null.
      ("coalesce:(nil, nil, 3, 4)", "integer:3"), ("coalesce:(nil)", "null"), ("coalesce:('a', 1)", "string:a"),
      ("trim:(nil)", "null"), ("year:(nil)", "null"), ("replace:('a', nil, 'b')", "null"), ("kind:(nil)", "null"),
      ("'a' + nil", "null"), ("percentile:({1, 2}, nil)", "null"),
      // Texts.
      ("'a' + 'b' + 'c'", "string:abc"), ("trim:('  a b\t\n')", "string:a b"), ("trim:(' ')", "string:"),
      ("replace:('banana', 'an', 'AN')", "string:bANANa"), ("replace:('aaa', 'aa', 'b')", "string:ba"),
      ("replace:('abc', '', 'x')", "string:abc"), ("substring:('héllo', 1, 3)", "string:éll"),
      ("substring:('abc', 1)", "string:bc"), ("substring:('abc', 5, 1)", "string:"),
      ("substring:('abc', 0, 0)", "string:"), ("concat:('a', 1, CAST('2.50', 'NSDecimalNumber'))", "string:a12.50"),
      ("split:('a,b,,c', ',')", "[string:a, string:b, string:, string:c]"), ("split:('', ',')", "[string:]"),
      ("join:({'a', nil, 'b', 3}, '-')", "string:a-b-3"), ("join:({}, '-')", "string:"),
      ("uppercase:({'a', 'b'})", "[string:A, string:B]"), ("trim:({' a', nil})", "[string:a, null]"),
      // Statistics.
      ("percentile:({4, 1, 3, 2}, 0.5)", "double:2.5"), ("percentile:({4, 1, 3, 2}, 0)", "double:1.0"),
      ("percentile:({4, 1, 3, 2}, 1)", "double:4.0"), ("percentile:({10}, 0.9)", "double:10.0"),
      ("percentile:({}, 0.5)", "null"), ("percentile:({nil, 2}, 0.5)", "double:2.0"),
      ("percentile:({CAST('1.0', 'NSDecimalNumber'), 2}, 0.25)", "decimal:1.250"), ("median:({3, 1, 2})", "double:2.0"),
      ("first:({3, 1})", "integer:3"), ("last:({3, 1})", "integer:1"),
      // Contents.
      ("size:('é')", "integer:2"), ("hex:('é')", "string:c3a9"), ("text:('a')", "string:a"),
      ("text:(CAST('w6k=', 'NSData'))", "string:é"), ("hex:(CAST('', 'NSData'))", "string:"),
    ])
  func results(_ expression: String, _ expected: String) throws {
    #expect(try Calculation.text(of: expression) == expected)
    // What is printed is parsed again as the same.
    let tree = try FetchExpression(format: expression)
    #expect(try FetchExpression(format: "\(tree)") == tree)
  }

  @Test(
    "a date has these fields, in UTC or in a time zone",
    arguments: [
      ("year:(CAST('2024-12-30T23:30:00Z', 'NSDate'))", "integer:2024"),
      ("year:('2024-12-31T23:30:00Z', '+01:00')", "integer:2025"), ("month:('2024-02-29')", "integer:2"),
      ("day:('2024-02-29')", "integer:29"), ("day:('2024-03-01', '-00:30')", "integer:29"),
      ("weekday:('2001-01-01')", "integer:1"), ("weekday:('2000-12-31')", "integer:7"),
      ("week:('2024-12-30')", "integer:1"), ("week:('2021-01-03')", "integer:53"), ("week:('2021-01-04')", "integer:1"),
      ("quarter:('2024-03-31')", "integer:1"), ("quarter:('2024-04-01')", "integer:2"),
      ("hour:('1969-12-31T23:59:59Z')", "integer:23"), ("minute:('1969-12-31T23:58:59Z')", "integer:58"),
      ("second:('1969-12-31T23:58:59.9Z')", "integer:59"), ("year:('0000-01-01')", "integer:0"),
      ("year:(CAST(-1e14, 'NSDate'))", "integer:-3166873"),
      ("hour:('2024-07-01T12:00:00Z', 'Europe/Berlin')", "integer:14"),
      ("hour:('2024-01-01T12:00:00Z', 'Europe/Berlin')", "integer:13"),
      ("hour:('2024-01-01T12:00:00Z', 'Asia/Kolkata')", "integer:17"),
      ("hour:('2024-01-01T12:00:00Z', 'UTC')", "integer:12"),
      ("dateText:('2024-07-01T12:00:00.75Z')", "string:2024-07-01T12:00:00Z"),
      ("dateText:('2024-07-01T12:00:00Z', 'America/St_Johns')", "string:2024-07-01T09:30:00-02:30"),
      // An offset with seconds, which ISO 8601 has not: the moment stays the same.
      ("dateText:('1880-01-01T00:00:00Z', 'Europe/Berlin')", "string:1880-01-01T00:53:00+00:53"),
      ("dateText:(startOf:('2024-08-15T12:34:56Z', 'year'))", "string:2024-01-01T00:00:00Z"),
      ("dateText:(startOf:('2024-08-15T12:34:56Z', 'quarter'))", "string:2024-07-01T00:00:00Z"),
      ("dateText:(startOf:('2024-08-15T12:34:56Z', 'MONTH'))", "string:2024-08-01T00:00:00Z"),
      ("dateText:(startOf:('2024-08-15T12:34:56Z', 'week'))", "string:2024-08-12T00:00:00Z"),
      ("dateText:(startOf:('2024-08-15T12:34:56Z', 'hour'))", "string:2024-08-15T12:00:00Z"),
      ("dateText:(startOf:('1999-12-31T23:00:01Z', 'minute'))", "string:1999-12-31T23:00:00Z"),
      ("dateText:(startOf:('2024-03-31T10:00:00Z', 'day', 'Europe/Berlin'))", "string:2024-03-30T23:00:00Z"),
      ("dateText:(startOf:('2024-10-27T10:00:00Z', 'day', 'Europe/Berlin'))", "string:2024-10-26T22:00:00Z"),
      // Clocks were put forward at midnight: the day begins at one. They were put back at one: it begins the first
      // time.
      ("dateText:(startOf:('2018-11-04T12:00:00Z', 'day', 'America/Sao_Paulo'))", "string:2018-11-04T03:00:00Z"),
      ("dateText:(startOf:('2024-11-03T12:00:00Z', 'day', 'America/Havana'))", "string:2024-11-03T04:00:00Z"),
      ("dateText:(startOf:('2024-11-03T04:30:00Z', 'day', 'America/Havana'))", "string:2024-11-03T04:00:00Z"),
    ])
  func dates(_ expression: String, _ expected: String) throws {
    #expect(try Calculation.text(of: expression) == expected)
  }

  @Test("the fields of days are those of Foundation's calendar, and lead back to the day", arguments: 0..<40)
  func calendar(_ seed: Int) throws {
    var calendar = Calendar(identifier: .iso8601)
    calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
    // After the Gregorian calendar was introduced, for which Foundation's knows another one.
    for step in 0..<50 {
      let seconds = (seed * 50 + step) * 14_123_457 - 12_000_000_000
      let date = Date(timeIntervalSinceReferenceDate: Double(seconds))
      let known = calendar.dateComponents(
        [.year, .month, .day, .hour, .minute, .second, .weekday, .weekOfYear], from: date)
      let text = "CAST(\(seconds), 'NSDate')"
      for (name, value) in [
        ("year", known.year), ("month", known.month), ("day", known.day), ("hour", known.hour),
        ("minute", known.minute), ("second", known.second), ("week", known.weekOfYear),
        ("weekday", known.weekday.map { ($0 + 5) % 7 + 1 }),
      ] {
        #expect(try Calculation.text(of: "\(name):(\(text))") == "integer:\(try #require(value))", "\(name) of \(date)")
      }
      for unit in ["year", "month", "week", "day", "hour"] {
        let again = try Calculation.value("startOf:(startOf:(\(text), '\(unit)'), '\(unit)')")
        #expect(Calculation.text(again) == (try Calculation.text(of: "startOf:(\(text), '\(unit)')")))
      }
    }
  }

  @Test(
    "an error names the function",
    arguments: [
      ("year:(1)", "year: requires a date, not "), ("year:('soon')", "year: requires a date; a date is written"),
      ("year:(CAST(1e300, 'NSDate'))", "year: has no result for a date so far from now"),
      ("month:('2024-01-01', 'Europe/Nowhere')", "month: 'Europe/Nowhere' is not a time zone: write"),
      ("month:('2024-01-01', '')", "month: '' is not a time zone"),
      ("startOf:('2024-01-01', 'decade')", "startOf: requires 'year', 'quarter'"),
      ("dateText:(CAST(-1e13, 'NSDate'))", "dateText: has no result for the year -314887"),
      ("round:(1, 99)", "round: rounds to at most 38 digits"), ("round:('a')", "round: requires a number, not "),
      ("round:(1, 0.5)", "round: requires an integer, not 0.5"),
      ("substring:('a', -1)", "substring: requires a position from 0"), ("trim:(1)", "trim: requires a string"),
      ("split:('a', '')", "split: requires a separator"), ("percentile:({1}, 2)", "percentile: requires a fraction"),
      ("'a' + 1", "add:to: requires numbers, not "),
      ("concat:('a', CAST('', 'NSData'))", "concat: requires strings or numbers"),
      ("text:(CAST('/w==', 'NSData'))", "text: requires UTF-8, and these 1 bytes are not"),
      ("hex:(1)", "hex: requires binary data, not "),
      ("gunzip:(CAST('H4sI', 'NSData'))", "gunzip: cannot decompress: the compressed data is truncated"),
      ("gunzip:(CAST('AAAA', 'NSData'))", "gunzip: cannot decompress: the bytes are not compressed"),
      ("plist:('nothing')", "plist: "), ("archive:(CAST('YnBsaXN0MDA=', 'NSData'))", "archive: "),
      ("protobuf:(CAST('CA==', 'NSData'))", "protobuf: finds the end of the bytes within a message, at byte 1"),
      ("protobuf:(CAST('CAE=', 'NSData'), 'a.b')", "protobuf: requires a path of numbers such as '2.3.2'"),
      ("protobuf:(CAST('CAE=', 'NSData'), '1.2')", "protobuf: finds a number where the path '1.2' needs a message"),
    ])
  func errors(_ expression: String, _ message: String) throws {
    let found = try Calculation.failure(expression)
    #expect(found.hasPrefix(message), "\(found)")
  }

  @Test("a text that grows beyond its limit is an error, at once")
  func limits() throws {
    var text = "'0123456789'"
    for _ in 0..<9 { text = "replace:(replace:(\(text), '0', '00000000000000000000'), '1', '00000000000000000000')" }
    let found = try Calculation.failure(text)
    #expect(
      found.hasPrefix("replace: has a result of more than 67108864 bytes") || found.contains("steps"), "\(found)")
  }

  @Test("the number of arguments is checked where a tree was built in code, too")
  func counts() throws {
    let evaluator = PredicateEvaluator(list: [], now: Date(), entityName: "Thing")
    for (name, arguments) in [("abs:", 0), ("noindex:", 0), ("startOf:", 1), ("percentile:", 1), ("no such", 1)] {
      let tree = FetchExpression.function(name, [FetchExpression](repeating: .constant(.integer(1)), count: arguments))
      #expect(throws: PredicateEvaluationError.self) { try evaluator.value(of: tree) }
    }
    #expect(throws: PredicateFormatError.self) { try FetchExpression(format: "startOf:(now())") }
    #expect(throws: PredicateFormatError.self) { try FetchExpression(format: "coalesce:()") }
  }
}
