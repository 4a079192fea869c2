import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import TestSupport
import Testing

@Suite("The predicate language") struct PredicateLanguageTests {
  @Test(
    "different spellings give the same predicate",
    arguments: [
      ("a = 1", "a == 1"), ("a <> 1", "a != 1"), ("a =< 1", "a <= 1"), ("a => 1", "a >= 1"), ("a && b == 1", ""),
      ("a == 1 && b == 2", "a == 1 AND b == 2"), ("a == 1 || b == 2", "a == 1 or b == 2"), ("!(a == 1)", "NOT a == 1"),
      ("a == 'x'", "a == \"x\""), ("a == nil", "a == NULL"), ("a == YES", "a == true"), ("some a == 1", "ANY a == 1"),
      ("NONE a == 1", "NOT (ANY a == 1)"), ("a contains[CD] 'x'", "a CONTAINS[cd] \"x\""), ("SELF.a == 1", "a == 1"),
      ("a == 0x10", "a == 16"), ("a == -5", "a == -5"), ("a == 1e3", "a == 1000.0"), ("sum(a) > 1", "sum:(a) > 1"),
      ("a NOT IN {1}", "NOT a IN {1}"), ("(a & 4) != 0", "bitwiseAnd:with:(a, 4) != 0"),
      ("a == {1, 2,}", "a == {1, 2}"),
      ("#in == 1", "#in == 1"), ("a.in == 1", "a.in == 1"), ("size == 2", "#size == 2"), ("a[0] == 1", "a[0] == 1"),
      ("a[first] == 1", "a[FIRST] == 1"), ("a + b * c ** 2 == 1", "a + (b * (c ** 2)) == 1"),
      ("(a == 1 OR b == 2) AND c == 3", "(a == 1 OR b == 2) AND c == 3"),
    ])
  func synonyms(_ one: String, _ other: String) throws {
    if other.isEmpty {
      #expect(throws: PredicateFormatError.self) { try FetchPredicate(format: one) }
      return
    }
    let first = try FetchPredicate(format: one)
    #expect(try FetchPredicate(format: other) == first)
    #expect(try FetchPredicate(format: first.predicateFormat) == first)
  }

  @Test("AND has higher precedence than OR, NOT than AND")
  func precedence() throws {
    let predicate = try FetchPredicate(format: "NOT a == 1 AND b == 2 OR c == 3")
    guard case .or(let parts) = predicate, case .and(let inner) = parts[0], case .not = inner[0] else {
      Issue.record("\(predicate)")
      return
    }
    #expect(parts.count == 2)
  }

  @Test(
    "an error has the column, the problem, and a correction",
    arguments: [
      ("", 1, "empty"), ("a", 2, "comparison"), ("a ==", 5, "value"), ("a == 1 AND", 11, "value"),
      ("a == 'x", 6, "closed"), ("(a == 1", 8, "')'"), ("a == 1)", 7, "AND"), ("a == %@", 6, "no argument"),
      ("a CONATINS 'x'", 3, "CONTAINS"), ("a IS NULL", 3, "=="), ("a BETWEEN {1}", 11, "two bounds"),
      ("a == 1 b == 2", 8, "AND"), ("a CONTAINS[x] 'y'", 12, "options"), ("nosuch(a) == 1", 1, "function"),
      ("SUBQUERY(a, x, TRUEPREDICATE).@count > 0", 13, "variable"), ("a == %", 6, "%@"),
      ("a == 12345678901234567890e999", 6, "representable"),
      ("uppercase(a, b) == 'A'", 1, "1 argument"), ("a == ü€ b", 7, "no meaning"), ("ä == üö b", 9, "AND"),
    ])
  func errors(_ text: String, _ column: Int, _ word: String) {
    do throws(PredicateFormatError) {
      let made = try FetchPredicate(format: text)
      Issue.record("\(text) was read as \(made)")
    } catch {
      #expect(error.column == column, "\(error)")
      #expect(error.description.contains(word), "\(error)")
    }
  }

