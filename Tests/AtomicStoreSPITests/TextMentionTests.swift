import StorePrimitives
import TestSupport
import Testing

@testable import AtomicStoreSPI

/// The nodes of texts that are mentioned, against a dictionary.
@Suite("Mentioned texts") struct TextMentionTests {
  private static func add(_ text: String, _ mentions: inout TextMentions) -> Int {
    var text = text
    var growth = 0
    return text.withUTF8 { mentions.add($0, growth: &growth) } ?? -1
  }

  /// Texts of all lengths around those of keys, also such that differ in their last byte, in a zero or in length only.
  private static func text(_ number: Int) -> String {
    switch number % 5 {
    case 0: String(repeating: "é", count: number % 12) + "\(number)"
    case 1: String(repeating: "k", count: number % 40)
    case 2: String(repeating: "k", count: number % 40) + "\0"
    case 3: "a text that does not fit in a key, number \(number)"
    default: "key-\(number)"
    }
  }

  @Test("each mention has the node of its text, in any parts and by any number of threads", arguments: 0..<24)
  func random(_ seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    let different = [1, 3, 200, 30_000][seed % 4]
    var all: [String] = []
    var whole = TextMentions()
    for _ in 0..<3 {
      var part = TextMentions()
      for _ in 0..<Int.random(in: 0...(seed < 4 ? 60_000 : 1500), using: &generator) {
        let text = Self.text(Int.random(in: 0..<different, using: &generator))
        #expect(Self.add(text, &part) == part.count - 1)
        all.append(text)
      }
      let before = whole.count
      let added = part.count
      let isAppended = whole.append(&part)
      #expect(isAppended)
      #expect(whole.count == before + added && part.count == 0)
    }
    for (mention, text) in all.enumerated() where mention % 7 == 0 { #expect(whole[mention] == text) }
    // Every second of the different texts is that of a node: the mention before others that are equal.
    var nodes: [String: NodeHandle] = [:]
    for (mention, text) in all.enumerated() where nodes[text] == nil && text.utf8.count % 2 == 0 {
      let node = NodeHandle(entity: 3, row: mention)
      nodes[text] = node
      let isNew = whole.define(mention, as: node)
      #expect(isNew)
    }
    let areUnique = whole.resolve(jobs: 1 + seed % 3)
    #expect(areUnique == true)
    #expect(all.indices.allSatisfy { whole.node(of: $0) == nodes[all[$0]] })
  }

  @Test(
    "two nodes with one text are noticed, and can be tried again",
    arguments: ["", "short", "a text of thirty bytes, long on"])
  func duplicates(_ text: String) {
    var mentions = TextMentions()
    for _ in 0..<3 { _ = Self.add(text, &mentions) }
    let first = NodeHandle(entity: 0, row: 0)
    let isNew = mentions.define(0, as: first)
    let isNewAgain = mentions.define(0, as: NodeHandle(entity: 0, row: 1))
    let isOther = mentions.define(1, as: NodeHandle(entity: 0, row: 1))
    #expect(isNew && !isNewAgain && isOther)
    let areUnique = mentions.resolve(jobs: 2)
    #expect(areUnique == false)
    mentions.removeNodes()
    _ = mentions.define(0, as: first)
    let areUniqueNow = mentions.resolve(jobs: 2)
    #expect(areUniqueNow == true && (0..<3).allSatisfy { mentions.node(of: $0) == first })
  }

  @Test("long texts are equal only if their bytes are, whatever their hashes are")
  func longTexts() {
    var mentions = TextMentions()
    let texts = (0..<500).map { "a text that does not fit in a key, number \($0 % 250)" }
    for text in texts { _ = Self.add(text, &mentions) }
    for row in 0..<250 { _ = mentions.define(row, as: NodeHandle(entity: 0, row: row)) }
    let areUnique = mentions.resolve(jobs: 1)
    #expect(areUnique == true && (250..<500).allSatisfy { mentions.node(of: $0)?.row == $0 - 250 })
  }

  @Test("nothing is found where no node is noted")
  func none() {
    var mentions = TextMentions()
    let isEmpty = mentions.resolve(jobs: 1)
    _ = Self.add("a", &mentions)
    let isResolved = mentions.resolve(jobs: 1)
    #expect(isEmpty == true && isResolved == true && mentions.node(of: 0) == nil)
    var other = TextMentions()
    let isAppended = mentions.append(&other)
    #expect(isAppended)
    #expect(mentions.count == 1)
  }
}
