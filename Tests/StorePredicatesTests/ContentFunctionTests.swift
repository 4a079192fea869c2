import Foundation
import StorePredicates
import Testing

/// Bytes as other programs write them.
enum Bytes {
  static func varint(_ value: UInt64) -> [UInt8] {
    value < 0x80 ? [UInt8(value)] : [UInt8(value & 0x7F) | 0x80] + varint(value >> 7)
  }
  /// A field of a message of Protocol Buffers with bytes.
  static func field(_ number: UInt64, _ bytes: [UInt8]) -> [UInt8] {
    varint(number << 3 | 2) + varint(UInt64(bytes.count)) + bytes
  }
  static func field(_ number: UInt64, _ text: String) -> [UInt8] { field(number, Array(text.utf8)) }
  static func field(_ number: UInt64, integer: UInt64) -> [UInt8] { varint(number << 3) + varint(integer) }

  /// A member of gzip whose bytes are stored.
  static func gzip(_ bytes: [UInt8]) -> [UInt8] {
    var checksum: UInt32 = .max
    for byte in bytes {
      checksum ^= UInt32(byte)
      for _ in 0..<8 { checksum = checksum & 1 == 1 ? checksum >> 1 ^ 0xEDB8_8320 : checksum >> 1 }
    }
    func little(_ value: UInt32, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }
    let count = UInt32(bytes.count)
    return [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255, 1] + little(count, 2) + little(~count, 2) + bytes
      + little(~checksum, 4) + little(count, 4)
  }

  /// A binary property list: an array that contains one object many times, which is a text or data of these bytes.
  static func list(of content: [UInt8], isText: Bool = false, times: Int) -> [UInt8] {
    func big(_ value: Int) -> [UInt8] { (0..<4).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }
    let object = 8 + 6 + times
    let table = object + 6 + content.count
    return Array("bplist00".utf8) + [0xAF, 0x12] + big(times) + [UInt8](repeating: 1, count: times)
      + [isText ? 0x5F : 0x4F, 0x12] + big(content.count) + content + big(8) + big(object) + [0, 0, 0, 0, 0, 0, 4, 1]
      + [0, 0, 0, 0] + big(2) + [0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0] + big(table)
  }

  /// A note as Apple's Notes store it in `ICNoteData.data`.
  static func note(_ text: String) -> [UInt8] {
    let body = field(2, text) + field(5, field(1, integer: 4) + field(2, [0xFF, 0xFE]))
    return gzip(field(1, integer: 0) + field(2, field(1, integer: 0) + field(3, body)))
  }
}

@Suite("Functions that look into bytes") struct ContentFunctionTests {
  @Test(
    "bytes have this kind",
    arguments: [
      (Array("\u{89}PNG".unicodeScalars.map { UInt8($0.value) }) + [13, 10, 26, 10], "image/png"),
      ([0xFF, 0xD8, 0xFF, 0xE0], "image/jpeg"), (Array("GIF89a".utf8), "image/gif"),
      (Array("RIFF0000WEBPVP8 ".utf8), "image/webp"), (Array("AAAA0000WEBP".utf8), "text/plain"),
      ([0, 0, 0, 24] + Array("ftypheic".utf8), "image/heic"), (Bytes.gzip([1]), "application/gzip"),
      ([0x78, 0x9C, 3, 0, 0, 0, 0, 1], "application/zlib"), (Array("PK\u{3}\u{4}".utf8), "application/zip"),
      (Array("%PDF-1.7".utf8), "application/pdf"), (Array("SQLite format 3\0".utf8), "application/vnd.sqlite3"),
      (Array("bplist00".utf8), "application/x-bplist"),
      (Array("bplist00 $archiver NSKeyedArchiver".utf8), "application/x-nskeyedarchive"),
      (Array("<?xml version=\"1.0\"?><plist><string>a</string></plist>".utf8), "application/x-plist"),
      (Array(" {\"a\": [1]}".utf8), "application/json"), (Array("{not json".utf8), "text/plain"),
      (Array("plain ü".utf8), "text/plain"), ([0xC3, 0x28], "application/octet-stream"),
      ([0, 1, 2], "application/octet-stream"), ([], "application/octet-stream"),
    ] as [([UInt8], String)])
  func kinds(_ bytes: [UInt8], _ kind: String) throws {
    #expect(try Calculation.text(of: "kind:(\(Calculation.data(bytes)))") == "string:\(kind)")
    #expect(MediaType(of: bytes).name == kind)
  }

