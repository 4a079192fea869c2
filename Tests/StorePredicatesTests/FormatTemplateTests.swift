import AtomicStoreSPI
import Foundation
import StorePredicates
import Testing

@Suite("Formats that are parsed once for many arguments") struct FormatTemplateTests {
  static let formats = [
    "a == %@", "%@ == a", "a == %@ AND b != %@", "NOT (a > %@ OR b CONTAINS[cd] %@)",
    "a == %@ AND b == 'x' AND c == $v",
    "a IN %@", "a BETWEEN %@", "a == -%@", "a + %@ > 1", "SUBQUERY(a, $x, $x.b == %@).@count > 0", "ANY a.b == %@",
    "%K == %@", "a == %d", "%@", "%@ AND a == 1", "CAST(%@, 'NSDate') < a", "a == %@ AND TRUEPREDICATE", "a[%@] == 1",
  ]
  static var lists: [[Any?]] {
    let some: Int? = 5
    let none: Int?? = .some(nil)
    return [
      [1], ["x"], [2.5], [true], [nil], [Date(timeIntervalSinceReferenceDate: 1)], [[1, 2]], [Int8(3)], [Float(1)],
      [1, "x"], ["x", 1], ["x", "y"], [nil, nil], [[1, 2], "y"], [UInt64.max], [Character("c")], [1, 2, 3],
      [FetchPredicate.value(true)], [FetchExpression.keyPath(["b"])], [StoredValue.integer(4)], [some as Any?],
      [none as Any?],
    ]
  }

  /// Parsed again: longer texts are not kept.
  private func parsedAgain(_ format: String, _ arguments: [Any?]) -> Result<FetchPredicate, PredicateFormatError> {
    do throws(PredicateFormatError) {
      return .success(try FetchPredicate(format: format + String(repeating: " ", count: 300), arguments: arguments))
    } catch { return .failure(error) }
  }

  @Test("give the tree, or the error, that parsing gives, whatever the arguments before were", arguments: formats)
  func sameTree(_ format: String) throws {
    for first in Self.lists {
      _ = try? FetchPredicate(format: format, arguments: first)
      for arguments in Self.lists {
        switch parsedAgain(format, arguments) {
        case .success(let wanted):
          #expect(try FetchPredicate(format: format, arguments: arguments) == wanted, "\(format) \(arguments)")
        case .failure(let error):
          let thrown = #expect(throws: PredicateFormatError.self) {
            try FetchPredicate(format: format, arguments: arguments)
          }
          #expect(thrown?.message == error.message)
        }
      }
    }
  }

  @Test("texts that look alike are different formats")
  func lookAlikes() throws {
    for text in ["e\u{301}", "\u{E9}"] {
      let made = try FetchPredicate(format: "\(text) == %@", 1).predicateFormat
      #expect(made.unicodeScalars.elementsEqual("\(text) == 1".unicodeScalars), "\(made)")
    }
  }
}
