import Foundation

/// The share of a long list of cases that this run of the tests takes.
///
/// `ATOMICSTORE_TEST_SHARE=SEED/5` takes a fifth of each list that is asked for here, and another fifth with another
/// seed: `Scripts/test` sets the hash of the commit, so that every case runs from time to time, and the same commit
/// always runs the same cases. With `all` every case runs. Without the variable, as when the program of the tests is
/// started directly, it is always the same thirteenth: all cases take hours.
public struct TestShare: Sendable {
  public var seed: String
  /// One case of so many is taken.
  public var divisor: UInt64

  public init(seed: String, divisor: UInt64) {
    self.seed = seed
    self.divisor = max(1, divisor)
  }

  /// - Parameter text: `SEED/DIVISOR`, or `all`.
  public init?(_ text: String) {
    guard text != "all" else {
      self.init(seed: "", divisor: 1)
      return
    }
    guard let slash = text.lastIndex(of: "/"), slash != text.startIndex,
      let divisor = UInt64(text[text.index(after: slash)...]), divisor > 0
    else { return nil }
    self.init(seed: String(text[..<slash]), divisor: divisor)
  }

  public static let variable = "ATOMICSTORE_TEST_SHARE"

  /// What the environment asks for. A text that is not understood ends the tests: they would run less than was asked
  /// for, or more, without saying so.
  public static let asked: TestShare = {
    guard let text = ProcessInfo.processInfo.environment[variable], !text.isEmpty else {
      return TestShare(seed: "", divisor: 13)
    }
    guard let share = TestShare(text) else {
      FileHandle.standardError.write(Data("\(variable) is SEED/DIVISOR or all, not '\(text)'\n".utf8))
      exit(64)
    }
    return share
  }()

  /// Whether a case is taken.
  public func takes(_ name: String) -> Bool {
    divisor == 1 || Self.hash(name, Self.hash(seed, 0xcbf2_9ce4_8422_2325)) % divisor == 0
  }

  /// The cases of a list that are taken, in their order, and at least one of them.
  ///
  /// - Parameters:
  ///   - list: What the names of cases begin with, so that lists of the same names do not take the same share.
  ///   - always: Cases that are taken in any case.
  ///   - name: The name of a case, which is the same in each run.
  public func of<Case>(
    _ cases: [Case], _ list: String, always: (Case) -> Bool = { _ in false }, name: (Case) -> String
  ) -> [Case] {
    let taken = cases.filter { always($0) || takes(list + "/" + name($0)) }
    guard taken.isEmpty, !cases.isEmpty else { return taken }
    return [cases[Int(Self.hash(list, Self.hash(seed, 0xcbf2_9ce4_8422_2325)) % UInt64(cases.count))]]
  }

  /// The same for numbers, such as offsets and seeds: every fifth, beginning with another one for each seed.
  public func of(_ range: Range<Int>, _ list: String) -> [Int] {
    guard divisor > 1, !range.isEmpty else { return Array(range) }
    let step = Int(min(divisor, UInt64(range.count)))
    let first = Int(Self.hash(list, Self.hash(seed, 0xcbf2_9ce4_8422_2325)) % UInt64(step))
    return Array(stride(from: range.lowerBound + first, to: range.upperBound, by: step))
  }

  /// FNV-1a, and a last step by which all bits depend on all bytes.
  private static func hash(_ text: String, _ start: UInt64) -> UInt64 {
    var hash = start
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    hash = (hash ^ (hash >> 33)) &* 0xff51_afd7_ed55_8ccd
    return hash ^ (hash >> 33)
  }
}

extension Range<Int> {
  /// The numbers that this run of the tests takes: see ``TestShare``.
  public func share(of list: String) -> [Int] { TestShare.asked.of(self, list) }
}

extension Collection {
  /// The cases that this run of the tests takes: see ``TestShare``.
  public func share(
    of list: String, always: (Element) -> Bool = { _ in false }, name: (Element) -> String = { "\($0)" }
  ) -> [Element] {
    TestShare.asked.of(Array(self), list, always: always, name: name)
  }
}
