import Foundation
import Testing

@Suite("atomicstore set, insert, delete, merge, migrate") struct EditCommandTests {
  /// A directory with the library as lib.xml, of the first version of its model, and lib3.xml of the last.
  private static func library(_ folder: borrowing Folder) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: Command.samples + "/Library") {
      try FileManager.default.copyItem(atPath: Command.samples + "/Library/" + name, toPath: folder(name))
    }
    let made = try Command.run(
      "import", "authors.csv", "books.csv", "-o", "lib.xml", "--model", "Library.xcdatamodeld/Library.xcdatamodel",
      in: folder.path)
    #expect(made.code == 0, "\(made.errors)")
    let migrated = try Command.run(
      "migrate", "lib.xml", "--model", "Library.xcdatamodeld", "-o", "lib3.xml", in: folder.path)
    #expect(migrated.code == 0, "\(migrated.errors)")
  }

  @Test("the acceptance of the issue: import, check, migrate, compare, set without writing, sums of decimals")
  func acceptance() throws {
    let folder = try Folder()
    try Self.library(folder)
    let diff = try Command.run("diff", "lib.xml", "lib3.xml", "--ignore-model", in: folder.path)
    #expect(diff.code == 0 && diff.output.contains("= Author.name is Author.fullName in lib3.xml\n"), "\(diff.output)")
    let before = try Data(contentsOf: URL(filePath: folder("lib3.xml")))
    let dry = try Command.run(
      "set", "lib3.xml", "--entity", "Book", "--where", "price > 20", "price=price * 0.9", "--dry-run", in: folder.path)
    #expect(dry.code == 0, "\(dry.errors)")
    let lines = dry.output.split(separator: "\n")
    #expect(lines.count == 4 && lines[0] == "~ Book/3.price: 24.90 → 22.410", "\(dry.output)")
    #expect(try Data(contentsOf: URL(filePath: folder("lib3.xml"))) == before)
    let prices = try Command.run("fetch", "lib3.xml", "--entity", "Book", "--json", in: folder.path)
    #expect(
      prices.output.contains("\"price\": 9.99,") && prices.output.contains("\"price\": 38.00,"), "\(prices.output)")
    let strings = try Command.run(
      "fetch", "lib3.xml", "--entity", "Book", "--json", "--decimals", "string", in: folder.path)
    #expect(strings.output.contains("\"price\": \"9.99\","))
  }

  @Test("objects whose references are texts are named as they are printed, whatever the text looks like")
  func textReferences() throws {
    let folder = try Folder()
    try Data("id,name,boss\n007,Bond,\n1,M,\nx y,Q,\n".utf8).write(to: URL(filePath: folder("Agent.csv")))
    let made = try Command.run(
      "import", "Agent.csv", "-o", "agents.xml", "--relationship", "Agent.boss=boss:Agent", in: folder.path)
    #expect(made.code == 0, "\(made.errors)")
    for name in ["1", "007", "x y"] {
      let set = try Command.run(
        "set", "agents.xml", "--entity", "Agent", "--all", "boss:=Agent/\(name)", in: folder.path)
      #expect(set.code == 0, "\(set.errors)")
      let found = try Command.run(
        "fetch", "agents.xml", "--entity", "Agent", "--columns", "boss", "--distinct", "--format", "csv",
        in: folder.path)
      #expect(found.output == "boss\nAgent/\(name)\n")
    }
    let missing = try Command.run("set", "agents.xml", "--entity", "Agent", "--all", "boss:=Agent/07", in: folder.path)
    #expect(missing.code == 65 && missing.errors.contains("Agent/07"), "\(missing.errors)")
    let several = try Command.run(
      "set", "agents.xml", "--entity", "Agent", "--all", "boss:=Agent/1 Agent/007", in: folder.path)
    #expect(several.code == 65 && several.errors.contains("not 2"), "\(several.errors)")
  }

  @Test("where a number and a text are the same key, a table means the text, and a command has to be told")
  func sameKeys() throws {
    let folder = try Folder()
    try Data("id,name,boss\n007,Bond,\n1,M,\n".utf8).write(to: URL(filePath: folder("Agent.csv")))
    try Data("id,name,boss\n1,Mansfield,\n007,James,1\n".utf8).write(to: URL(filePath: folder("later.csv")))
    let patch =
      #"{"atomicstorePatch": 1, "changes": [{"kind": "inserted", "entity": "Agent", "reference": 1, "values": {"name": "Q"}}]}"#
    try Data(patch.utf8).write(to: URL(filePath: folder("p.json")))
    for line in [
      "import Agent.csv -o agents.xml --relationship Agent.boss=boss:Agent", "patch agents.xml p.json",
      "import Agent=later.csv --into agents.xml --upsert key --relationship Agent.boss=boss",
    ] {
      let result = try Command.shell("\"$0\" \(line)", in: folder.path)
      #expect(result.code == 0, "\(result.errors)")
    }
    let found = try Command.run(
      "fetch", "agents.xml", "--entity", "Agent", "--columns", "name,boss.name", "--sort", "name", "--format", "csv",
      in: folder.path)
    #expect(found.output == "name,boss.name\nJames,Mansfield\nMansfield,\nQ,\n")
    let set = try Command.run("set", "agents.xml", "--entity", "Agent", "--all", "boss:=Agent/1", in: folder.path)
    #expect(set.code == 65 && set.errors.contains("two objects"), "\(set.errors)")
  }

  @Test(
    "what is made of a private store is private",
    arguments: [
      "migrate lib.xml --model Library.xcdatamodeld -o new.xml", "merge lib.xml lib.xml -o new.xml",
      "anonymize lib.xml Author.name=mask -o new.xml", "set lib.xml --entity Book --all price:=1 -o new.xml",
    ])
  func permissions(_ arguments: String) throws {
    let folder = try Folder()
    try Self.library(folder)
    chmod(folder("lib.xml"), 0o600)
    let result = try Command.shell("umask 022; \"$0\" \(arguments)", in: folder.path)
    #expect(result.code == 0, "\(result.errors)")
    var status = stat()
    #expect(stat(folder("new.xml"), &status) == 0 && status.st_mode & 0o777 == 0o600)
    // The source is never the result.
    let before = try Data(contentsOf: URL(filePath: folder("lib.xml")))
    if !arguments.hasPrefix("set") {
      let over = arguments.replacing("-o new.xml", with: "-o lib.xml --force")
      #expect(try Command.shell("\"$0\" \(over)", in: folder.path).code == 73)
    }
    #expect(try Data(contentsOf: URL(filePath: folder("lib.xml"))) == before)
  }

  @Test("set changes the store with one save, -o leaves it and makes another; validation applies")
  func setting() throws {
    let folder = try Folder()
    try Self.library(folder)
    func prices(_ name: String) throws -> String {
      try Command.run(
        "fetch", name, "--entity", "Book", "--where", "price > 30", "--columns", "price", "--format", "csv",
        in: folder.path
      ).output
    }
    #expect(try prices("lib.xml") == "price\n38.00\n")
    let other = try Command.run(
      "set", "lib.xml", "--entity", "Book", "--all", "price:=31", "-o", "other.plist", in: folder.path)
    #expect(other.code == 0, "\(other.errors)")
    #expect(try prices("other.plist").split(separator: "\n").count == 11)
    #expect(try prices("lib.xml") == "price\n38.00\n")
    #expect(
      try Command.run("set", "lib.xml", "--entity", "Book", "--where", "price > 30", "price=price - 1", in: folder.path)
        .code == 0)
    #expect(try prices("lib.xml") == "price\n37.00\n")
    let before = try Data(contentsOf: URL(filePath: folder("lib.xml")))
    let invalid = try Command.run("set", "lib.xml", "--entity", "Book", "--all", "price=-1", in: folder.path)
    #expect(invalid.code == 65 && invalid.errors.contains("at least 0"), "\(invalid.errors)")
    #expect(try Data(contentsOf: URL(filePath: folder("lib.xml"))) == before)
    for (arguments, code) in [(["nosuch=1"], 64), (["price"], 64), (["price=price *"], 64), (["price:=x"], 65)] {
      let result = try Command.run(
        arguments: ["set", "lib.xml", "--entity", "Book", "--all"] + arguments, in: folder.path)
      #expect(Int(result.code) == code, "\(arguments) \(result.code) \(result.errors)")
    }
  }

  @Test("insert and delete, with delete rules")
  func insertingAndDeleting() throws {
    let folder = try Folder()
    try Self.library(folder)
    let inserted = try Command.run(
      "insert", "lib.xml", "--entity", "Book", "title:=Vérité", "author:=Author/2", "price=10 + 5", in: folder.path)
    #expect(inserted.code == 0, "\(inserted.errors)")
    let count = try Command.run(
      "fetch", "lib.xml", "--entity", "Author", "--where", "name BEGINSWITH 'É'", "--columns", "books.@count",
      "--format",
      "csv", in: folder.path)
    #expect(count.output.hasSuffix("\n3\n"), "\(count.output)")
    let denied = try Command.run("delete", "lib.xml", "--entity", "Author", "--all", in: folder.path)
    #expect(denied.code == 65 && denied.errors.contains("cannot be deleted"), "\(denied.errors)")
    #expect(try Command.run("delete", "lib.xml", "--entity", "Book", in: folder.path).code == 64)
    #expect(
      try Command.run("delete", "lib.xml", "--entity", "Book", "--where", "author.name == 'Homer'", in: folder.path)
        .code
        == 0)
    #expect(try Command.run("fetch", "lib.xml", "--entity", "Book", "--count", in: folder.path).output == "10\n")
  }

  @Test("git merges two branches of a store with the driver of the help text, and reports what both changed")
  func gitDriver() throws {
    let folder = try Folder()
    try Self.library(folder)
    let path = try #require(Command.path)
    func git(_ line: String) throws -> Command.Result {
      try Command.shell(
        "PATH=\"\(folder.path)/bin:$PATH\"; export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1; " + line,
        in: folder.path)
    }
    try FileManager.default.createDirectory(atPath: folder("bin"), withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: folder("bin/atomicstore"), withDestinationPath: path)
    guard try git("git --version").code == 0 else { return }
    let prepared = try git(
      """
      git init -q -b main . && git config user.email a@b && git config user.name a \
      && git config merge.atomicstore.driver 'atomicstore merge --base %O %A %B -o %A --force' \
      && echo 'lib.xml merge=atomicstore' > .gitattributes && git add lib.xml .gitattributes && git commit -qm base \
      && git checkout -qb other && atomicstore set lib.xml --entity Author --where "name == 'Homer'" "name:=Homeros" \
      && atomicstore insert lib.xml --entity Author name:=Colette && git commit -qam theirs \
      && git checkout -q main && atomicstore set lib.xml --entity Book --where "title == 'Emma'" price:=1 \
      && atomicstore insert lib.xml --entity Author name:=Sand && git commit -qam ours && git merge -q other
      """)
    #expect(prepared.code == 0, "\(prepared.output)\(prepared.errors)")
    let names = try Command.run(
      "fetch", "lib.xml", "--entity", "Author", "--columns", "name", "--format", "csv", in: folder.path
    ).output
    #expect(names.contains("Homeros\n") && names.contains("Colette\n") && names.contains("Sand\n"), "\(names)")
    #expect(try Command.run("check", "lib.xml", in: folder.path).code == 0)
    let conflict = try git(
      """
      git checkout -q other && atomicstore set lib.xml --entity Book --where "title == 'Emma'" price:=2 \
      && git commit -qam theirs && git checkout -q main \
      && atomicstore set lib.xml --entity Book --where "title == 'Emma'" price:=3 && git commit -qam ours \
      && git merge -q other
      """)
    #expect(
      conflict.code != 0 && conflict.errors.contains("Book/2.price: 3 or 2"), "\(conflict.errors)\(conflict.output)")
  }

  @Test(
    "git merges two branches of a store of each type that is one file and changes in place",
    .enabled(if: GuideTests.hasGit, "git is not on this machine"),
    arguments: ["xml", "plist", "binary", "csv", "sqlgraph"])
  func gitDriverOfType(_ type: String) throws {
    let folder = try Folder()
    try Self.library(folder)
    let path = try #require(Command.path)
    try FileManager.default.createDirectory(atPath: folder("bin"), withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: folder("bin/atomicstore"), withDestinationPath: path)
    let options = type == "csv" ? "--write-option entity=Book --allow-loss" : "--renumber"
    let merged = try Command.shell(
      """
      set -e; PATH="$1/bin:$PATH"; export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
      set_price() { atomicstore set s.$2 --entity Book --where "title BEGINSWITH '$1'" "price=$3"; git commit -qam "$1"; }
      mkdir git; cd git; git init -q -b main .; git config user.email a@b; git config user.name a
      git config merge.atomicstore.driver 'atomicstore merge --base %O %A %B -o %A --force'
      atomicstore convert ../lib.xml s.\(type) \(options)
      echo 's.\(type) merge=atomicstore' > .gitattributes; git add .; git commit -qm base
      git checkout -qb other; set_price Emma \(type) 1
      git checkout -q main; set_price Pride \(type) 2
      git merge -q other -m merged
      test -z "$(git status --porcelain)"
      """, folder.path, in: folder.path)
    #expect(merged.code == 0, "\(merged.output)\(merged.errors)")
    let prices = try Command.run(
      "fetch", "git/s.\(type)", "--entity", "Book", "--where", "price < 3", "--sort", "price", "--columns",
      "title,price", "--format", "csv", in: folder.path)
    #expect(prices.output == "title,price\nEmma,1\nPride and Prejudice,2\n", "\(prices.output)\(prices.errors)")
  }

  @Test("diff by entity, without a property, and as a summary")
  func comparing() throws {
    let folder = try Folder()
    try Self.library(folder)
    let edited = try Command.run(
      "set", "lib.xml", "--entity", "Book", "--where", "price > 20", "price=price + 1", "inPrint=FALSE", "-o",
      "new.xml",
      in: folder.path)
    #expect(edited.code == 0, "\(edited.errors)")
    func diff(_ options: String...) throws -> Command.Result {
      try Command.run(arguments: ["diff", "lib.xml", "new.xml"] + options, in: folder.path)
    }
    #expect(try diff("--summary").output == "Book: 0 inserted, 0 deleted, 4 changed\n")
    #expect(try diff("--entity", "Author").code == 0)
    #expect(try diff("--ignore", "price", "--ignore", "Book.inPrint").code == 0)
    #expect(try diff("--ignore", "price").output.contains("~ Book/3.inPrint: true → false\n"))
    let json = try #require(try diff("--summary", "--json").json() as? [String: Any])
    #expect((json["entities"] as? [String: [String: Int]])?["Book"]?["changed"] == 4)
  }

  @Test("anonymize makes a copy with other values, the same by the same salt")
  func anonymizing() throws {
    let folder = try Folder()
    try Self.library(folder)
    for name in ["a.xml", "b.xml"] {
      let made = try Command.run(
        "anonymize", "lib.xml", "Author.name=hash", "Book.title=mask", "--salt", "s", "-o", name, in: folder.path)
      #expect(made.code == 0, "\(made.errors)")
    }
    #expect(try Command.run("diff", "a.xml", "b.xml", in: folder.path).code == 0)
    #expect(try !String(contentsOfFile: folder("a.xml"), encoding: .utf8).contains("Zola"))
    for arguments in [["Author.name=hash", "-o", "c.xml"], ["Author.name=mask"], ["name=mask", "-o", "c.xml"]] {
      #expect(try Command.run(arguments: ["anonymize", "lib.xml"] + arguments, in: folder.path).code == 64)
    }
  }

  @Test("stores of different versions of a model are merged with --model, and refused without")
  func mergingVersions() throws {
    let folder = try Folder()
    try Self.library(folder)
    func run(_ arguments: String) throws -> Command.Result {
      try Command.run(arguments: arguments.split(separator: " ").map(String.init), in: folder.path)
    }
    let refused = try run("merge lib.xml lib3.xml -o all.xml")
    #expect(refused.code == 65 && refused.errors.contains("have different models"), "\(refused.errors)")
    #expect(refused.errors.contains("--model MODEL merges them by that model"), "\(refused.errors)")
    // One side has the new version and a lower price, the other the old one and another author.
    #expect(try run("set lib3.xml --entity Book --where price==38 price:=30 -o mine.xml").code == 0)
    #expect(try run("insert lib.xml --entity Author name:=Sappho").code == 0)
    let before = try Data(contentsOf: URL(filePath: folder("lib.xml")))
    let all = try run("merge lib.xml mine.xml -o all.xml --model Library.xcdatamodeld --on-conflict last")
    #expect(all.code == 0, "\(all.errors)")
    let whole = try run("merge --base lib3.xml lib.xml mine.xml -o three.xml --model Library.xcdatamodeld")
    #expect(whole.code == 0, "\(whole.errors)")
    for name in ["all.xml", "three.xml"] {
      #expect(try run("check \(name)").code == 0)
      let diff = try run("diff lib3.xml \(name)")
      #expect(
        diff.output == "+ Author/11\n~ Book/4.price: 38.00 → 30\n",
        "\(name): \(diff.output)\(diff.errors)")
    }
    #expect(try Data(contentsOf: URL(filePath: folder("lib.xml"))) == before)
    // Back to the first version, a language has no property.
    #expect(try run("set lib3.xml --entity Book --where price==38 language:=la").code == 0)
    let back = "merge lib.xml lib3.xml -o old.xml --on-conflict first --model Library.xcdatamodeld/Library.xcdatamodel"
    let loss = try run(back)
    #expect(loss.code == 65 && loss.errors.contains("language"), "\(loss.errors)")
    let allowed = try run(back + " --allow-loss")
    #expect(allowed.code == 0 && allowed.errors.contains("lost: lib3.xml"), "\(allowed.errors)")
  }

  @Test("merge on the command line: nothing matched, a rule, usage")
  func merging() throws {
    let folder = try Folder()
    try Self.library(folder)
    #expect(
      try Command.run(
        "import", "authors.csv", "-o", "more.xml", "--model", "Library.xcdatamodeld/Library.xcdatamodel",
        in: folder.path
      ).code == 0)
    let merged = try Command.run("merge", "lib.xml", "more.xml", "-o", "all.csvstore", "--json", in: folder.path)
    let report = try #require(try merged.json() as? [String: Any], "\(merged.errors)")
    #expect((report["entities"] as? [String: Int]) == ["Author": 12, "Book": 10])
    let matched = try Command.run(
      "merge", "lib.xml", "more.xml", "-o", "all.xml", "--match", "Author=name", "--json", in: folder.path)
    #expect(((try matched.json() as? [String: Any])?["entities"] as? [String: Int]) == ["Author": 6, "Book": 10])
    #expect(try Command.run("merge", "lib.xml", "-o", "x.xml", in: folder.path).code == 64)
    #expect(try Command.run("merge", "lib.xml", "lib3.xml", "-o", "x.xml", in: folder.path).code == 65)
    #expect(
      try Command.run("merge", "lib.xml", "more.xml", "-o", "x.xml", "--on-conflict", "mine", in: folder.path).code
        == 64)
  }

  @Test("migrate: in place, a mapping file, refusals with all reasons, usage")
  func migrating() throws {
    let folder = try Folder()
    try Self.library(folder)
    let uuid = try Command.run("metadata", "get", "lib.xml", "NSStoreUUID", in: folder.path).output
    #expect(
      try Command.run("migrate", "lib.xml", "--model", "Library.xcdatamodeld", "--in-place", in: folder.path).code == 0)
    #expect(try Command.run("metadata", "get", "lib.xml", "NSStoreUUID", in: folder.path).output == uuid)
    #expect(try Command.run("diff", "lib.xml", "lib3.xml", in: folder.path).code == 0)
    let back = try Command.run(
      "migrate", "lib3.xml", "--model", "Library.xcdatamodeld", "--model-version", "Library", "-o", "x.xml", "--json",
      in: folder.path)
    #expect(back.code == 65)
    #expect(((try back.error()["losses"] as? [[String: Any]])?.first?["subject"] as? String) == "Book.language")
    try #"{"entities": {"Book": {"drop": ["language"]}}}"#.write(
      toFile: folder("m.json"), atomically: false, encoding: .utf8)
    let mapped = try Command.run(
      "migrate", "lib3.xml", "--model", "Library.xcdatamodeld/Library.xcdatamodel", "--mapping", "m.json", "-o",
      "x.xml",
      in: folder.path)
    #expect(mapped.code == 0 && !mapped.errors.contains("note:"), "\(mapped.errors)")
    let unneeded = try Command.run(
      "migrate", "x.xml", "--model", "Library.xcdatamodeld/Library.xcdatamodel", "--mapping", "m.json", "-o", "y.xml",
      in: folder.path)
    #expect(unneeded.code == 0 && unneeded.errors.contains("--mapping was not applied"), "\(unneeded.errors)")
    #expect(try Command.run("migrate", "lib3.xml", "--model", "Library.xcdatamodeld", in: folder.path).code == 64)
    let models = try Command.run(
      "model", "diff", "Library.xcdatamodeld/Library.xcdatamodel", "Library.xcdatamodeld/Library 3.xcdatamodel",
      "--json",
      in: folder.path)
    #expect(((try models.json() as? [String: Any])?["isInferable"] as? Bool) == true)
  }

  @Test("a database is not replaced by its own change: it would lose its history")
  func itself() throws {
    let folder = try Folder()
    let made = try Command.run("convert", Command.company, "c.sqlgraph", in: folder.path)
    #expect(made.code == 0, "\(made.errors)")
    let change = ["set", "c.sqlgraph", "--entity", "Employee", "--all", "rating=3"]
    let refused = try Command.run(arguments: change + ["-o", "./c.sqlgraph", "--force"], in: folder.path)
    #expect(refused.code == 73 && refused.errors.contains("is the store itself"), "\(refused.errors)")
    #expect(try Command.run(arguments: change, in: folder.path).code == 0)
    let history = try Command.run("history", "c.sqlgraph", in: folder.path)
    #expect(history.output.contains("Employee"), "\(history.output)")
  }

  @Test("an expression of a mapping that is null for a required attribute is refused with the object")
  func requiredIsNull() throws {
    let folder = try Folder()
    for (name, more) in [("M", ""), ("N", #"<attribute name="full" attributeType="String"/>"#)] {
      try FileManager.default.createDirectory(
        atPath: folder("\(name).xcdatamodel"), withIntermediateDirectories: true)
      try """
      <model><entity name="Item"><attribute name="name" optional="YES" attributeType="String"/>\(more)</entity></model>
      """.write(toFile: folder("\(name).xcdatamodel/contents"), atomically: false, encoding: .utf8)
    }
    try #"{"entities": {"Item": {"properties": {"full": "name + 'x'"}}}}"#.write(
      toFile: folder("m.json"), atomically: false, encoding: .utf8)
    for (records, code) in [(#"[{"name": "a"}]"#, 0), (#"[{"name": "a"}, {"name": null}]"#, 65)] as [(String, Int32)] {
      try records.write(toFile: folder("i.json"), atomically: false, encoding: .utf8)
      let result = try Command.shell(
        """
        "$0" import Item=i.json --model M.xcdatamodel -o s.xml --force || exit
        "$0" migrate s.xml --model N.xcdatamodel --mapping m.json -o n.xml --force
        """, in: folder.path)
      #expect(result.code == code, "\(result.errors)")
      #expect(
        (code == 0) != result.errors.contains("Item/2: the result is null, and the attribute needs a value"),
        "\(result.errors)")
    }
  }

  @Test("what a store does not have cannot be set", arguments: ["set", "insert"])
  func transient(command: String) throws {
    let folder = try Folder()
    try FileManager.default.createDirectory(atPath: folder("M.xcdatamodel"), withIntermediateDirectories: true)
    try """
    <model><entity name="Item"><attribute name="name" optional="YES" attributeType="String"/>
    <attribute name="shown" optional="YES" transient="YES" attributeType="String"/></entity></model>
    """.write(toFile: folder("M.xcdatamodel/contents"), atomically: false, encoding: .utf8)
    try #"[{"name": "a"}]"#.write(toFile: folder("i.json"), atomically: false, encoding: .utf8)
    let made = try Command.run("import", "Item=i.json", "--model", "M.xcdatamodel", "-o", "s.xml", in: folder.path)
    #expect(made.code == 0, "\(made.errors)")
    let all = command == "set" ? ["--all"] : []
    for place in [[], ["--dry-run"], ["-o", "t.xml"]] {
      let result = try Command.run(
        arguments: [command, "s.xml", "--entity", "Item", "shown:=x"] + all + place, in: folder.path)
      #expect(result.code == 64 && result.errors.contains("'shown' is transient"), "\(place): \(result.errors)")
    }
    let stored = try Command.run(
      arguments: [command, "s.xml", "--entity", "Item", "name:=x"] + all, in: folder.path)
    #expect(stored.code == 0, "\(stored.errors)")
  }

  @Test(
    "the JSON of a refused save has each validation error, with store, entity, reference and property",
    arguments: [[], ["-o", "d.xml"], ["--dry-run"]])
  func validationErrors(_ options: [String]) throws {
    let folder = try Folder()
    try FileManager.default.copyItem(
      atPath: Command.samples + "/Company/Company.xml", toPath: folder("c.xml"))
    let change = ["set", "c.xml", "--entity", "Employee", "email:=bad", "--json"]
    let set = try Command.run(arguments: change + ["--all"] + options, in: folder.path)
    #expect(set.code == 65)
    let errors = try #require(try set.error()["errors"] as? [[String: Any]])
    #expect(errors.count == 6 && errors.allSatisfy { $0["property"] as? String == "email" }, "\(set.errors)")
    #expect(errors.allSatisfy { $0["file"] as? String == "c.xml" }, "\(set.errors)")
    #expect(Set(errors.compactMap { $0["reference"] as? String }).count == 6)
    let one = try Command.run(arguments: change + ["--where", "badge == 1"] + options, in: folder.path).error()
    #expect(one["file"] as? String == "c.xml" && one["entity"] is String && one["reference"] is String, "\(one)")
  }

  @Test(
    "a new object does not get a number that prints like the text reference of another one",
    arguments: ["agents.xml", "agents.csvstore", "agents.sqlgraph"])
  func newReferences(_ store: String) throws {
    let folder = try Folder()
    try Data("id,name\n007,Bond\n1,M\n3,Q\n".utf8).write(to: URL(filePath: folder("Agent.csv")))
    try Data("name\nEve\n".utf8).write(to: URL(filePath: folder("more.csv")))
    for line in [
      "import Agent.csv -o agents.xml", "convert agents.xml agents.sqlgraph",
      "convert agents.xml agents.csvstore", "insert \(store) --entity Agent name:=R",
      "insert \(store) --entity Agent name:=S", "import Agent=more.csv --into \(store)",
    ] {
      let result = try Command.shell("\"$0\" \(line)", in: folder.path)
      #expect(result.code == 0, "\(line): \(result.errors)")
    }
    let found = try Command.run(
      "fetch", store, "--entity", "Agent", "--columns", "SELF", "--format", "csv", in: folder.path)
    let all = found.output.split(separator: "\n").dropFirst()
    #expect(all.count == 6 && Set(all).count == 6, "\(found.output)")
  }

  @Test(
    "a new object gets a number after tens of thousands that are the text of a reference",
    arguments: ["agents.xml", "agents.csvstore", "agents.sqlgraph"])
  func newReferenceAfterTexts(_ store: String) throws {
    let folder = try Folder()
    let keys = ["007"] + (1...40_000).map { "\($0)" }
    try Data(("id,name\n" + keys.map { "\($0),a\n" }.joined()).utf8).write(to: URL(filePath: folder("Agent.csv")))
    for line in [
      "import Agent.csv -o agents.xml", "convert agents.xml \(store == "agents.xml" ? "other.plist" : store)",
      "insert \(store) --entity Agent name:=R", "insert \(store) --entity Agent name:=S",
    ] {
      let result = try Command.shell("\"$0\" \(line)", in: folder.path)
      #expect(result.code == 0, "\(line): \(result.errors)")
    }
    let found = try Command.run(
      "fetch", store, "--entity", "Agent", "--columns", "SELF", "--format", "csv", in: folder.path)
    let all = found.output.split(separator: "\n").dropFirst()
    #expect(all.count == 40_003 && Set(all).count == 40_003)
  }

  @Test("now() is one instant for all objects and all assignments of a command")
  func oneInstant() throws {
    let folder = try Folder()
    try Data("id,a,b\n1,2001-01-01,\n2,2001-01-01,2001-01-01\n3,,\n".utf8)
      .write(to: URL(filePath: folder("Item.csv")))
    let result = try Command.shell(
      """
      set -e
      "$0" import Item.csv -o i.xml
      "$0" set i.xml --entity Item --all "a=now()" "b=now()"
      "$0" fetch i.xml --entity Item --where "a == b" --columns a --distinct --json
      """, in: folder.path)
    #expect(result.code == 0, "\(result.errors)")
    #expect((try result.json() as? [Any])?.count == 1, "\(result.output)")
  }

  @Test("a date is set by a literal as a comparison takes it, and a text that is none is refused with the forms")
  func dateLiteral() throws {
    let folder = try Folder()
    func set(_ assignment: String) throws -> Command.Result {
      try Command.run(
        "set", Command.company, "--entity", "Employee", "--all", assignment, "-o", "c.xml", "--force", in: folder.path)
    }
    let (literal, text) = (try set("hired='2020-01-31'"), try set("hired=name"))
    #expect(literal.code == 0, "\(literal.errors)")
    let count = try Command.run(
      "fetch", "c.xml", "--entity", "Employee", "--where", "hired == '2020-01-31'", "--count", in: folder.path)
    #expect(count.output == "6\n")
    #expect(text.code == 65 && text.errors.contains("2020-12-31"), "\(text.errors)")
    #expect(try set("hired='soon'").errors.contains("write it as 2020-12-31"))
    // The property is a text: so is the literal.
    #expect(try set("nickname='2020-01-31'").code == 0)
  }

  @Test("what several imports add to one store at the same time is all there", arguments: ["s.xml", "s.sqlgraph"])
  func importsAtTheSameTime(_ store: String) throws {
    let folder = try Folder()
    let result = try Command.shell(
      """
      set -e
      printf 'id,name\\n1,a\\n' > Item.csv
      "$0" import Item.csv -o s.xml && "$0" convert s.xml s.sqlgraph
      for i in $(seq 2 9); do printf "id,name\\n$i,b\\n" > $i.csv; done
      for i in $(seq 2 9); do { "$0" import Item=$i.csv --into \(store) 2>> errors || echo failed; } & done
      wait
      "$0" fetch \(store) --entity Item --count
      """, in: folder.path)
    let errors = try? String(contentsOfFile: folder("errors"), encoding: .utf8)
    #expect(result.output == "9\n", "\(result.output) \(result.errors) \(errors ?? "")")
  }
}
