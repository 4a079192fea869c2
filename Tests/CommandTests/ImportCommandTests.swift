import Foundation
import Testing

@Suite("atomicstore import and check") struct ImportCommandTests {
  /// A directory with a copy of the sample library.
  private static func library(_ folder: borrowing Folder) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: Command.samples + "/Library") {
      try FileManager.default.copyItem(atPath: Command.samples + "/Library/" + name, toPath: folder(name))
    }
  }

  @Test("two tables become a store that is sound, as the documentation shows")
  func library() throws {
    let folder = try Folder()
    try Self.library(folder)
    let made = try Command.shell(
      "\"$0\" import authors.csv books.csv -o lib.xml --model Library.xcdatamodeld/Library.xcdatamodel && \"$0\" check lib.xml",
      in: folder.path)
    #expect(made.code == 0 && made.output.isEmpty && made.errors.isEmpty, "\(made.errors)\(made.output)")
    let fetched = try Command.run(
      "fetch", "lib.xml", "--entity", "Author", "--columns", "name,books.@count", "--format", "csv", "--sort", "name",
      in: folder.path)
    #expect(fetched.output.contains("Jane Austen,2\n"), "\(fetched.output)")
    let again = try Command.run("import", "authors.csv", "-o", "lib.xml", in: folder.path)
    #expect(again.code == 73)
  }

  @Test("all problems go to the report, nothing is written, and the exit code is 65")
  func report() throws {
    let folder = try Folder()
    try Self.library(folder)
    let arguments = [
      "import", "authors.csv", "books.csv", "loans-dirty.csv", "-o", "x.xml", "--model", "Library.xcdatamodeld",
      "--report", "errors.csv",
    ]
    // Twice: a report may take the place of a report.
    for _ in 0..<2 {
      let result = try Command.run(arguments: arguments, in: folder.path)
      #expect(result.code == 65 && result.errors.contains("11 problems, listed in errors.csv"), "\(result.errors)")
    }
    #expect(!folder.names.contains("x.xml"))
    let lines = try String(contentsOfFile: folder("errors.csv"), encoding: .utf8).split(separator: "\n")
    #expect(lines.count == 12 && lines[0] == "file,line,column,kind,entity,key,property,value,message")
    #expect(lines[4] == "loans-dirty.csv,6,29,value,Loan,4,returned,perhaps,'perhaps' is not a Boolean")
    // But not the place of something else.
    let refused = try Command.run(arguments: arguments.dropLast() + ["books.csv"], in: folder.path)
    #expect(refused.code == 73)
    let json = try Command.run(arguments: arguments + ["--json"], in: folder.path)
    #expect((try json.error()["problems"] as? [Any])?.count == 11)
  }

  @Test("bad records are left out and kept")
  func reject() throws {
    let folder = try Folder()
    try Self.library(folder)
    let result = try Command.run(
      "import", "Library", "-o", "x.xml", "--model", "Library.xcdatamodeld", "--reject", "bad", in: folder.path)
    #expect(result.code == 66)
    let made = try Command.run(
      "import", "authors.csv", "books.csv", "loans-dirty.csv", "-o", "x.xml", "--model", "Library.xcdatamodeld",
      "--reject", "bad", "--json", in: folder.path)
    #expect(made.code == 0, "\(made.errors)")
    let report = try #require(try made.json() as? [String: Any])
    #expect((report["entities"] as? [String: Int]) == ["Author": 6, "Book": 10, "Loan": 1])
    let bad = try String(contentsOfFile: folder("bad/loans-dirty.csv"), encoding: .utf8).split(separator: "\n")
    #expect(bad.count == 9 && bad[0] == "id,book_id,borrower,due,returned,fee,shelf")
    #expect(bad.contains("5,7,\"Kurt \"Gödel\" Friedrich\",2026-12-01,no,,C1"))
  }

  @Test("records that cannot be kept stop an import before the store is written")
  func rejectInTheWay() throws {
    let folder = try Folder()
    try Self.library(folder)
    try Data("mine".utf8).write(to: URL(filePath: folder("bad.csv")))
    let result = try Command.run(
      "import", "loans-dirty.csv", "books.csv", "authors.csv", "-o", "x.xml", "--model", "Library.xcdatamodeld",
      "--reject", "r", "--report", "bad.csv", in: folder.path)
    #expect(result.code == 73, "\(result.errors)")
    #expect(!FileManager.default.fileExists(atPath: folder("x.xml")))
    #expect(try String(contentsOfFile: folder("bad.csv"), encoding: .utf8) == "mine")
  }

  @Test("a store made of a private table is private, and a table is not replaced by the store made of it")
  func privateTable() throws {
    let folder = try Folder()
    try Self.library(folder)
    chmod(folder("authors.csv"), 0o600)
    let arguments = "import authors.csv books.csv --model Library.xcdatamodeld/Library.xcdatamodel -o"
    #expect(try Command.shell("umask 022; \"$0\" \(arguments) lib.xml", in: folder.path).code == 0)
    var status = stat()
    #expect(stat(folder("lib.xml"), &status) == 0 && status.st_mode & 0o777 == 0o600)
    let before = try Data(contentsOf: URL(filePath: folder("books.csv")))
    let result = try Command.shell("\"$0\" \(arguments) books.csv --to CSV --force --allow-loss", in: folder.path)
    #expect(result.code != 0)
    #expect(try Data(contentsOf: URL(filePath: folder("books.csv"))) == before)
  }

  @Test("without a model one is inferred, and saved")
  func inference() throws {
    let folder = try Folder()
    try Self.library(folder)
    let made = try Command.run(
      "import", "Author=authors.csv", "books.csv", "-o", "x.csvstore", "--write-model", "X.xcdatamodeld",
      in: folder.path)
    #expect(made.code == 0, "\(made.errors)")
    let fetched = try Command.run(
      "fetch", "x.csvstore", "--entity", "Book", "--where", "author.name == 'Émile Zola' AND price > 30", "--count",
      "--model", "X.xcdatamodeld", in: folder.path)
    #expect(fetched.output == "1\n", "\(fetched.errors)")
  }

  @Test("compressed tables and parts of a table are imported as they are named")
  func compressedParts() throws {
    let folder = try Folder()
    try Self.library(folder)
    let made = try Command.shell(
      """
      set -e
      gzip -c authors.csv > authors.csv.gz
      "$0" import authors.csv.gz books.csv loans.csv -o l.xml --model Library.xcdatamodeld
      "$0" import authors.csv books.csv loans.csv -o plain.xml --model Library.xcdatamodeld
      "$0" diff l.xml plain.xml | grep -v UUID || true
      gzip < books.csv | "$0" import authors.csv Book=- -o piped.xml --model Library.xcdatamodeld
      "$0" fetch piped.xml --entity Book --count
      head -4 books.csv > one.csv
      (head -1 books.csv; tail -n +5 books.csv) > two.csv
      mkdir parts && cp one.csv two.csv parts
      "$0" import authors.csv Book=one.csv,two.csv -o parts.xml
      "$0" import authors.csv Book=parts -o folder.xml
      "$0" fetch parts.xml --entity Book --count
      "$0" fetch folder.xml --entity Book --count
      """, in: folder.path)
    #expect(made.code == 0 && made.output == "10\n10\n10\n", "\(made.errors)\(made.output)")
    let rejected = try Command.shell(
      """
      printf 'id,name\\n1,a\\n1,b\\n' | gzip > T.csv.gz
      "$0" import T.csv.gz books.csv -o t.xml --reject bad --dangling reject
      cat bad/T.csv
      """, in: folder.path)
    #expect(rejected.output == "id,name\n1,b\n", "\(rejected.errors)\(rejected.output)")
  }

  @Test("what fetch writes as Arrow files is the same objects when it is imported")
  func arrowFiles() throws {
    let folder = try Folder()
    try Self.library(folder)
    let made = try Command.shell(
      """
      set -e
      "$0" import authors.csv books.csv loans.csv -o l.xml --model Library.xcdatamodeld
      for e in Author Book Loan; do "$0" fetch l.xml --entity $e --format arrow -o $e.arrow; done
      "$0" import Author=Author.arrow Book=Book.arrow Loan=Loan.arrow -o b.xml --model Library.xcdatamodeld
      "$0" diff l.xml b.xml | grep -v UUID || true
      "$0" fetch l.xml --entity Author --limit 0 --format arrow -o none.arrow
      "$0" import Author=none.arrow --into b.xml --upsert key
      "$0" import Author=Author.arrow -o inferred.xml --write-model Inferred.xcdatamodel
      "$0" model show Inferred.xcdatamodel | grep born
      """, in: folder.path)
    #expect(made.code == 0 && made.output == "  born: Date\n", "\(made.errors)\(made.output)")
    let bytes = try Data(contentsOf: URL(filePath: folder("Author.arrow")))
    try bytes.prefix(bytes.count - 40).write(to: URL(filePath: folder("cut.arrow")))
    let cut = try Command.run("import", "Author=cut.arrow", "-o", "c.xml", in: folder.path)
    #expect(cut.code == 65 && cut.errors.contains("cut.arrow"), "\(cut.code) \(cut.errors)")
  }

  @Test("keys of several columns are referred to by as many")
  func severalColumns() throws {
    let folder = try Folder()
    let made = try Command.shell(
      """
      printf 'airport,hour,temp\\nJFK,1,20\\nJFK,2,21\\n' > Weather.csv
      printf 'id,origin,time_hour\\n1,JFK,2\\n2,LGA,\\n' > Flight.csv
      "$0" import Weather.csv Flight.csv --key Weather=airport,hour \\
        --relationship Flight.weather=origin,time_hour:Weather -o f.xml
      printf 'id,origin,time_hour\\n1,JFK,1\\n' | "$0" import Flight=- --into f.xml --upsert key \\
        --relationship Flight.weather=origin,time_hour
      "$0" fetch f.xml --entity Flight --columns weather.temp,origin --format csv
      """, in: folder.path)
    #expect(made.code == 0 && made.output == "weather.temp,origin\n20,JFK\n,LGA\n", "\(made.errors)\(made.output)")
    #expect(
      made.errors
        == "note: Flight.weather: no object, because a column of the key has no value: origin, time_hour (1)\n",
      "\(made.errors)")
    let wrong = try Command.run(
      "import", "Weather.csv", "Flight.csv", "--relationship", "Flight.weather=origin,time_hour:Weather", "-o", "g.xml",
      in: folder.path)
    #expect(wrong.code == 64, "\(wrong.errors)")
  }

  @Test(
    "what fetch prints of the entities as JSON is the same objects when it is imported",
    arguments: ["json", "ndjson", "arrow"])
  func fetched(format: String) throws {
    let folder = try Folder()
    try FileManager.default.createDirectory(atPath: folder("tables"), withIntermediateDirectories: false)
    for entity in ["Department", "Employee", "Manager", "Project"] {
      let fetched = try Command.run(
        "fetch", Command.company, "--entity", entity, "--no-subentities", "--format", format)
      try fetched.data.write(to: URL(filePath: folder("tables/\(entity).json")))
    }
    let imported = try Command.run("import", folder("tables"), "-o", folder("back.xml"), "--model", Command.company)
    #expect(imported.code == 0 && imported.errors.isEmpty, "\(imported.errors)")
    // Binary data, both kinds of to-manys and values of undefined type are the same; what is not objects is new.
    let differences = try Command.run("diff", Command.company, folder("back.xml")).output.split(separator: "\n")
    #expect(differences.allSatisfy { $0.hasPrefix("~ UUID") || $0.hasPrefix("~ metadata") }, "\(differences)")
    // The same values again change nothing.
    let updated = try Command.run(
      "import", folder("tables"), "--into", Command.company, "--upsert", "key", "-o", folder("same.xml"))
    #expect(updated.code == 0, "\(updated.errors)")
    #expect(try Command.run("diff", Command.company, folder("same.xml")).output.isEmpty)
    // Objects of sub-entities would lose what only they have.
    let all = try Command.run("fetch", Command.company, "--entity", "Employee", "--format", format)
    let mixed = try Command.run(
      "import", "Employee=-", "--into", Command.company, "--upsert", "key", "--dry-run", input: all.data)
    #expect(mixed.code == 65 && mixed.errors.contains("an object of Manager, and not of Employee"), "\(mixed.errors)")
  }

  @Test("--into changes a store in place and keeps its UUID; --upsert updates; -o leaves it as it was")
  func into() throws {
    let folder = try Folder()
    try Self.library(folder)
    #expect(
      try Command.run(
        "import", "authors.csv", "-o", "lib.plist", "--model", "Library.xcdatamodeld/Library.xcdatamodel",
        in: folder.path
      ).code == 0)
    let uuid = try Command.run("metadata", "get", "lib.plist", "NSStoreUUID", in: folder.path).output
    #expect(try Command.run("import", "books.csv", "--into", "lib.plist", in: folder.path).code == 0)
    #expect(try Command.run("metadata", "get", "lib.plist", "NSStoreUUID", in: folder.path).output == uuid)
    #expect(try Command.run("check", "lib.plist", in: folder.path).code == 0)
    let before = try Data(contentsOf: URL(filePath: folder("lib.plist")))
    let taken = try Command.run("import", "books.csv", "--into", "lib.plist", in: folder.path)
    #expect(taken.code == 65 && taken.errors.contains("the store has Book/1 already"), "\(taken.errors)")
    let input = Data("id,price\n1,7.77\n".utf8)
    let other = try Command.run(
      "import", "Book=-", "--into", "lib.plist", "--upsert", "key", "-o", "new.xml", input: input, in: folder.path)
    #expect(other.code == 0, "\(other.errors)")
    #expect(try Data(contentsOf: URL(filePath: folder("lib.plist"))) == before)
    let diff = try Command.run("diff", "lib.plist", "new.xml", in: folder.path)
    #expect(
      diff.code == 1 && diff.output.contains("~ Book/1.price: ") && diff.output.split(separator: "\n").count == 1,
      "\(diff.output)")
  }

  @Test("what fetch prints of no objects changes nothing when it is imported; an empty CSV file is refused")
  func noObjects() throws {
    let folder = try Folder()
    let store = folder("c.xml")
    try FileManager.default.copyItem(atPath: Command.company, toPath: store)
    for format in ["ndjson", "json"] {
      let fetched = try Command.run("fetch", store, "--entity", "Project", "--limit", "0", "--format", format)
      #expect(fetched.code == 0, "\(fetched.errors)")
      try fetched.data.write(to: URL(filePath: folder("Project.\(format)")))
      let options = ["import", folder("Project.\(format)"), "--into", store, "--upsert", "key", "--json"]
      let imported = try Command.run(arguments: options)
      #expect(imported.code == 0, "\(imported.errors)")
      #expect(try Command.run("diff", folder("c.xml"), Command.company).output.isEmpty)
      for more in [["--upsert", "key"], []] {
        let piped = try Command.run(
          arguments: ["import", "Project=-", "--into", store] + more, input: fetched.data, in: folder.path)
        #expect(piped.code == 0, "\(piped.errors)")
        #expect(try Command.run("diff", folder("c.xml"), Command.company).output.isEmpty)
      }
      let replacing = ["import", "Project=-", "-o", store, "--force", "--model", Command.company]
      let refused = try Command.run(arguments: replacing, input: Data(), in: folder.path)
      #expect(refused.code == 65 && refused.errors.contains("standard input is empty"), "\(refused.errors)")
      #expect(try Command.run("diff", folder("c.xml"), Command.company).output.isEmpty)
    }
    let copied = try Command.run(
      arguments: ["import", "Project=-", "--into", store, "-o", folder("copy.plist")], input: Data(), in: folder.path)
    #expect(copied.code == 0, "\(copied.errors)")
    #expect(try Command.run("diff", folder("copy.plist"), Command.company).output.isEmpty)
    try Data().write(to: URL(filePath: folder("Project.csv")))
    let refused = try Command.run("import", folder("Project.csv"), "--into", store)
    #expect(refused.code == 65 && refused.errors.contains("the file is empty"), "\(refused.errors)")
  }

  @Test(
    "keys find the objects of the store that is added to, with leading zeros where it has numbers, and as its texts")
  func paddedKeys() throws {
    let folder = try Folder()
    func write(_ text: String) throws { try Data(text.utf8).write(to: URL(filePath: folder("T.csv"))) }
    for (first, second, count) in [("7,a\n10,b\n", "007,c\n0010,d\n", 2), ("007,a\n10,b\n", "10,d\n", 2)] {
      try write("id,n\n" + first)
      #expect(try Command.run("import", "T.csv", "-o", "t.plist", "--force", in: folder.path).code == 0)
      try write("id,n\n" + second)
      let added = try Command.run("import", "T.csv", "--into", "t.plist", "--upsert", "key", in: folder.path)
      #expect(added.code == 0, "\(added.errors)")
      let shown = try Command.run("fetch", "t.plist", "--entity", "T", "--count", in: folder.path)
      #expect(shown.output == "\(count)\n", "\(shown.output)")
      let changed = try Command.run(
        "fetch", "t.plist", "--entity", "T", "--where", "n == 'd'", "--count", in: folder.path)
      #expect(changed.output == "1\n")
    }
  }

  @Test("a key of another kind is that of a new object: the others are still found")
  func mixedKeys() throws {
    let folder = try Folder()
    func add(_ text: String) throws {
      try Data("id,n\n\(text)".utf8).write(to: URL(filePath: folder("T.csv")))
      let exists = FileManager.default.fileExists(atPath: folder("t.plist"))
      let result = try Command.run(
        arguments: ["import", "T.csv"] + (exists ? ["--into", "t.plist", "--upsert", "key"] : ["-o", "t.plist"]),
        in: folder.path)
      #expect(result.code == 0, "\(result.errors)")
    }
    try add("7,a\n8,b\n")
    try add("abc,c\n7,d\n")
    try add("7,e\nabc,f\n9,g\n010,h\n")
    let shown = try Command.run("dump", "t.plist", in: folder.path).output
    let names = shown.split(separator: "\n").filter { $0.hasPrefix("T/") }.map(String.init)
    #expect(names == ["T/7", "T/8", "T/9", "T/010", "T/abc"], "\(shown)")
    for text in ["\"e\"", "\"f\"", "\"g\"", "\"h\""] { #expect(shown.contains(text), "\(shown)") }
  }

  @Test(
    "what cannot be asked exits with 64",
    arguments: [
      ["people.csv"], ["-"], ["authors.csv", "--key", "Author"], ["authors.csv", "--relationship", "Author=x"],
      ["authors.csv", "--delimiter", "ab"], ["authors.csv", "--date-format", "MM/dd"],
      ["authors.csv", "--upsert", "key"],
      ["authors.csv", "--decimal", "comma", "--thousands", "comma"], ["authors.csv", "--encoding", "ebcdic"],
      ["authors.csv", "--boolean", "ja"], ["authors.csv", "--types", "born=Day"],
    ])
  func usage(_ arguments: [String]) throws {
    let folder = try Folder()
    try Self.library(folder)
    try FileManager.default.copyItem(atPath: folder("authors.csv"), toPath: folder("people.csv"))
    let result = try Command.run(
      arguments: ["import"] + arguments + ["--model", "Library.xcdatamodeld"], input: Data("x\n".utf8), in: folder.path)
    #expect(result.code == 64 && !result.errors.isEmpty, "\(result.code) \(result.errors)")
  }

  @Test("check lists everything as text and as JSON, and repairs a copy")
  func check() throws {
    let folder = try Folder()
    var text = try String(contentsOfFile: Command.company, encoding: .utf8)
    let marker = "<relationship name=\"department\" type=\"0/1\" destination=\"DEPARTMENT\" idrefs=\"z"
    let place = try #require(text.range(of: marker))
    text.insert(contentsOf: "99", at: place.upperBound)
    try text.write(toFile: folder("c.xml"), atomically: false, encoding: .utf8)
    let found = try Command.run("check", folder("c.xml"))
    #expect(found.code == 1 && found.output.contains("which does not exist"), "\(found.output)\(found.errors)")
    let json = try #require(try Command.run("check", folder("c.xml"), "--json").json() as? [String: Any])
    #expect(json["sound"] as? Bool == false && (json["counts"] as? [String: Int])?["dangling"] == 1, "\(json)")
    let repaired = try Command.run(
      "check", folder("c.xml"), "--fix", "dangling=nullify", "--fix", "inverses=from-to-many", "-o", folder("m.xml"))
    #expect(repaired.code == 0, "\(repaired.output)\(repaired.errors)")
    #expect(try Command.run("check", folder("m.xml")).code == 0)
    #expect(try Command.run("check", folder("c.xml"), "--fix", "dangling=nullify").code == 64)
    #expect(try Command.run("check", folder("missing.xml")).code == 66)
  }
}