  @Test("arguments are used in order, with the right types, neither too few nor too many")
  func arguments() throws {
    let predicate = try FetchPredicate(format: "%K == %@ AND age > %d AND x IN %@", "a.b", "it's", 5, [1, 2])
    #expect(predicate == (try FetchPredicate(format: "a.b == \"it's\" AND age > 5 AND x IN {1, 2}")))
    #expect(throws: PredicateFormatError.self) { try FetchPredicate(format: "a == 1", 5) }
    #expect(throws: PredicateFormatError.self) { try FetchPredicate(format: "a == %d", "x") }
    #expect(throws: PredicateFormatError.self) { try FetchPredicate(format: "%K == 1", 5) }
    #expect(throws: PredicateFormatError.self) { try FetchPredicate(format: "a == %@", Stack.self) }
    #expect(try FetchPredicate(format: "a == '%@'") == FetchPredicate(format: "a == %@", "%@"))
    #expect(try FetchPredicate(format: "a == %@", nil) == FetchPredicate(format: "a == nil"))
    let inner = try FetchPredicate(format: "b == 2")
    #expect(try FetchPredicate(format: "a == 1 AND %@", inner) == FetchPredicate(format: "a == 1 AND b == 2"))
  }

  @Test(
    "a constant of any kind survives being printed and read",
    arguments: [
      StoredValue.null, .boolean(true), .integer(.min), .integer(-1), .double(0.1), .double(-0.0), .double(.infinity),
      .double(.nan), .float(1.5), .decimal(DecimalNumber("12345678901234567890.123456789") ?? DecimalNumber(0)),
      .string("it's \"q\" \\ \n\t\r\0 é e\u{301}"), .string(""), .data(Data([0, 255])),
      .date(Date(timeIntervalSinceReferenceDate: 0.1)),
      .uuid(UUID()), .uri("x-coredata://a/b?c"),
    ])
  func constants(_ value: StoredValue) throws {
    let predicate = FetchPredicate.comparison(.init(.keyPath(["a"]), .equal, .constant(value)))
    #expect(try FetchPredicate(format: predicate.predicateFormat) == predicate, "\(predicate)")
  }

  @Test("random trees are printed and parsed to equal trees", arguments: 0..<20 as Range<UInt64>)
  func randomTrees(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<100 {
      let predicate = RandomPredicate.predicate(&random, depth: 4)
      let text = predicate.predicateFormat
      #expect(try FetchPredicate(format: text) == predicate, "\(text)")
    }
  }

