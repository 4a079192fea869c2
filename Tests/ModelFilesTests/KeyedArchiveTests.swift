import AtomicStoreSPI
import Foundation
import StoreCodecs
import Testing

@Suite("Keyed archives, as data")
struct KeyedArchiveTests {
  private static func root(_ builder: ArchiveBuilder, _ value: PropertyListValue) throws -> KeyedArchive.Value {
    builder.top = ["root": value]
    let binary = try KeyedArchive(try builder.binary(), file: "a.bin")
    // Both forms hold the same.
    let xml = try KeyedArchive(try builder.xml(), file: "a.xml")
    #expect(binary.objectCount == xml.objectCount)
    return try binary.root
  }

  @Test("values are read by key, whether they are inline or referenced")
  func values() throws {
    let builder = ArchiveBuilder()
    let date = builder.object("NSDate", fields: ["NS.time": 12.5])
    let mutable = builder.object("NSMutableString", "NSString", fields: ["NS.string": "text"])
    let data = builder.object("NSMutableData", "NSData", fields: ["NS.data": .data(Data([1, 2]))])
    let uuid = builder.object("NSUUID", fields: ["NS.uuidbytes": .data(Data(0..<16))])
    let object = builder.object(
      "Thing",
      fields: [
        "number": 7, "flag": true, "text": builder.text("a"), "mutable": mutable, "date": date, "data": data,
        "uuid": uuid,
        "nothing": ArchiveBuilder.null, "list": builder.array([builder.text("x"), builder.add(5)]),
        "table": builder.dictionary([("k", builder.add(1)), ("l", ArchiveBuilder.null)]),
      ])
    let root = try Self.root(builder, object)
    #expect(root.className == "Thing" && root.classNames == ["Thing", "NSObject"])
    #expect(try root.integer("number") == 7 && root.integer("flag") == 1 && root.integer("missing") == nil)
    #expect(try root.boolean("flag") && root.boolean("number") && !root.boolean("missing"))
    #expect(try root.string("text") == "a" && root.string("mutable") == "text" && root.string("nothing") == nil)
    #expect(try root["date"]?.dateValue == Date(timeIntervalSinceReferenceDate: 12.5))
    #expect(try root["data"]?.dataValue == Data([1, 2]))
    #expect(try root["uuid"]?.uuidValue?.uuidString == "00010203-0405-0607-0809-0A0B0C0D0E0F")
    #expect(try root.list("list")?.map { $0.stringValue ?? "\($0.integerValue ?? 0)" } == ["x", "5"])
    #expect(try root.dictionary("table")?.map(\.key) == ["k", "l"])
    #expect(try root.dictionary("table")?.last?.value.isNull == true)
  }

  @Test(
    "decimal numbers are exact",
    arguments: [
      ([0x96, 0x00], 1, -2, false, "1.50"), ([0x01, 0x00, 0x01, 0x00], 2, 0, true, "-65537"), ([], 0, 0, false, "0"),
      ([], 0, 0, true, "NaN"),
    ])
  func decimals(_ words: [UInt8], _ length: Int, _ exponent: Int, _ isNegative: Bool, _ text: String) throws {
    let builder = ArchiveBuilder()
    let number = builder.object(
      "NSDecimalNumberPlaceholder", "NSDecimalNumber", "NSNumber",
      fields: [
        "NS.mantissa": .data(Data(words + [UInt8](repeating: 0, count: 16 - words.count))), "NS.mantissa.bo": 1,
        "NS.length": .integer(Int128(length)), "NS.exponent": .integer(Int128(exponent)),
        "NS.negative": .boolean(isNegative),
      ])
    #expect(try Self.root(builder, number).decimalValue?.description == text)
  }

  @Test("a dictionary with known keys omits the values for which it has a token")
  func knownKeys() throws {
    let builder = ArchiveBuilder()
    let token = builder.text("__empty_slot_token__")
    let mapping = builder.object(
      "NSKnownKeysMappingStrategy1",
      fields: ["keys": builder.array([builder.text("a"), builder.text("b")]), "length": 2])
    let table = builder.object(
      "NSKnownKeysDictionary1", "NSKnownKeysDictionary", "NSMutableDictionary", "NSDictionary",
      fields: ["searchMapping": mapping, "values": builder.array([token, builder.add(9)]), "emptyToken": token])
    let entries = try Self.root(builder, table).entries()
    #expect(entries.map(\.key) == ["b"] && entries.first?.value.integerValue == 9)
  }

