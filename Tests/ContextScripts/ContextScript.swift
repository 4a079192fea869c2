public import AtomicStoreKit
import AtomicStoreSPI

/// Several contexts that change one store at random: what is done, in an order that can be printed and shortened.
public struct ContextScript: Sendable {
  /// One operation of one context. Numbers choose among what there is when it is carried out, so that a script without
  /// some of its steps is a script as well.
  public struct Step: Sendable {
    enum Kind: UInt8, CaseIterable, Sendable {
      case set, setNil, toggle, assign, move, value, delete, insert, save, refresh, refreshMerging, refreshAll, merge,
        undo, redo,
        rollback, read, process
    }
    let context: Int
    let kind: Kind
    let a: Int
    let b: Int
    let c: Int
  }
  /// How the contexts are arranged.
  public struct Setup: Sendable {
    public var type: String
    /// The URL of a server for stores that are not files; each script has its own schema.
    public var server: String?
    public var policies: [MergePolicy]
    /// The last context is a child of the first.
    public var hasChild: Bool
    /// The second context is on its own coordinator, as another process would be.
    public var hasForeigner: Bool
    public var hasUndo: Bool
    /// Contexts without this take over each save at once.
    public var isMergedByHand: Bool
    /// All contexts read everything after each step. A context on a database reads later than one on a store that is
    /// loaded, so that without this they may see different saves.
    public var readsEverything = false
  }

  public var setup: Setup
  public var steps: [Step]
  /// Chooses the graph that the script begins with.
  let seed: UInt64

  /// The script of that seed.
  public init(seed: UInt64, type: String = "BinaryPropertyList", server: String? = nil, length: Int = 20) {
    var dice = Dice(seed)
    let count = 2 + dice.below(3)
    setup = Setup(
      type: type, server: server,
      policies: (0..<count).map { _ in MergePolicy.allCases[dice.below(MergePolicy.allCases.count)] },
      hasChild: dice.below(4) == 0, hasForeigner: dice.below(6) == 0, hasUndo: dice.below(3) == 0,
      isMergedByHand: dice.below(4) > 0)
    if dice.below(2) == 0 { setup.policies = setup.policies.map { [policies = setup.policies] _ in policies[0] } }
    self.seed = dice.next()
    steps = (0..<length).map { _ in
      Step(
        context: dice.below(count), kind: Self.kind(dice.below(100)), a: dice.below(1 << 20), b: dice.below(1 << 20),
        c: dice.below(1 << 20))
    }
  }

  private static func kind(_ number: Int) -> Step.Kind {
    switch number {
    case 0..<18: .set
    case 18..<22: .setNil
    case 22..<42: .toggle
    case 42..<45: .assign
    case 45..<47: .move
    case 47..<52: .value
    case 52..<57: .delete
    case 57..<60: .insert
    case 60..<78: .save
    case 78..<81: .refresh
    case 81..<84: .refreshMerging
    case 84..<85: .refreshAll
    case 85..<88: .merge
    case 88..<91: .undo
    case 91..<93: .redo
    case 93..<94: .rollback
    case 94..<99: .read
    default: .process
    }
  }

  /// What went wrong, with what was done; nil where all was right.
  public func failure() -> String? {
    do {
      let run = try ScriptRun(self)
      do { try run.carryOut() } catch {
        return "\(error)\n" + run.log.joined(separator: "\n")
      }
      return nil
    } catch {
      return "\(error)"
    }
  }

  /// The types of stores that are to answer a script alike.
  public static let types = ["BinaryPropertyList", "XML", "CSV", "InMemory", "SQLiteGraph"]

  /// Where stores of two types answer the script differently; nil if all answer alike.
  public func disagreement() -> String? {
    var first: [String] = []
    for type in Self.types {
      var script = self
      script.setup.type = type
      script.setup.readsEverything = true
      // What another process saved is seen at once in a database, and in a file at the next save.
      script.setup.hasForeigner = false
      let found = script.outcome()
      if type == Self.types[0] { first = found }
      guard
        let place = zip(first, found).enumerated().first(where: { $1.0 != $1.1 })?.offset
          ?? (first.count == found.count ? nil : min(first.count, found.count))
      else { continue }
      func line(_ lines: [String]) -> String { place < lines.count ? lines[place] : "nothing" }
      return "\(Self.types[0]): \(line(first))\n\(type): \(line(found))\n"
        + found.prefix { !$0.hasPrefix("state: ") }.joined(separator: "\n")
    }
    return nil
  }

  /// What was done, including what was refused, and what the store held after each save.
  private func outcome() -> [String] {
    do {
      let run = try ScriptRun(self)
      var end: [String] = []
      do { try run.carryOut() } catch { end = ["\(error)"] }
      return run.log + end + run.states.map { "state: " + $0 }
    } catch {
      return ["\(error)"]
    }
  }

  /// The shortest script found that fails.
  public func shortened(_ failure: (ContextScript) -> String? = { $0.failure() }) -> ContextScript {
    var best = self
    best.steps = shortest(steps) { steps in
      var fewer = self
      fewer.steps = steps
      return failure(fewer) != nil
    }
    return best
  }
}

/// The same sequence for the same seed, everywhere.
struct Dice: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
  mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}