  @Test("random text is parsed or refused, and never traps", arguments: 0..<20 as Range<UInt64>)
  func randomText(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let pieces = [
      "a", "SELF", "(", ")", "[", "]", "{", "}", ",", ".", "==", "!=", "<", ">", "AND", "OR", "NOT", "'", "\"", "\\",
      "%@", "%K", "%d",
      "1", "0x", "1e", "SUBQUERY(", "$x", "@count", "#", "ANY", "IN", "BETWEEN", "CAST(", "TERNARY(", "FUNCTION(", " ",
      "-", "*", "**",
      "é", "\u{0}", "👩‍🚀", "[c]", ":", "sum:", "now()", "\u{200D}", "%",
    ]
    for _ in 0..<100 {
      let text = (0..<Int.random(in: 0...25, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
        .joined()
      do throws(PredicateFormatError) {
        let predicate = try FetchPredicate(format: text, arguments: [])
        #expect((try? FetchPredicate(format: predicate.predicateFormat)) == predicate, "\(text)")
      } catch {
        #expect(error.column >= 1)
        #expect(!error.description.isEmpty)
      }
    }
  }

  @Test(
    "depth and length are limited",
    arguments: [
      String(repeating: "(", count: 100_000) + "a == 1", String(repeating: "NOT ", count: 100_000) + "a == 1",
      "a == " + String(repeating: "-", count: 100_000) + "b",
      "a == " + Array(repeating: "1", count: 5000).joined(separator: "+"),
      "a" + String(repeating: "[0]", count: 100_000) + " == 1", "a == " + String(repeating: "{", count: 100_000),
      "a == " + Array(repeating: "2", count: 5000).joined(separator: "**"), String(repeating: "a", count: 1_000_001),
    ])
  func bounds(_ text: String) {
    #expect(throws: PredicateFormatError.self) { try FetchPredicate(format: text) }
  }

  @Test(
    "nested chains are limited together: what is parsed can be compared, printed and deallocated",
    arguments: ["+1", "*2", "|1", "[0]", ".a[0]", " UNION b"])
  func chainsInChains(_ link: String) {
    let text = (0..<190).reduce("{1}") { text, _ in "(" + text + String(repeating: link, count: 200) + ")" } + " == 1"
    do throws(PredicateFormatError) {
      _ = try FetchPredicate(format: text)
      Issue.record("it was read")
    } catch {
      #expect(error.message.contains("more than 300 levels"), "\(error)")
    }
  }

  @Test(
    "what is parsed at the limits prints as text within the limits",
    arguments: [
      "a" + String(repeating: "+1", count: 298) + " == 1", "a" + String(repeating: "|1", count: 298) + " == 1",
      "a" + String(repeating: "[0]", count: 298) + " == 1",
      "a == " + Array(repeating: "2", count: 190).joined(separator: "**"),
      "a == " + String(repeating: "-", count: 190) + "b", "a == " + String(repeating: "~", count: 190) + "b",
      String(repeating: "NOT ", count: 190) + "a == 1",
      String(repeating: "(a == 1 OR ", count: 190) + "b == 2" + String(repeating: ")", count: 190),
      String(repeating: "TERNARY(a == ", count: 90) + "1" + String(repeating: ", 1, 2)", count: 90) + " == 1",
    ])
  func limits(_ text: String) throws {
    let predicate = try FetchPredicate(format: text)
    #expect(try FetchPredicate(format: predicate.predicateFormat) == predicate)
    #expect(predicate.substituting([:]) == predicate)
  }

  @Test(
    "NOT before IN is unambiguous, and after ANY, ALL or NONE it would not be",
    arguments: ["ANY", "SOME", "ALL", "NONE"])
  func notBeforeIn(_ modifier: String) throws {
    #expect(try FetchPredicate(format: "a NOT CONTAINS 'x'") == FetchPredicate(format: "NOT a CONTAINS 'x'"))
    do throws(PredicateFormatError) {
      Issue.record("\(try FetchPredicate(format: "\(modifier) x NOT IN {1}"))")
    } catch {
      #expect(error.column == modifier.count + 4)
    }
  }

  @Test(
    "a key path in an argument is a key path, whatever it contains, and prints as one",
    arguments: [
      "a b", "1a", "a-b", "x == 1 OR y", "tags[0]", "in", "nil", "first", "@count", "a.@sum.b", "@", "it's \"q\"",
      "a.b c.d",
    ])
  func keyPathArguments(_ path: String) throws {
    let predicate = try FetchPredicate(format: "%K == 1", path)
    let keys = path.split(separator: ".").map(String.init)
    #expect(predicate == .comparison(.init(.keyPath(keys), .equal, .constant(.integer(1)))))
    #expect(try FetchPredicate(format: predicate.predicateFormat) == predicate, "\(predicate)")
  }

  @Test("an argument that begins with SELF is parsed as in text; one with an empty key is refused")
  func selfInArguments() throws {
    #expect(try FetchPredicate(format: "%K == 1", "SELF.a") == FetchPredicate(format: "SELF.a == 1"))
    #expect(try FetchPredicate(format: "%K == 1", "self") == FetchPredicate(format: "SELF == 1"))
    for path in ["", ".", "a..b", "a."] {
      #expect(throws: PredicateFormatError.self, "\(path)") { try FetchPredicate(format: "%K == 1", path) }
    }
  }

  @Test("arguments by number are refused, not used in order")
  func numberedArguments() {
    #expect(throws: PredicateFormatError.self) { try FetchPredicate(format: "%2$@ == %1$@", "a", "b") }
  }

  @Test("long flat chains are accepted")
  func longChains() throws {
    let text = (0..<5000).map { "a == \($0)" }.joined(separator: " OR ")
    guard case .or(let parts) = try FetchPredicate(format: text) else {
      Issue.record("no OR")
      return
    }
    #expect(parts.count == 5000)
  }

  @Test("variables are substituted, except local ones of subqueries")
  func variables() throws {
    let template = try FetchPredicate(format: "name == $NAME AND SUBQUERY(pets, $x, $x.name == $NAME).@count > $N")
    #expect(template.variables == ["NAME", "N"])
    let made = template.substituting([
      "NAME": .constant(.string("Ada")), "N": .constant(.integer(2)), "x": .constant(.null),
    ])
    #expect(made == (try FetchPredicate(format: "name == 'Ada' AND SUBQUERY(pets, $x, $x.name == 'Ada').@count > 2")))
    #expect(made.variables.isEmpty)
  }
}

enum RandomPredicate {
  static func predicate(_ random: inout SeededGenerator, depth: Int) -> FetchPredicate {
    switch depth > 0 ? Int.random(in: 0..<6, using: &random) : 5 {
    case 0: return .and((0..<Int.random(in: 2...3, using: &random)).map { _ in predicate(&random, depth: depth - 1) })
    case 1: return .or((0..<Int.random(in: 2...3, using: &random)).map { _ in predicate(&random, depth: depth - 1) })
    case 2: return .not(predicate(&random, depth: depth - 1))
    case 3: return .value(Bool.random(using: &random))
    default:
      let comparators: [FetchPredicate.Comparator] = [
        .equal, .notEqual, .less, .greaterOrEqual, .isIn, .contains, .like, .matches,
      ]
      let options: [FetchPredicate.Options] = [
        [], .caseInsensitive, [.caseInsensitive, .diacriticInsensitive], .normalized,
      ]
      return .comparison(
        .init(
          expression(&random, depth: depth - 1), comparators.randomElement(using: &random) ?? .equal,
          expression(&random, depth: depth - 1),
          modifier: [.direct, .direct, .any, .all].randomElement(using: &random) ?? .direct,
          options: options.randomElement(using: &random) ?? []))
    }
  }

  static func expression(_ random: inout SeededGenerator, depth: Int) -> FetchExpression {
    switch Int.random(in: 0..<(depth > 0 ? 14 : 6), using: &random) {
    case 0: return .constant(.integer(Int64.random(in: -9...9, using: &random)))
    case 1: return .constant(.string(["", "x", "a'b\"c\\"].randomElement(using: &random) ?? ""))
    case 2:
      return .keyPath([["a"], ["in", "b"], ["tags", "@count"], ["first"]].randomElement(using: &random) ?? ["a"])
    case 3: return .variable("V")
    case 4: return .evaluatedObject
    case 5: return .constant([.null, .boolean(true), .double(2.5)].randomElement(using: &random) ?? .null)
    case 6:
      let names = ["add:to:", "from:subtract:", "multiply:by:", "divide:by:", "raise:toPower:", "bitwiseAnd:with:"]
      return .function(
        names.randomElement(using: &random) ?? "add:to:",
        [expression(&random, depth: depth - 1), expression(&random, depth: depth - 1)])
    case 7: return .function("uppercase:", [expression(&random, depth: depth - 1)])
    case 8:
      return .aggregate((0..<Int.random(in: 0...3, using: &random)).map { _ in expression(&random, depth: depth - 1) })
    case 9: return .subquery(.keyPath(["list"]), variable: "x", predicate(&random, depth: depth - 1))
    case 10: return .conditional(predicate(&random, depth: depth - 1), .constant(.integer(1)), .constant(.null))
    case 11:
      return .element(
        .keyPath(["list"]), [.first, .last, .size, .at(.constant(.integer(0)))].randomElement(using: &random) ?? .first)
    case 12: return .set(.union, expression(&random, depth: depth - 1), expression(&random, depth: depth - 1))
    default: return .cast(.keyPath(["a"]), "NSDate")
    }
  }
}