  @Test("references between objects may form a cycle: each object is read on request")
  func circle() throws {
    let builder = ArchiveBuilder()
    let one = builder.reserve()
    let other = builder.object("Other", fields: ["one": one])
    builder.set(one, builder.fields(["One"], ["other": other]))
    let root = try Self.root(builder, one)
    #expect(try root["other"]?["one"]?["other"]?.className == "Other")
  }

  @Test("an error names the object, its class and the keys that led to it")
  func errors() throws {
    let builder = ArchiveBuilder()
    let inner = builder.object(
      "Inner", fields: ["number": builder.text("seven"), "far": .uid(99), "list": builder.add(5)])
    let root = try Self.root(builder, builder.object("Outer", fields: ["inner": inner]))
    let value = try #require(try root["inner"])
    for (body, path, words) in [
      ({ _ = try value.integer("number") }, "root.inner.number", "an integer is expected"),
      ({ _ = try value["far"] }, "root.inner", "a reference to object 99, but"),
      ({ _ = try value.list("list") }, "root.inner.list", "an array or a set is expected"),
      ({ _ = try value.requiredString("name") }, "root.inner", "(Inner): the key 'name' is missing"),
      ({ _ = try value.expect(class: "Else") }, "root.inner", "class Else is expected"),
      ({ _ = try value.dictionary("list") }, "root.inner.list", "a dictionary is expected"),
    ] as [(() throws -> Void, String, String)] {
      let error = try ModelFileSupport.error(body)
      #expect(error.code == .malformed && error.message.contains(words), "\(error)")
      #expect(
        error.message.hasPrefix("object ") && error.location.property == path && error.location.file == "a.bin",
        "\(error)")
    }
  }

  @Test("a file that is not a keyed archive is refused")
  func others() throws {
    for list: PropertyListValue in [["a": 1], .array([]), ["$archiver": "X", "$objects": .array([])]] {
      #expect(
        try ModelFileSupport.error { _ = try KeyedArchive(try PropertyList.encodeBinary(list)) }.code == .foreignFormat)
    }
    let builder = ArchiveBuilder()
    builder.top = ["root": .uid(0)]
    builder.version = 200_000
    #expect(try ModelFileSupport.error { _ = try KeyedArchive(try builder.binary()) }.code == .unsupportedVersion)
    builder.version = 100_000
    builder.archiver = "NSOther"
    #expect(try ModelFileSupport.error { _ = try KeyedArchive(try builder.binary()) }.code == .unsupportedVersion)
    builder.archiver = "NSKeyedArchiver"
    builder.top = [:]
    #expect(try ModelFileSupport.error { _ = try KeyedArchive(try builder.binary()).root }.code == .malformed)
  }

  @Test("nested shared lists are refused if they expand to more than the file can contain")
  func sharing() throws {
    let builder = ArchiveBuilder()
    var list = builder.array((0..<50).map { _ in ArchiveBuilder.null })
    for _ in 0..<6 { list = builder.array([PropertyListValue](repeating: list, count: 50)) }
    let root = try Self.root(builder, list)
    func walk(_ value: KeyedArchive.Value) throws -> Int {
      value.isNull ? 1 : try value.elements().reduce(0) { $0 + (try walk($1)) }
    }
    #expect(try ModelFileSupport.error { _ = try walk(root) }.code == .limitExceeded)
  }

  @Test("bytes are decompressed up to the limit")
  func inflating() throws {
    // "hello hello hello hello\n" and a million zeros, by another program.
    let text: [UInt8] = [0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x57, 0xC8, 0x40, 0x27, 0xB9, 0x00]
    #expect(try RawDeflate.inflate(text) == Array("hello hello hello hello\n".utf8))
    #expect(try ModelFileSupport.error { _ = try RawDeflate.inflate(text, maximumCount: 23) }.code == .limitExceeded)
    #expect(try RawDeflate.inflate(text, maximumCount: 24).count == 24)
    #expect(try ModelFileSupport.error { _ = try RawDeflate.inflate(Array(text.dropLast(2))) }.code == .malformed)
    #expect(try ModelFileSupport.error { _ = try RawDeflate.inflate(text + [0]) }.message.contains("follow"))
    #expect(try ModelFileSupport.error { _ = try RawDeflate.inflate([0xFF, 0xFF]) }.code == .malformed)
    #expect(try ModelFileSupport.error { _ = try RawDeflate.inflate([]) }.code == .malformed)
  }
}
