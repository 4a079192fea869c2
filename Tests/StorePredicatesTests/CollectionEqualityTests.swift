import AtomicStoreSPI
import TestSupport
import Testing

@testable import StorePredicates

@Suite("Collections against collections") struct CollectionEqualityTests {
  private func isEqual(_ one: [PredicateValue], _ other: [PredicateValue], _ options: FetchPredicate.Options = [])
    -> Bool
  {
    PredicateEvaluator.isEqual(.list(one), .list(other), options)
  }
  private func numbers(_ list: [Int64]) -> [PredicateValue] { list.map { .value(.integer($0)) } }

  @Test(
    "two collections are equal if each value occurs the same number of times in both, in any order",
    arguments: [
      ([], [], true), ([1], [1], true), ([1, 1], [1, 2], false), ([1, 2], [1, 1], false), ([1, 2], [2, 1], true),
      ([1, 2, 2], [2, 1, 2], true),
      ([1, 2, 2], [1, 1, 2], false), ([1], [1, 1], false),
    ] as [([Int64], [Int64], Bool)])
  func multisets(_ one: [Int64], _ other: [Int64], _ expected: Bool) {
    #expect(isEqual(numbers(one), numbers(other)) == expected)
    #expect(isEqual(numbers(other), numbers(one)) == expected)
  }

  @Test("equality is symmetric, and what counting says, over random lists")
  func random() {
    var random = SeededGenerator(seed: 11)
    for _ in 0..<4000 {
      let one = (0..<Int.random(in: 0...5, using: &random)).map { _ in Int64.random(in: 0...2, using: &random) }
      let other =
        Bool.random(using: &random)
        ? one.shuffled(using: &random) : one.map { _ in Int64.random(in: 0...2, using: &random) }
      // The same numbers, some of another kind.
      let mixed: [PredicateValue] = other.map {
        .value(
          [StoredValue.integer($0), .double(Double($0)), .decimal(DecimalNumber($0))][
            Int.random(in: 0...2, using: &random)])
      }
      let expected = one.sorted() == other.sorted()
      #expect(isEqual(numbers(one), mixed) == expected, "\(one) \(other)")
      #expect(isEqual(mixed, numbers(one)) == expected, "\(one) \(other)")
    }
  }

  @Test("options count for the elements, and lists in lists are compared the same way")
  func elements() {
    let one: [PredicateValue] = ["a", "B", "b"].map { .value(.string($0)) }
    let other: [PredicateValue] = ["B", "A", "B"].map { .value(.string($0)) }
    #expect(!isEqual(one, other) && isEqual(one, other, .caseInsensitive) && isEqual(other, one, .caseInsensitive))
    #expect(isEqual([.list(numbers([1, 2])), .null], [.null, .list(numbers([2, 1]))]))
    #expect(!isEqual([.list(numbers([1, 1]))], [.list(numbers([1, 2]))]))
  }
}
