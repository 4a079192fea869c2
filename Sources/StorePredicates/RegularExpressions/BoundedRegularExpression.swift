/// A regular expression whose matching time is proportional to the text's length times the pattern's, for any text and
/// pattern.
///
/// The syntax is ICU's without the features that need backtracking: back references, look-around and possessive
/// quantifiers are rejected by name. It is executed as a set of states over the Unicode scalars of the text.
struct BoundedRegularExpression: Sendable {
  typealias SyntaxError = RegularExpressionSyntaxError
  private typealias Instruction = RegularExpressionInstruction

  private let program: [Instruction]

  init(pattern: String) throws(SyntaxError) {
    var compiler = PatternCompiler(pattern)
    program = try compiler.compile()
  }

  /// Whether the pattern matches the whole text.
  func wholeMatch(_ text: String, caseInsensitive: Bool = false) -> Bool {
    let scalars = Array(text.unicodeScalars)
    var current = StateSet(program.count)
    var next = StateSet(program.count)
    add(0, to: &current, scalars, 0)
    for place in scalars.indices {
      if current.isEmpty { return false }
      next.removeAll()
      let scalar = scalars[place]
      for state in current.members {
        let fits: Bool
        switch program[state] {
        case .scalar(let wanted, let ignoresCase):
          fits = wanted == scalar || (ignoresCase || caseInsensitive) && ScalarSet.isSameLetter(wanted, scalar)
        case .any(let includesNewlines): fits = includesNewlines || !ScalarSet.isNewline(scalar)
        case .set(let set): fits = set.contains(scalar, ignoringCase: caseInsensitive)
        default: fits = false
        }
        if fits { add(state + 1, to: &next, scalars, place + 1) }
      }
      swap(&current, &next)
    }
    return current.members.contains { if case .match = program[$0] { true } else { false } }
  }

  /// Adds a state and all states reachable from it without consuming input.
  private func add(_ first: Int, to set: inout StateSet, _ scalars: [Unicode.Scalar], _ place: Int) {
    var rest = [first]
    while let state = rest.popLast() {
      guard set.visit(state) else { continue }
      func isWord(_ index: Int) -> Bool { scalars.indices.contains(index) && ScalarSet.isWord(scalars[index]) }
      switch program[state] {
      case .jump(let target): rest.append(target)
      case .split(let one, let other):
        rest.append(other)
        rest.append(one)
      case .start(let isLine):
        if place == 0 || isLine && ScalarSet.isNewline(scalars[place - 1]) { rest.append(state + 1) }
      case .end(let isLine):
        if place == scalars.count || isLine && ScalarSet.isNewline(scalars[place]) { rest.append(state + 1) }
      case .boundary(let isNegated):
        if (isWord(place - 1) != isWord(place)) != isNegated { rest.append(state + 1) }
      default: set.members.append(state)
      }
    }
  }

  private struct StateSet {
    var members: [Int] = []
    private var marks: [UInt32]
    private var generation: UInt32 = 1
    init(_ count: Int) { marks = [UInt32](repeating: 0, count: count) }
    var isEmpty: Bool { members.isEmpty }
    mutating func visit(_ state: Int) -> Bool {
      if marks[state] == generation { return false }
      marks[state] = generation
      return true
    }
    mutating func removeAll() {
      members.removeAll(keepingCapacity: true)
      generation &+= 1
      if generation == 0 {
        marks = [UInt32](repeating: 0, count: marks.count)
        generation = 1
      }
    }
  }
}
