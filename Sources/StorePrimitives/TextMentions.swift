/// Texts that are mentioned one after the other, each with a number of its own; equal texts have equal ``TextNumbers``.
///
/// Texts are compared in groups: the hash table and the texts are too large for caches, and a processor waits for the
/// memory of many texts of a group at the same time.
package struct TextMentions: Sendable {
  /// The different texts, without those that wait.
  package private(set) var texts = TextNumbers()
  /// By mention: the number of its text; without those that wait.
  private var numbers: [UInt32] = []
  /// The bytes of the mentions that wait, and where each ends.
  private var waiting: [UInt8] = []
  private var ends: [Int] = []
  private static let group = 256

  package init() {}

  /// The number of mentions.
  package var count: Int { numbers.count + ends.count }

  /// Whether some mentions wait for their numbers.
  package var isWaiting: Bool { !ends.isEmpty }

  /// Adds a mention, and returns which one it is.
  package mutating func add(_ text: UnsafeBufferPointer<UInt8>) -> Int {
    waiting.append(contentsOf: text)
    ends.append(waiting.count)
    let mention = numbers.count + ends.count - 1
    if ends.count == Self.group { settle() }
    return mention
  }

  /// Numbers the texts of all mentions that wait.
  package mutating func settle() {
    guard isWaiting else { return }
    texts.add(waiting, ends, &numbers)
    waiting.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
  }

  /// The number of the text of a mention that does not wait.
  @inline(__always) package func number(of mention: Int) -> Int { Int(numbers[mention]) }

  /// Adds all mentions of others, which do not wait, in their order, after those that are here.
  package mutating func append(_ others: TextMentions) {
    settle()
    if numbers.isEmpty {
      self = others
      return
    }
    texts.reserve(texts.count + others.texts.count)
    var translated: [UInt32] = []
    translated.reserveCapacity(others.texts.count)
    for number in 0..<others.texts.count {
      translated.append(UInt32(truncatingIfNeeded: others.texts.withBytes(of: number) { texts.add($0) }))
    }
    numbers.reserveCapacity(numbers.count + others.numbers.count)
    for number in others.numbers { numbers.append(translated[Int(number)]) }
  }
}
