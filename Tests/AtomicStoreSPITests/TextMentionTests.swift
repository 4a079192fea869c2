import StorePrimitives
import TestSupport
import Testing

/// Numbers of texts that are mentioned, against a dictionary.
@Suite("Mentioned texts") struct TextMentionTests {
  private static func add(_ text: String, _ mentions: inout TextMentions) -> Int {
    var text = text
    return text.withUTF8 { mentions.add($0) }
  }

  @Test("equal texts have equal numbers, in any groups and parts", arguments: 0..<30)
  func random(_ seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    let different = [1, 3, 200, 5000][seed % 4]
    var all: [String] = []
    var whole = TextMentions()
    for _ in 0..<3 {
      var part = TextMentions()
      for _ in 0..<Int.random(in: 0...1500, using: &generator) {
        let number = Int.random(in: 0..<different, using: &generator)
        let text = number == 0 ? "" : String(repeating: "é", count: number % 9) + "\(number)"
        #expect(Self.add(text, &part) == part.count - 1)
        all.append(text)
        if Int.random(in: 0..<100, using: &generator) == 0 { part.settle() }
      }
      part.settle()
      let before = whole.count
      whole.append(part)
      #expect(whole.count == before + part.count && !whole.isWaiting)
    }
    #expect(whole.count == all.count && whole.texts.count == Set(all).count)
    for (mention, text) in all.enumerated() {
      #expect(whole.texts[whole.number(of: mention)] == text)
    }
    var first: [String: Int] = [:]
    for (mention, text) in all.enumerated() {
      let number = whole.number(of: mention)
      #expect(first[text, default: number] == number)
      first[text] = number
    }
  }

  @Test("mentions after a settled group follow it, and what waits is appended to")
  func waiting() {
    var mentions = TextMentions()
    #expect(!mentions.isWaiting)
    for number in 0..<300 { _ = Self.add("\(number % 7)", &mentions) }
    #expect(mentions.isWaiting && mentions.count == 300)
    var other = TextMentions()
    _ = Self.add("3", &other)
    _ = Self.add("new", &other)
    other.settle()
    mentions.append(other)
    #expect(mentions.count == 302 && mentions.texts.count == 8)
    #expect(mentions.number(of: 300) == mentions.number(of: 3) && mentions.texts[mentions.number(of: 301)] == "new")
  }
}
