import Foundation
import Testing

@testable import StoreCodecs
@testable import StorePrimitives

/// The quick reader of XML property lists, beside libxml2: it may only be quicker.
@Suite("The quick reader of XML property lists") struct PlainPropertyListTests {
  static let sample: PropertyListValue = [
    "array": [1, "two", true, false, [:], []], "data": .data(Data([0, 1, 2, 255])), "empty": "", "real": 1.5,
    "date": .date(Date(timeIntervalSinceReferenceDate: 86_400)),
    "nested": ["b": ["c": "é e\u{301} \u{1F600}"], "negative": .integer(-5)],
    "large": .integer(Int128(UInt64.max)),
  ]

  /// What libxml2 reads; nil for an error.
  static func parsed(_ bytes: [UInt8], maximumDepth: Int = PropertyList.maximumDepth) -> PropertyListValue? {
    let limits = XMLLimits(depth: PropertyList.maximumDepth + 4, attributes: 16)
    guard let root = try? XMLElement.parse(bytes.span, limits: limits) else { return nil }
    return try? PropertyList.decodeXML(root, maximumDepth: maximumDepth)
  }

  static func quick(_ bytes: [UInt8], maximumDepth: Int = PropertyList.maximumDepth) -> PropertyListValue? {
    PropertyList.decodePlainDocument(bytes.span, maximumDepth: maximumDepth)
  }

  @Test("it takes what this package writes, and reads the same")
  func own() throws {
    let bytes = try PropertyList.encodeXML(Self.sample)
    #expect(Self.quick(bytes) == Self.sample)
    #expect(Self.parsed(bytes) == Self.sample)
  }

  @Test("what it takes of changed files has the same meaning for libxml2", arguments: 0..<40)
  func changed(_ seed: UInt64) throws {
    let bytes = try PropertyList.encodeXML(Self.sample)
    var state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1
    func next(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    let pieces = [
      "<dict>", "</dict>", "<array>", "</array>", "<key>a</key>", "<key>", "<string>x</string>", "</string>", "<true/>",
      "&amp;", "&", ">", "]]>", "<!-- c -->", "\r", "\u{1}", "\u{FFFE}", "é", " ", "\n", "<integer>5</integer>", "<",
      "/", "</plist>", "<plist version=\"1.0\">",
    ].map { Array($0.utf8) }
    for _ in 0..<200 {
      var other = bytes
      for _ in 0...next(2) {
        let place = next(other.count)
        switch next(4) {
        case 0: other[place] = UInt8(truncatingIfNeeded: next(256))
        case 1: other.remove(at: place)
        case 2: other.removeSubrange(place..<min(place + next(12), other.count))
        default: other.insert(contentsOf: pieces[next(pieces.count)], at: place)
        }
      }
      if let value = Self.quick(other) {
        #expect(value == Self.parsed(other), "\(String(decoding: other, as: UTF8.self))")
      }
    }
  }

  @Test("a list that is too deep is left to libxml2, which refuses it", arguments: [2, 3, 4])
  func depth(_ maximum: Int) throws {
    let bytes = try PropertyList.encodeXML([[[["a"]]]])
    #expect(Self.quick(bytes, maximumDepth: maximum) == Self.parsed(bytes, maximumDepth: maximum))
    #expect((Self.quick(bytes, maximumDepth: maximum) == nil) == (maximum < 3))
  }

  @Test("text behind the list is left to libxml2")
  func behind() throws {
    let bytes = try PropertyList.encodeXML(["a": 1])
    for (text, isTaken) in [("\n", true), (" \n", true), ("x", false), ("<a/>", false), ("<!-- c -->", false)] {
      #expect((Self.quick(bytes + Array(text.utf8)) != nil) == isTaken)
    }
  }

  @Test("a key that occurs twice is refused, whatever the order of keys")
  func duplicateKeys() throws {
    for keys in [["a", "a"], ["a", "b", "a"], ["b", "a", "b"], ["b", "a", "a"], ["c", "b", "a", "b"]] {
      let entries = keys.map { "<key>\($0)</key><true/>" }.joined()
      var bytes = try PropertyList.encodeXML(true)
      let list = String(decoding: bytes, as: UTF8.self).replacing("<true/>", with: "<dict>\(entries)</dict>")
      bytes = Array(list.utf8)
      #expect(Self.quick(bytes) == nil)
      #expect(throws: PersistentStoreError.self) { try PropertyList.decodeXML(bytes.span) }
    }
  }

  @Test("keys in any order are sorted by their bytes, with equal dictionaries as result")
  func order() throws {
    var wanted = PropertyListDictionary()
    for key in ["", "a", "ab", "b", "e\u{301}", "é", "\u{1F600}"] { wanted[key] = .string(key) }
    for shift in 0..<7 {
      var entries = wanted.map { $0 }
      entries = Array(entries[shift...] + entries[..<shift])
      var duplicate = ""
      #expect(PropertyListDictionary(entries: entries, duplicate: &duplicate) == wanted)
      var grown = PropertyListDictionary()
      for entry in entries { grown[entry.key] = entry.value }
      #expect(grown == wanted)
      for entry in entries {
        #expect(grown[entry.key] == entry.value)
        grown[entry.key] = nil
        #expect(grown[entry.key] == nil)
      }
      #expect(grown.isEmpty)
    }
  }
}
