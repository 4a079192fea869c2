package import AtomicStoreSPI
import CICU
import Synchronization

/// A compiled regular expression, which ICU matches as it does for Core Data.
///
/// ICU tries one way to match a text after another, and there may be more ways than could be tried in years. So a match
/// has a limit of steps, which are counted: its outcome depends on pattern, text and limit alone.
package final class RegularExpression: Sendable {
  package enum Outcome: Sendable {
    case matching, different
    /// There were not enough steps to tell.
    case tooManySteps
    case tooMuchMemory
  }

  /// Unchecked: only the thread that made it, or took it from ``idle``, uses it.
  struct Matcher: @unchecked Sendable {
    let pointer: OpaquePointer
  }

  /// For longer texts, and for matches of many steps, a matcher is made and freed: it keeps the memory of the longest
  /// text, and of the most places to come back to.
  private static let maximumLength = 1 << 16
  /// How many bytes of a text a simple pattern reads in the time of a step.
  private static let bytesPerStep = 16

  private enum Compiled {
    case plain(PlainPattern)
    /// Only copied, which reads what never changes: any thread may do so at any time.
    case original(Matcher)
  }

  private let options: FetchPredicate.Options
  private let compiled: Compiled
  let idle = Mutex<[Matcher]>([])

  /// Compiles a pattern. Of the options, `[c]` and `[d]` count.
  package init(_ pattern: String, _ options: FetchPredicate.Options) throws(RegularExpressionError) {
    self.options = options.intersection(.diacriticInsensitive)
    // Without ICU, which takes milliseconds to load.
    if options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive]), let plain = PlainPattern(pattern) {
      compiled = .plain(plain)
      return
    }
    // ICU refuses an empty pattern, which matches the empty text.
    var pattern = pattern.isEmpty ? "(?:)" : StringComparison.folded(pattern, self.options)
    var problem = cicu_problem()
    let made = pattern.withUTF8 {
      cicu_compile($0.baseAddress, $0.count, options.contains(.caseInsensitive), &problem)
    }
    guard let made else { throw RegularExpressionError(problem) }
    compiled = .original(Matcher(pointer: made))
  }

  deinit {
    guard case .original(let original) = compiled else { return }
    cicu_free(original.pointer)
    idle.withLock { for matcher in $0 { cicu_free(matcher.pointer) } }
  }

  /// Whether the whole text matches. Adds the steps that were needed to `steps`; a step takes 10 to 70 ns.
  package func match(_ text: String, stepLimit: Int, steps: inout Int) -> Outcome {
    var text = StringComparison.folded(text, options)
    return text.withUTF8 { matchFolded($0, stepLimit, &steps) }
  }

  /// As above, for the UTF-8 of a text.
  package func match(_ bytes: UnsafeBufferPointer<UInt8>, stepLimit: Int, steps: inout Int) -> Outcome {
    guard options.isEmpty else {
      return match(String(decoding: bytes, as: UTF8.self), stepLimit: stepLimit, steps: &steps)
    }
    return matchFolded(bytes, stepLimit, &steps)
  }

  private func matchFolded(_ bytes: UnsafeBufferPointer<UInt8>, _ limit: Int, _ steps: inout Int) -> Outcome {
    let original: Matcher
    switch compiled {
    case .original(let matcher): original = matcher
    case .plain(let plain):
      steps += 1 + bytes.count / Self.bytesPerStep
      return steps > limit ? .tooManySteps : plain.matches(bytes) ? .matching : .different
    }
    guard let matcher = idle.withLock({ $0.popLast() }) ?? cicu_copy(original.pointer).map({ Matcher(pointer: $0) })
    else { return .tooMuchMemory }
    var used: Int64 = 0
    let result = cicu_matches(matcher.pointer, bytes.baseAddress, bytes.count, Int64(limit), &used)
    steps += Int(used)
    let outcome: Outcome =
      switch result {
      case cicu_matching: .matching
      case cicu_different: .different
      case cicu_too_many_steps: .tooManySteps
      default: .tooMuchMemory
      }
    if bytes.count <= Self.maximumLength, used < CICU_MANY_STEPS, outcome == .matching || outcome == .different {
      idle.withLock { $0.append(matcher) }
    } else {
      cicu_free(matcher.pointer)
    }
    return outcome
  }
}

/// The error if a pattern cannot be compiled.
package struct RegularExpressionError: Error, CustomStringConvertible {
  /// The line and the column in Unicode scalars where reading ended, starting at 1; 0 if it is unknown.
  let line: Int
  let column: Int
  let message: String
  /// Whether the pattern may be correct: without ICU none can be compiled.
  let isWithoutICU: Bool

  /// What is wrong, as a sentence about the pattern.
  package func sentence(about pattern: String) -> String {
    isWithoutICU ? message : "the pattern '\(pattern)' is not a regular expression: \(self)"
  }

  package var description: String {
    let column = "column \(column) of the pattern: \(message)"
    return self.column == 0 ? message : line > 1 ? "line \(line), \(column)" : column
  }

  init(_ problem: cicu_problem) {
    line = Int(problem.line)
    column = Int(problem.column)
    let name = problem.name.map { String(cString: $0) } ?? ""
    isWithoutICU = problem.isWithoutICU
    message =
      isWithoutICU
      ? "regular expressions need the library ICU: install the package libicu of the system (\(name))"
      : Self.message(name)
  }

  private static func message(_ name: String) -> String {
    switch name {
    case "U_REGEX_RULE_SYNTAX": "this character is not expected here"
    case "U_REGEX_BAD_ESCAPE_SEQUENCE": "this escape after '\\' is unknown or incomplete"
    case "U_REGEX_PROPERTY_SYNTAX", "U_ILLEGAL_ARGUMENT_ERROR", "U_ILLEGAL_CHAR_FOUND":
      "this property, class or name of a character is unknown"
    case "U_REGEX_MISMATCHED_PAREN": "a parenthesis has no counterpart"
    case "U_REGEX_BAD_INTERVAL": "a count such as {2} or {1,3} is expected after '{'"
    case "U_REGEX_MAX_LT_MIN": "the counts are in the wrong order"
    case "U_REGEX_NUMBER_TOO_BIG": "the number is too large"
    case "U_REGEX_INVALID_BACK_REF": "this group does not exist"
    case "U_REGEX_INVALID_FLAG": "this flag is unknown"
    case "U_REGEX_LOOK_BEHIND_LIMIT": "look-behind needs a pattern that matches texts of limited length"
    case "U_REGEX_MISSING_CLOSE_BRACKET": "the set is not closed"
    case "U_REGEX_INVALID_RANGE": "the range is in the wrong order"
    case "U_REGEX_INVALID_CAPTURE_GROUP_NAME": "this is not the name of a group"
    case "U_REGEX_PATTERN_TOO_BIG": "the pattern is longer than \(CICU_MAXIMUM_PATTERN) bytes"
    // The one limit that ICU has no name for.
    case "U_REGEX_INTERNAL_ERROR": "groups or sets are nested more than 100 deep"
    default: name
    }
  }
}
