import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Values in CSV files") struct CSVValueTests {
  let folder: CSVFolder
  init() throws { folder = try CSVFolder() }

  // MARK: Null and empty

  @Test(
    "a bare cell is null, two quotes are an empty string, in files of ours and of others",
    arguments: ["name,note\n,\"\"\n\"\",x\n", "id:Reference,name:String,note:String\n1,,\"\"\n2,\"\",x\n"])
  func nullAndEmpty(_ text: String) throws {
    let open = try OpenCSV(try folder.write(text))
    #expect(try open.value("name", of: .integer(1)) == .null)
    #expect(try open.value("note", of: .integer(1)) == .string(""))
    #expect(try open.value("name", of: .integer(2)) == .string(""))
    // A save changes nothing but what was asked for.
    try open.set("note", .string("y"), of: .integer(2))
    #expect(try folder.text() == text.replacingOccurrences(of: "\"\",x", with: "\"\",y"))
  }

  @Test("empty data is two quotes too")
  func emptyData() throws {
    let text = "id:Reference,bytes:Binary\n1,\n2,\"\"\n3,AAEC\n"
    let open = try OpenCSV(try folder.write(text))
    #expect(try open.value("bytes", of: .integer(1)) == .null)
    #expect(try open.value("bytes", of: .integer(2)) == .data(Data()))
    #expect(try open.value("bytes", of: .integer(3)) == .data(Data([0, 1, 2])))
  }

  @Test(
    "a quoted empty cell is not a number",
    arguments: ["Integer 16", "Double", "Date", "Boolean", "UUID", "Decimal"])
  func quotedNothing(_ type: String) throws {
    let error = try OpenCSV.failure(try folder.write("id:Reference,x:\(type)\n1,\"\"\n"))
    #expect(error.code == .invalidValue, "\(error)")
    #expect(error.location.line == 2 && error.location.column == 3 && error.location.property == "x", "\(error)")
  }

  @Test(
    "line breaks, quotes, delimiters, leading and trailing spaces and NUL are preserved",
    arguments: [
      "a\nb", "a\r\nb", "\r", "\"", "\"\"", ",", " a", "a ", "\t", "\0", "\u{FEFF}a", ";|", "'", "\\n",
    ])
  func exactText(_ text: String) throws {
    let open = try OpenCSV(try folder.write("name,other\nx,1\n"))
    try open.set("name", .string(text), of: .integer(1))
    #expect(try OpenCSV(folder.path + "/Person.csv", isReadOnly: true).value("name", of: .integer(1)) == .string(text))
  }

  // MARK: Types

  @Test("types that are given are read, each in its own words")
  func types() throws {
    let path = try folder.write(
      """
      i,d,f,b,c,w,u,t,r
      -5,1e3,0.5,yes,1.50,2001-01-01,B4FC79D0-E654-43EF-9020-A5273B3F104A,AAEC,x:y
      +7,-0.0,inf,0,1E+20,2001-01-01 00:00:01+00:00,b4fc79d0-e654-43ef-9020-a5273b3f104a,"",
      """ + "\n")
    let types =
      "i=Integer 64,d=Double,f=Float,b=Boolean,c=Decimal,w=Date,u=UUID,t=Binary,r=URI"
    let open = try OpenCSV(path, ["types": types], isReadOnly: true)
    let uuid = try #require(UUID(uuidString: "B4FC79D0-E654-43EF-9020-A5273B3F104A"))
    let first: [(String, StoredValue)] = [
      ("i", .integer(-5)), ("d", .double(1000)), ("f", .float(0.5)), ("b", .boolean(true)),
      ("c", .decimal(try #require(DecimalNumber("1.50")))), ("w", .date(Date(timeIntervalSinceReferenceDate: 0))),
      ("u", .uuid(uuid)), ("t", .data(Data([0, 1, 2]))), ("r", .uri("x:y")),
    ]
    for (key, value) in first { #expect(try open.value(key, of: .integer(1)) == value, "\(key)") }
    let second: [(String, StoredValue)] = [
      ("i", .integer(7)), ("d", .double(-0.0)), ("f", .float(.infinity)), ("b", .boolean(false)),
      ("c", .decimal(try #require(DecimalNumber("1E+20")))), ("w", .date(Date(timeIntervalSinceReferenceDate: 1))),
      ("u", .uuid(uuid)), ("t", .data(Data())), ("r", .null),
    ]
    for (key, value) in second { #expect(try open.value(key, of: .integer(2)) == value, "\(key)") }
  }

  @Test(
    "a date format reads and writes its form, and nothing else",
    arguments: [
      ("dd.MM.yyyy HH:mm", "24.12.2026 18:30", 819_829_800.0), ("d/M/yyyy", "1/2/2001", 2_678_400.0),
      ("yyyyMMdd", "20010101", 0.0), ("yyyy-MM-ddTHH:mm:ssZ", "2001-01-01T00:00:01Z", 1.0),
    ])
  func dateFormat(_ format: String, _ text: String, _ seconds: Double) throws {
    let options: StoreOptions = ["types": "when=Date", "dateFormat": format]
    let path = try folder.write("name,when\nx,\(text)\n")
    let open = try OpenCSV(path, options)
    #expect(try open.value("when", of: .integer(1)) == .date(Date(timeIntervalSinceReferenceDate: seconds)))
    try open.set("name", .string("y"), of: .integer(1))
    #expect(try folder.text() == "name,when\ny,\(text)\n")
    let error = try OpenCSV.failure(try folder.write("name,when\nx,\(text)x\n", to: "Other.csv"), options)
    #expect(error.code == .invalidValue && error.location.column == 3, "\(error)")
  }

  @Test(
    "a date that the format cannot hold is refused on saving, whatever its text would be",
    arguments: [
      0.5, 1, -63_113_904_001, 252_423_993_600, -1e17, -1_234_567_890_123_456, -1.2345678901234e20, 1.23456789012345e20,
      -1.234567890123e-20, .nan, .infinity,
    ])
  func unfitDates(_ seconds: Double) throws {
    let text = "name,when\nx,01.01.2001 00:00\n"
    let open = try OpenCSV(
      try folder.write(text), ["types": "when=Date", "dateFormat": "dd.MM.yyyy HH:mm"])
    let error = try XMLSupport.failure {
      try open.set("when", .date(Date(timeIntervalSinceReferenceDate: seconds)), of: .integer(1))
    }
    #expect(error.code == .unsupportedByFormat && error.location.property == "when", "\(error)")
    #expect(try folder.text() == text)
  }

  // MARK: Refusals, with their place

  struct Refusal: Sendable, CustomTestStringConvertible {
    var type: String
    var cell: String
    var words: String
    var testDescription: String { "\(cell) as \(type)" }
  }
  static let refusals = [
    Refusal(type: "Integer 16", cell: "abc", words: "'abc' is not an Integer 16"),
    Refusal(type: "Integer 16", cell: "70000", words: "70000 is out of range for Integer 16"),
    Refusal(type: "Integer 32", cell: "2147483648", words: "2147483648 is out of range for Integer 32"),
    Refusal(type: "Integer 64", cell: "9223372036854775808", words: "'9223372036854775808' is not an Integer 64"),
    Refusal(type: "Integer 16", cell: "1.0", words: "'1.0' is not an Integer 16"),
    Refusal(type: "Integer 16", cell: " 1", words: "' 1' is not an Integer 16"),
    Refusal(type: "Double", cell: "1.5x", words: "'1.5x' is not a Double"),
    Refusal(type: "Double", cell: "1e999", words: "'1e999' is not a Double"),
    Refusal(type: "Float", cell: "0x1p3", words: "'0x1p3' is not a Float"),
    Refusal(type: "Decimal", cell: "1.5.0", words: "'1.5.0' is not a decimal number"),
    Refusal(type: "Boolean", cell: "maybe", words: "'maybe' is not a Boolean"),
    Refusal(type: "Date", cell: "2001-02-29", words: "'2001-02-29' is not a Date"),
    Refusal(type: "Date", cell: "yesterday", words: "'yesterday' is not a Date"),
    Refusal(type: "UUID", cell: "B4FC79D0", words: "'B4FC79D0' is not a UUID"),
    Refusal(type: "Binary", cell: "AAE", words: "is not base64"),
    Refusal(type: "Binary", cell: "A*EC", words: "byte 2 of the text is not base64"),
    Refusal(type: "Undefined", cell: "color:red", words: "'color:red' is not a value with its type"),
  ]

  @Test("a value that its attribute does not take is refused with file, line, column and property", arguments: refusals)
  func refused(_ refusal: Refusal) throws {
    let path = try folder.write(
      "id:Reference,name:String,value:\(refusal.type)\n1,\"two\nlines\",\n2,x,\(refusal.cell)\n")
    let error = try OpenCSV.failure(path)
    #expect(error.code == .invalidValue && error.message.contains(refusal.words), "\(error)")
    #expect(error.location.file == path && error.location.line == 4 && error.location.column == 5, "\(error)")
    #expect(error.location.entity == "Person" && error.location.reference == "2", "\(error)")
    #expect(error.location.property == "value")
  }

  @Test(
    "in a third-party file the same is refused at the same location",
    arguments: refusals.filter { $0.type != "Undefined" })
  func refusedInForeign(_ refusal: Refusal) throws {
    let path = try folder.write("name;value\n\"two\nlines\";\nx;\(refusal.cell)\n")
    let error = try OpenCSV.failure(path, ["types": "value=\(refusal.type)"])
    #expect(error.code == .invalidValue && error.message.contains(refusal.words), "\(error)")
    #expect(error.location.file == path && error.location.line == 4 && error.location.column == 3, "\(error)")
    #expect(error.location.property == "value")
  }

  @Test("a Boolean is read in the case in which spreadsheets and pandas write it", arguments: ["TRUE", "True", "true"])
  func caseOfBooleans(_ word: String) throws {
    let open = try OpenCSV(try folder.write("id:Reference,b:Boolean\n1,\(word)\n"))
    #expect(try open.value("b", of: .integer(1)) == .boolean(true))
  }

  @Test("our own files know two words for booleans, files of others more", arguments: ["yes", "Yes", "1", "No", "0"])
  func booleans(_ word: String) throws {
    let own = try OpenCSV.failure(try folder.write("id:Reference,b:Boolean\n1,\(word)\n"))
    #expect(own.code == .invalidValue)
    let open = try OpenCSV(try folder.write("b,c\n\(word),x\n", to: "Other.csv"), ["types": "b=Boolean"])
    #expect(try open.value("b", of: .integer(1)) == .boolean(["yes", "true", "1"].contains(word.lowercased())))
  }

  @Test(
    "records of another length, bad quotes and ids are refused with line and column",
    arguments: [
      ("1,a\n2\n", 3, 1), ("1,a\n2,b,c\n", 3, 5), ("1,a\n\n2,b\n", 3, 1), ("1,\"a\n", 2, 3), ("1,\"a\"b\n", 2, 6),
      ("1,a\"b\n", 2, 4), ("1,a\0b\n", 2, 4), ("x,a\n", 2, 1), (",a\n", 2, 1), ("1.0,a\n", 2, 1), ("s:%4,a\n", 2, 1),
    ])
  func structure(_ rows: String, _ line: Int, _ column: Int) throws {
    let path = try folder.write("id:Reference,name:String\n" + rows)
    let error = try OpenCSV.failure(path)
    #expect(error.code == .malformed, "\(error)")
    #expect(error.location.file == path && error.location.line == line && error.location.column == column, "\(error)")
  }

  @Test(
    "headers that say nothing, or say it twice, are refused in line 1",
    arguments: ["name", "name:Strings", ":String", "a%2:String", "boss->", "name:String,name:String"])
  func headers(_ columns: String) throws {
    let error = try OpenCSV.failure(try folder.write("id:Reference,\(columns)\n"))
    #expect([.malformed, .invalidModel].contains(error.code), "\(error)")
    #expect(error.location.file != nil, "\(error)")
  }

  @Test("a file of ours is ours whatever its names hold")
  func semicolonsInNames() throws {
    let text = "id:Reference,a;b;c;d:String\n1,x\n"
    let open = try OpenCSV(try folder.write(text))
    #expect(open.entity.slots.map(\.name) == ["a;b;c;d"])
    #expect(try open.value("a;b;c;d", of: .integer(1)) == .string("x"))
  }
}
