import AtomicStoreSPI
import Testing

@testable import StorePredicates

@Suite("Rules of attributes") struct ValidationRuleTests {
  private static func rule(_ pattern: String) throws -> ValidationRule {
    let attribute = AttributeDescription(name: "name", type: .string, regularExpression: pattern)
    return try #require(ValidationRule(attribute, isStored: true))
  }

  @Test("patterns have one budget for all values, after which values break the rule without a match")
  func sharedBudget() throws {
    let rule = try Self.rule("(a|aa)*b")
    let budget = StepBudget(limit: 5000)
    let text = StoredValue.string(String(repeating: "a", count: 16))
    let rules = (0..<20).map { _ in rule.violations(text, budget).map(\.rule) }
    #expect(rules.first == ["the pattern (a|aa)*b"])
    #expect(rules.last == ["the pattern (a|aa)*b, which was not compared: patterns took all 5000 steps before"])
    #expect(rules.allSatisfy { $0.count == 1 })
  }

  @Test("patterns that read each value once do not use the budget up")
  func simplePatterns() throws {
    let rule = try Self.rule("[\\w.%+-]+@[A-Za-z0-9.-]+\\.[A-Za-z]{2,6}")
    let budget = StepBudget(limit: 100)
    for number in 0..<500 {
      #expect(rule.violations(.string("ada.\(number)@example.com"), budget).isEmpty)
      #expect(rule.violations(.string("ada.\(number).example.com"), budget).count == 1)
    }
    #expect(budget.left == 100)
  }

  @Test("one value cannot take the steps of all others")
  func oneValue() throws {
    let rule = try Self.rule("(a+)+b")
    let budget = StepBudget()
    let found = rule.violations(.string(String(repeating: "a", count: 5000)), budget).map(\.rule)
    #expect(found == ["the pattern (a+)+b, which takes too many steps for this text"])
    #expect(budget.left > budget.limit / 2)
  }
}
