import AtomicStoreSPI

extension PredicateChecker {
  /// A comparison whose sides have kinds: whether values of these kinds can be compared in this way.
  struct ComparisonCheck {
    private let checker: PredicateChecker
    private let comparison: FetchPredicate.Comparison
    private let left: Kind
    private let right: Kind
    private let column: Int

    init(
      _ checker: PredicateChecker, _ comparison: FetchPredicate.Comparison, _ left: Kind, _ right: Kind, column: Int
    ) {
      self.checker = checker
      self.comparison = comparison
      self.left = Self.kind(left, comparison.left, with: right)
      self.right = Self.kind(right, comparison.right, with: left)
      self.column = column
    }

    func run() throws(PredicateFormatError) {
      switch comparison.comparator {
      case .equal, .notEqual: try requireComparable()
      case .less, .lessOrEqual, .greater, .greaterOrEqual:
        for side in [left, right] where side.group == .object || side.group == .data {
          throw error("\(side.title) has no order; use == or !=")
        }
        try requireComparable()
      case .between: try checkBounds()
      case .isIn: try checkList()
      case .contains, .beginsWith, .endsWith, .like, .matches: try checkTexts()
      }
    }

    /// The kind of a side: a text literal that is compared with a date is a date.
    private static func kind(_ kind: Kind, _ literal: FetchExpression, with other: Kind) -> Kind {
      other.group == .date && PredicateDate.isDate(literal) ? .date : kind
    }

    private func error(_ message: String, _ suggestion: String? = nil) -> PredicateFormatError {
      checker.error(column, message, suggestion)
    }

    private func requireComparable() throws(PredicateFormatError) {
      guard left.isComparable(with: right) else { throw mismatch(right) }
    }

    private func checkBounds() throws(PredicateFormatError) {
      guard case .aggregate(let bounds) = comparison.right else {
        if case .list = right { return }
        if right.isUnknownOrNull { return }
        throw error("BETWEEN requires two bounds, such as {1, 10}")
      }
      var inner = PredicateChecker(checker.model, isStrict: false)
      for bound in bounds {
        guard let found = try? inner.kind(of: bound, .unknown) else { continue }
        let kind = Self.kind(found, bound, with: left)
        guard left.isComparable(with: kind) else { throw mismatch(kind) }
      }
    }

    private func checkList() throws(PredicateFormatError) {
      switch right {
      case .list(let element):
        // A list of strings may be a list of dates.
        if left.group == .date, case .aggregate(let parts) = comparison.right,
          element.group == .text || element.group == .unknown,
          let wrong = parts.first(where: {
            if case .constant(.string) = $0 { !PredicateDate.isDate($0) } else { false }
          })
        {
          throw error("'\(comparison.left)' is a date, and \(wrong) is not", PredicateDate.forms)
        }
        let isDates = left.group == .date && Self.isListOfTexts(comparison.right)
        guard isDates || left.isComparable(with: element) else { throw mismatch(element) }
      case .unknown, .null: break
      default:
        guard right.group == .text, left.group == .text || left.group == .unknown else {
          throw error("IN requires a list or a string, but '\(comparison.right)' is \(right.title)")
        }
      }
    }

    private func checkTexts() throws(PredicateFormatError) {
      if comparison.comparator == .contains, left.group == .object || right.group == .object {
        guard left.isComparable(with: right) else { throw mismatch(right) }
        return
      }
      // An element that CONTAINS searches for in a to-many is compared unchanged.
      if comparison.comparator == .contains, comparison.modifier == .direct, left.isComparable(with: right) { return }
      let isTextLike =
        [.text, .unknown, .uuid].contains(left.group) || comparison.comparator != .contains && left.group == .number
      guard isTextLike else {
        throw error("\(comparison.comparator.rawValue) requires strings, but '\(comparison.left)' is \(left.title)")
      }
      guard [.text, .unknown].contains(right.group) else {
        throw error("\(comparison.comparator.rawValue) requires a string, but '\(comparison.right)' is \(right.title)")
      }
      if comparison.comparator == .matches, case .constant(.string(let pattern)) = comparison.right {
        do throws(RegularExpressionError) { _ = try PatternCache.expression(pattern, comparison.options) } catch {
          throw self.error(error.sentence(about: pattern))
        }
      }
    }

    private func mismatch(_ other: Kind) -> PredicateFormatError {
      var suggestion: String?
      if left.group == .date, other.group == .text {
        suggestion = PredicateDate.forms
      } else if left.group == .date, other.group == .number {
        suggestion =
          "\(PredicateDate.forms); CAST(\(comparison.right), \"NSDate\") is a date given in seconds since 2001"
      } else if left.group == .text, other.group == .date, case .keyPath = comparison.left {
        suggestion = "use CAST(\(comparison.left), \"NSDate\") to convert a string to a date"
      } else if left.group == .number, other.group == .text, case .constant(.string(let text)) = comparison.right,
        Double(text) != nil
      {
        suggestion = "write the number without quotes"
      } else if left.group == .text, other.group == .number {
        suggestion = "write a string in quotes"
        if case .keyPath = comparison.left {
          suggestion? += "; where all strings are numbers, CAST(\(comparison.left), \"NSNumber\") converts them"
        }
      } else if case .object(let entity) = left, case .keyPath(let path) = comparison.left,
        let name = Self.attribute(of: entity, other)
      {
        suggestion = "did you mean '\((path + [name]).joined(separator: "."))'?"
      } else if left.group == .boolean, other.group == .text {
        suggestion = "write YES or NO"
      }
      return error("'\(comparison.left)' is \(left.title) and cannot be compared with \(other.title)", suggestion)
    }

    /// An attribute of an entity that can be compared with a value: preferably the one that people know it by.
    private static func attribute(of entity: Entity, _ other: Kind) -> String? {
      let names = entity.slots.filter { slot in
        slot.attributeType.map { Kind.attribute($0).group == other.group } ?? false
      }.map(\.name)
      return ["name", "title"].first(where: names.contains) ?? names.first
    }

    private static func isListOfTexts(_ expression: FetchExpression) -> Bool {
      guard case .aggregate(let parts) = expression else { return false }
      return parts.allSatisfy { if case .constant(.string) = $0 { true } else { false } }
    }
  }
}