  @Test("the text of a note comes out with one expression")
  func note() throws {
    let text = "Buy milk\nand “bread” – 牛乳\u{FFFC}"
    let data = Calculation.data(Bytes.note(text))
    #expect(try Calculation.text(of: "text:(protobuf:(gunzip:(\(data)), '2.3.2'))") == "string:" + text)
    #expect(
      try Calculation.text(of: "protobuf:(gunzip:(\(data)), '2.3.5.2')") == "data:"
        + Data([0xFF, 0xFE]).base64EncodedString())
    #expect(try Calculation.text(of: "protobuf:(gunzip:(\(data)), '2.3.5.1')") == "integer:4")
    #expect(try Calculation.text(of: "protobuf:(gunzip:(\(data)), '9.9')") == "null")
    #expect(
      try Calculation.text(of: "protobuf:(gunzip:(\(data)))")
        == "string:{\"1\":0,\"2\":{\"1\":0,\"3\":{\"2\":\"Buy milk\\nand “bread” – 牛乳\u{FFFC}\",\"5\":{\"1\":4,\"2\":{\"base64\":\"//4=\"}}}}}"
    )
  }

  @Test("a field that is repeated is a list; every wire type is read")
  func wireTypes() throws {
    let bits = (0..<8).map { UInt8(truncatingIfNeeded: (1.5).bitPattern >> ($0 * 8)) }
    let single = (0..<4).map { UInt8(truncatingIfNeeded: Float(-2).bitPattern >> ($0 * 8)) }
    let bytes =
      Bytes.field(1, "a") + Bytes.field(1, "b") + [2 << 3 | 1] + bits + [3 << 3 | 5] + single
      + Bytes.field(4, integer: .max)
    let data = Calculation.data(bytes)
    #expect(try Calculation.text(of: "protobuf:(\(data), '1')") == "[string:a, string:b]")
    #expect(
      try Calculation.text(of: "protobuf:(\(data))") == "string:{\"1\":[\"a\",\"b\"],\"2\":1.5,\"3\":-2.0,\"4\":-1}")
  }

  @Test("compressed bytes are decompressed, with any header or none, and in several members")
  func decompression() throws {
    let bytes = Array("hello".utf8)
    for (name, compressed) in [
      ("gunzip:", Bytes.gzip(bytes)), ("inflate:", Bytes.gzip(bytes)),
      ("inflate:", [1, 5, 0, 0xFA, 0xFF] + bytes),
      ("inflate:", [0x78, 0x01, 1, 5, 0, 0xFA, 0xFF] + bytes + [0x06, 0x2C, 0x02, 0x15]),
      ("gunzip:", Bytes.gzip(Array("hel".utf8)) + Bytes.gzip([]) + Bytes.gzip(Array("lo".utf8))),
    ] {
      #expect(try Calculation.text(of: "text:(\(name)(\(Calculation.data(compressed))))") == "string:hello")
    }
  }

  /// Archived with classes that do not exist here, an object in itself, and every plain type.
  private static func archive(_ objects: [Any]) throws -> [UInt8] {
    // Written as XML: Foundation does not write the references of archives.
    func xml(_ value: Any) -> String {
      switch value {
      case let text as String: "<string>\(text)</string>"
      case let number as Int: "<integer>\(number)</integer>"
      case let uid as UID: "<dict><key>CF$UID</key><integer>\(uid.number)</integer></dict>"
      case let table as [(String, Any)]: "<dict>\(table.map { "<key>\($0.0)</key>" + xml($0.1) }.joined())</dict>"
      case let list as [Any]: "<array>\(list.map(xml).joined())</array>"
      default: "<false/>"
      }
    }
    let top: [(String, Any)] = [
      ("$archiver", "NSKeyedArchiver"), ("$objects", objects), ("$top", [("root", UID(1))] as [(String, Any)]),
      ("$version", 100_000),
    ]
    return Array("<?xml version=\"1.0\"?><plist version=\"1.0\">\(xml(top))</plist>".utf8)
  }

  private struct UID {
    let number: Int
    init(_ number: Int) { self.number = number }
  }

  @Test("a keyed archive is values and names of classes, and an object within itself a number")
  func archives() throws {
    let data = Calculation.data(
      try Self.archive([
        "$null", [("name", UID(2)), ("self", UID(1)), ("list", UID(4)), ("$class", UID(3))] as [(String, Any)], "Ada",
        [("$classname", "Person"), ("$classes", ["Person", "NSObject"])] as [(String, Any)],
        [("NS.objects", [UID(2), UID(0), UID(2)]), ("$class", UID(5))] as [(String, Any)],
        [("$classname", "NSArray"), ("$classes", ["NSArray", "NSObject"])] as [(String, Any)],
      ]))
    #expect(
      try Calculation.text(of: "archive:(\(data))")
        == "string:{\"$class\":\"Person\",\"list\":[\"Ada\",null,\"Ada\"],\"name\":\"Ada\",\"self\":{\"$ref\":1}}")
    #expect(try Calculation.text(of: "archive:(\(data), 'list.2')") == "string:Ada")
    #expect(try Calculation.text(of: "archive:(\(data), 'list.9')") == "null")
    #expect(try Calculation.text(of: "plist:(\(data), '$version')") == "integer:100000")
    #expect(try Calculation.text(of: "kind:(\(data))") == "string:application/x-nskeyedarchive")
  }

  @Test("lists that are shared again and again, and deep values, are errors")
  func bombs() throws {
    var objects: [Any] = ["$null"]
    for level in 0..<40 {
      objects.append([("NS.objects", [UID(level + 2), UID(level + 2)]), ("$class", UID(42))] as [(String, Any)])
    }
    objects += ["end", [("$classname", "NSArray"), ("$classes", ["NSArray"])] as [(String, Any)]]
    let shared = try Calculation.failure("archive:(\(Calculation.data(try Self.archive(objects))))")
    #expect(shared.contains("100000 values, the limit") || shared.contains("shared lists"), "\(shared)")
    var deep: [UInt8] = [8, 1]
    for _ in 0..<150 { deep = Bytes.field(1, deep) }
    #expect(try Calculation.failure("protobuf:(\(Calculation.data(deep)))").contains("nested more than 100 deep"))
    let many = [UInt8](repeating: 0, count: 0) + (0..<100_001).flatMap { _ in [8, 1] as [UInt8] }
    #expect(try Calculation.failure("protobuf:(\(Calculation.data(many)))").contains("100000 values, the limit"))
    // A binary property list of 40 arrays, each with the next one twice.
    var list = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for level in 0..<40 as Range<UInt8> {
      offsets.append(UInt8(list.count))
      list += [0xA2, level + 1, level + 1]
    }
    offsets.append(UInt8(list.count))
    list += [0x09]
    let table = UInt8(list.count)
    list +=
      offsets + [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, 41] + [0, 0, 0, 0, 0, 0, 0, 0]
      + [0, 0, 0, 0, 0, 0, 0, table]
    #expect(try Calculation.failure("plist:(\(Calculation.data(list)))").contains("100000 values"))
  }

  @Test("what is shared counts each time, in all levels of nested bytes together")
  func sharedBytes() throws {
    let text = [UInt8](repeating: UInt8(ascii: "a"), count: 1 << 19)
    #expect(
      try Calculation.text(
        of: "length:(plist:(\(Calculation.data(Bytes.list(of: text, isText: true, times: 1))), '0'))")
        == "integer:524288")
    for list in [Bytes.list(of: text, isText: true, times: 300), Bytes.list(of: text, times: 300)] {
      let failure = try Calculation.failure("plist:(\(Calculation.data(list)))")
      #expect(failure.contains("finds more than 67108864 bytes of texts and data, the limit"), "\(failure)")
    }
    // Eight to the seventh power: without a common limit, each level would have its own.
    var nested: [UInt8] = Array("end".utf8)
    for _ in 0..<7 { nested = Bytes.list(of: nested, times: 8) }
    let decoded = try Calculation.text(of: "decoded:(\(Calculation.data(nested)))")
    #expect(decoded.contains("the limit"), "\(decoded.prefix(200))")
    #expect(decoded.utf8.count < 200 << 20)
  }

  @Test("what is not a number makes a percentile and a median one that is not, in any order")
  func notANumber() throws {
    let list =
      Array("bplist00".utf8) + [0xA1, 1, 0x23, 0x7F, 0xF8, 0, 0, 0, 0, 0, 0, 8, 10]
      + [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, 2] + [0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 0, 19]
    let nan = "plist:(\(Calculation.data(list)), '0')"
    for order in ["\(nan), 1, 3", "1, \(nan), 3", "3, 1, \(nan)"] {
      #expect(try Calculation.text(of: "percentile:({\(order)}, 0)").hasPrefix("double:nan"))
      #expect(try Calculation.text(of: "median:({\(order)})").hasPrefix("double:nan"))
    }
  }

  @Test("texts of many parts cost as many steps as they have bytes")
  func manyParts() throws {
    let text = "text:(\(Calculation.data(Array(String(repeating: "a,", count: 60_000).utf8))))"
    #expect(try Calculation.text(of: "length:(replace:(\(text), ',', ';'))") == "integer:120000")
    #expect(try Calculation.text(of: "length:(join:(split:(\(text), ','), '; '))") == "integer:180000")
  }

  @Test("bytes that were cut or changed anywhere are read or refused, and never trap", arguments: 0..<4)
  func damage(_ which: Int) throws {
    let (bytes, name): ([UInt8], String) = [
      (Bytes.note("some text of a note"), "gunzip:"),
      (Array(Bytes.note("a note").dropFirst(15).dropLast(8)), "protobuf:"),
      (try Self.archive(["$null", [("name", UID(0))] as [(String, Any)]]), "archive:"),
      (
        Array("bplist00".utf8) + [0xD1, 1, 2, 0x51, 0x61, 0x10, 7, 8, 11, 13] + [0, 0, 0, 0, 0, 0, 1, 1]
          + [0, 0, 0, 0, 0, 0, 0, 3] + [0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 0, 15], "plist:"
      ),
    ][which]
    for place in bytes.indices {
      var changed = bytes
      changed[place] ^= UInt8(1 << (place % 8))
      for variant in [Array(bytes.prefix(place)), changed] {
        do { _ = try Calculation.value("\(name)(\(Calculation.data(variant)))") } catch let error
          as PredicateEvaluationError
        {
          #expect(error.message.hasPrefix(name))
        }
      }
    }
  }
}
