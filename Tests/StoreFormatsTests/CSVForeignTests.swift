import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("CSV files of others") struct CSVForeignTests {
  let folder: CSVFolder
  init() throws { folder = try CSVFolder() }

  // MARK: Dialects

  @Test(
    "delimiters, line ends and a byte-order mark are found out, and a save keeps delimiter and line end",
    arguments: [",", ";", "\t", "|"], ["\n", "\r\n"])
  func dialects(_ delimiter: String, _ lineEnd: String) throws {
    func lines(_ records: [[String]]) -> String {
      records.map { $0.joined(separator: delimiter) + lineEnd }.joined()
    }
    let path = try folder.write(
      "\u{FEFF}" + lines([["name", "town"], ["Ada", "London"], ["Bob", "\"a\(delimiter)b\""]]))
    let open = try OpenCSV(path)
    #expect(open.references == [.integer(1), .integer(2)])
    #expect(try open.value("name", of: .integer(1)) == .string("Ada"))
    #expect(try open.value("town", of: .integer(2)) == .string("a\(delimiter)b"))
    try open.set("name", .string("Eve"), of: .integer(1))
    #expect(
      try folder.text() == lines([["name", "town"], ["Eve", "London"], ["Bob", "\"a\(delimiter)b\""]]))
  }

  @Test("a saved file has the delimiter that it had, whatever its names and first values hold")
  func foundAgain() throws {
    for (text, options) in [
      ("\"abc;123\"\nx;y\n", [:]), ("a,\"b;c|d;e\"\n1,2\n", [:]), ("\"a;b\"\n\"c;d\"\n", ["header": "no"]),
    ] as [(String, StoreOptions)] {
      let path = try folder.write(text)
      let open = try OpenCSV(path, options)
      let name = open.entity.slots[0].name
      let value = try open.value(name, of: .integer(1))
      try open.set(name, .string("new"), of: .integer(1))
      try open.set(name, value, of: .integer(1))
      let again = try OpenCSV(path, options)
      #expect(again.entity.slots.map(\.name) == open.entity.slots.map(\.name), "\(text)")
      #expect(try again.value(name, of: .integer(1)) == value)
    }
  }

  @Test(
    "a typed file with another delimiter is saved with that, or with what the option says, and read so again",
    arguments: [nil, "tab", "comma", "bar"])
  func typedWithTabs(_ option: String?) throws {
    let path = try folder.write("id:Reference\tname:String\tage:Integer 16\n1\tAnn\t20\n")
    let delimiter = option.flatMap { ["comma": ",", "bar": "|"][$0] } ?? "\t"
    for _ in 0..<2 {
      let open = try OpenCSV(path, option.map { ["delimiter": $0] } ?? [:])
      #expect(open.entity.slots.map(\.name) == ["name", "age"])
      #expect(try open.value("name", of: .integer(1)) == .string("Ann"))
      try open.set("age", .integer(21), of: .integer(1))
      #expect(
        try folder.text() == "id:Reference,name:String,age:Integer 16\n1,Ann,21\n".replacing(",", with: delimiter))
    }
  }

  @Test(
    "a new file called .tsv has tabs, any other commas; what it holds is read back, and saved the same way",
    arguments: [
      ("new.tsv", [:], "\t"), ("NEW.TSV", [:], "\t"), ("new.csv", [:], ","), ("new.tsv", ["delimiter": "comma"], ","),
      ("new.tsv", ["delimiter": "semicolon"], ";"), ("new.tsv", ["delimiter": "bar"], "|"),
      ("new.tsv", ["formulas": "defuse"], "\t"),
    ] as [(String, StoreOptions, String)])
  func newFiles(_ name: String, _ options: StoreOptions, _ delimiter: String) throws {
    let model = ModelDescription(entities: [
      EntityDescription(
        name: "Person",
        properties: [
          .attribute("name", .string),
          .attribute("a\tb", .string),
          .toOne("friend", "Person"),
        ])
    ])
    let path = folder.path + "/" + name
    let texts = ["a\tb", "a,b", "a;b", "a|b", " \t", "", "\"", "a\nb"]
    let made = try OpenCSV(path, options, model: model)
    try made.coordinator.save(
      made.store,
      changes: StoreChanges(
        inserted: texts.map { ManagedObjectSnapshot(entity: 0, values: [0: .string($0), 1: .string($0)]) }))
    let identifier = options["formulas"] == nil ? "id:Reference Person" : "id:Reference Person (defused)"
    for round in 0..<2 {
      #expect(try folder.text(name).hasPrefix(identifier + delimiter + "name:String" + delimiter), "\(round)")
      // Opening it needs no option.
      let again = try OpenCSV(path)
      #expect(again.entity.name == "Person" && again.entity.slots.map(\.name) == ["name", "a\tb", "friend"])
      for (index, text) in texts.enumerated() {
        #expect(try again.value("name", of: .integer(Int64(index + 1))) == .string(text))
        #expect(try again.value("a\tb", of: .integer(Int64(index + 1))) == .string(text))
      }
      try again.set("friend", .toOne(ObjectReference(entityName: "Person", reference: .integer(2))), of: .integer(1))
    }
  }

  @Test("a .tsv that has commas already keeps them")
  func commasInTabs() throws {
    let path = try folder.write("id:Reference,name:String\n1,Ann\n", to: "Person.tsv")
    let open = try OpenCSV(path)
    try open.set("name", .string("Eve"), of: .integer(1))
    #expect(try folder.text("Person.tsv") == "id:Reference,name:String\n1,Eve\n")
  }

  @Test("a specified delimiter is not detected")
  func givenDelimiter() throws {
    let path = try folder.write("a;b,c\n1;2,3\n")
    #expect(try OpenCSV(path, ["delimiter": "comma"]).value("a;b", of: .integer(1)) == .string("1;2"))
    #expect(try OpenCSV(path, ["delimiter": "semicolon"]).value("b,c", of: .integer(1)) == .string("2,3"))
  }

  @Test("without a header the columns have numbers, and a save writes none")
  func noHeader() throws {
    let path = try folder.write("Ada,36\nBob,25\n")
    let open = try OpenCSV(path, ["header": "no"])
    #expect(open.entity.slots.map(\.name) == ["column1", "column2"])
    #expect(open.references.count == 2)
    try open.set("column2", .string("37"), of: .integer(1))
    #expect(try folder.text() == "Ada,37\nBob,25\n")
  }

  @Test("a blank line at the end is skipped, one between records is refused with its line")
  func blankLines() throws {
    #expect(try OpenCSV(try folder.write("a,b\n1,2\n\n")).references.count == 1)
    let error = try OpenCSV.failure(try folder.write("a,b\n1,2\n\n3,4\n"))
    #expect(error.code == .malformed && error.location.line == 3, "\(error)")
  }

  // MARK: References

  @Test("without a key the reference is the row's number, and the same at each load")
  func rowNumbers() throws {
    let path = try folder.write("name\nAda\nBob\nCyd\n")
    let first = try OpenCSV(path, isReadOnly: true)
    let second = try OpenCSV(path, isReadOnly: true)
    #expect(first.references == [.integer(1), .integer(2), .integer(3)])
    #expect(second.references == first.references)
    #expect(second.store.identifier == first.store.identifier)
  }

  @Test("a row taken out where rows are the key is refused, and the file stays as it was")
  func removedRow() throws {
    let text = "name\nAda\nBob\nCyd\n"
    let open = try OpenCSV(try folder.write(text))
    let error = try XMLSupport.failure {
      try open.coordinator.save(
        open.store,
        changes: StoreChanges(deleted: [ObjectReference(entityName: "Person", reference: .integer(2))]))
    }
    #expect(error.code == .unsupportedByFormat && error.message.contains("row"), "\(error)")
    #expect(try folder.text() == text)
    #expect(open.references.count == 3)
  }

  @Test(
    "one column or several are the key; a bar within a value is doubled",
    arguments: [
      ("town", ["Bonn", "Rome"]), ("town,name", ["Bonn|A||x", "Rome|Bob"]), ("name,town", ["A||x|Bonn", "Bob|Rome"]),
    ])
  func keys(_ key: String, _ expected: [String]) throws {
    let path = try folder.write("name,town,age\nA|x,Bonn,1\nBob,Rome,2\n")
    let open = try OpenCSV(path, ["key": key, "delimiter": "comma"])
    #expect(Set(open.references) == Set(expected.map { .string($0) }))
    // After a save and at the next load they are the same.
    try open.set("age", .string("9"), of: .string(expected[0]))
    let again = try OpenCSV(path, ["key": key, "delimiter": "comma"], isReadOnly: true)
    #expect(again.references == open.references)
    #expect(try again.value("age", of: .string(expected[0])) == .string("9"))
  }

  @Test("a new object's reference is its key, and its row is sorted by the key")
  func newObject() throws {
    let path = try folder.write("code,name\nde,Germany\nfr,France\n")
    let open = try OpenCSV(path, ["key": "code"])
    let new = ManagedObjectSnapshot(entity: 0, values: [0: .string("es"), 1: .string("Spain")])
    try open.coordinator.save(open.store, changes: StoreChanges(inserted: [new]))
    #expect(try folder.text() == "code,name\nde,Germany\nes,Spain\nfr,France\n")
    let keyless = ManagedObjectSnapshot(entity: 0, values: [1: .string("Nowhere")])
    let error = try XMLSupport.failure {
      try open.coordinator.save(open.store, changes: StoreChanges(inserted: [keyless]))
    }
    #expect(error.code == .invalidValue && error.location.property == "code", "\(error)")
  }

  @Test("a key that is changed, or would be written another way, is refused")
  func changedKey() throws {
    let open = try OpenCSV(try folder.write("code,name\nde,Germany\n"), ["key": "code"])
    let error = try XMLSupport.failure { try open.set("code", .string("at"), of: .string("de")) }
    #expect(error.code == .unsupportedByFormat && error.location.reference == "de", "\(error)")
    // As a number 007 is 7, which would be another object the next time.
    let path = try folder.write("code,name\n007,Bond\n", to: "Agent.csv")
    let agents = try OpenCSV(path, ["key": "code", "types": "code=Integer 16"])
    #expect(agents.references == [.string("007")])
    let other = try XMLSupport.failure { try agents.set("name", .string("James"), of: .string("007")) }
    #expect(other.code == .unsupportedByFormat && other.message.contains("'7'"), "\(other)")
  }

  @Test("a duplicate or missing key is refused with its line", arguments: ["de,x", ",x"])
  func badKeys(_ row: String) throws {
    let error = try OpenCSV.failure(try folder.write("code,name\nde,Germany\n\(row)\n"), ["key": "code"])
    #expect(error.location.line == 3, "\(error)")
    #expect(error.code == (row.hasPrefix("de") ? .duplicateReference : .invalidValue))
  }

  @Test("relationships are read by the other's key, and a key with a space cannot be in a list")
  func relationships() throws {
    let model = ModelDescription(entities: [
      EntityDescription(
        name: "Person",
        properties: [
          .attribute("name", .string),
          .toOne("boss", "Person"),
          .toMany("friends", "Person"),
        ])
    ])
    let path = try folder.write("name,boss,friends\nAda,New York,Bob\nBob,,\nNew York,,Ada Bob\n")
    let open = try OpenCSV(path, ["key": "name"], model: model)
    func person(_ name: String) -> ObjectReference {
      ObjectReference(entityName: "Person", reference: .string(name))
    }
    #expect(try open.value("boss", of: .string("Ada")) == .toOne(person("New York")))
    #expect(try open.value("friends", of: .string("New York")) == .toMany([person("Ada"), person("Bob")]))
    try open.set("friends", .toMany([person("Ada"), person("Bob")]), of: .string("Ada"))
    #expect(try folder.text().contains("Ada,New York,Ada Bob\n"))
    let error = try XMLSupport.failure { try open.set("friends", .toMany([person("New York")]), of: .string("Bob")) }
    #expect(error.code == .unsupportedByFormat && error.location.property == "friends", "\(error)")
  }

  // MARK: Columns

  @Test("columns are renamed and left out; what was left out a save would lose, so it is refused")
  func mapping() throws {
    let path = try folder.write("Full Name,Town,x\nAda,London,1\n")
    let open = try OpenCSV(path, ["columns": "Full Name=name,Town=town"])
    #expect(open.entity.slots.map(\.name) == ["name", "town", "x"])
    try open.set("town", .string("Paris"), of: .integer(1))
    #expect(try folder.text() == "Full Name,Town,x\nAda,Paris,1\n")
    let part = try OpenCSV(path, ["columns": "Full Name=name,x="])
    #expect(part.entity.slots.map(\.name) == ["name", "Town"])
    let error = try XMLSupport.failure { try part.set("name", .string("Eve"), of: .integer(1)) }
    #expect(error.code == .unsupportedByFormat)
    #expect(try folder.text() == "Full Name,Town,x\nAda,Paris,1\n")
  }

  @Test("a column without a name is refused until it gets one or is left out")
  func namelessColumn() throws {
    let path = try folder.write(",name\n0,Ada\n")
    let error = try OpenCSV.failure(path)
    #expect(error.code == .malformed && error.location.line == 1 && error.message.contains("column 1"), "\(error)")
    #expect(try OpenCSV(path, ["columns": "=number"]).value("number", of: .integer(1)) == .string("0"))
    #expect(try OpenCSV(path, ["columns": "="]).entity.slots.map(\.name) == ["name"])
  }

  @Test(
    "options that name what is not there are refused",
    arguments: [
      ["key": "unknown"], ["columns": "unknown=x"], ["columns": "name"], ["types": "unknown=String"],
      ["types": "name=Integer 17"], ["key": ""], ["delimiter": "colon"], ["dateFormat": "soon"], ["shade": "blue"],
    ])
  func badOptions(_ options: StoreOptions) throws {
    let error = try OpenCSV.failure(try folder.write("name\nAda\n"), options)
    #expect(error.code == .invalidOption, "\(error)")
  }

  @Test("without an option, the file's name is the entity's")
  func entityName() throws {
    let path = try folder.write("name\nAda\n", to: "Some People.csv")
    #expect(try OpenCSV(path).entity.name == "Some People")
    #expect(try OpenCSV(path, ["entity": "Person"]).entity.name == "Person")
  }
}
