import Foundation
import Testing

/// `import --into` and `merge` change a database as they change a file.
@Suite struct DatabaseChangeTests {
  /// A file, and a schema of a server where there is one, whose URL is not shown with the test.
  enum Target: String, CaseIterable {
    case file, server

    static let base = ProcessInfo.processInfo.environment["ATOMICSTORE_POSTGRES_URL"]?.split(separator: "?").first
    static var all: [Target] { base == nil ? [.file] : [.file, .server] }

    func address(_ name: String) -> String {
      self == .file ? "\(name).sqlgraph" : "\(Self.base ?? "")?schema=\(name)_\(getpid())"
    }
  }

  private final class Place {
    let folder: Folder
    init() throws { folder = try Folder() }
  }
  private let place: Place
  private var folder: String { place.folder.path }
  init() throws { place = try Place() }

  private func run(_ line: String, _ target: String, input: String? = nil) throws -> Command.Result {
    let words = line.split(separator: " ").map { $0 == "DB" ? target : String($0) }
    return try Command.run(arguments: words, input: input.map { Data($0.utf8) }, in: folder)
  }

  private func write(_ text: String, _ name: String) throws {
    try Data(text.utf8).write(to: URL(filePath: folder + "/" + name))
  }

  /// The same store as a file, `lib.plist`, and as a database.
  private func makeStores(_ target: String) throws {
    try write("id,name\n1,Ada\n2,Bob\n7,Eve\n", "Author.csv")
    try write("id,title,price,author_id\n1,One,3,1\n2,Two,4.50,1\n3,Three,5,2\n", "Book.csv")
    #expect(try run("import Author.csv Book.csv -o lib.plist", target).code == 0)
    let made = try run("convert lib.plist DB --force", target)
    #expect(made.code == 0, "\(made.errors)")
  }

  private func expectEqual(_ target: String) throws {
    let diff = try run("diff lib.plist DB", target)
    #expect(diff.code == 0 && diff.output.isEmpty, "\(diff.output)\(diff.errors)")
    #expect(try run("check DB", target).code == 0)
  }

  @Test("tables are added to a database, and its objects updated, in one save", arguments: Target.all)
  func importing(_ kind: Target) throws {
    let target = kind.address("importing")
    try makeStores(target)
    try write("id,title,price,author_id\n3,Three again,6,7\n900,New,1,7\n901,Newer,2,1\n", "Book.csv")
    for name in ["lib.plist", "DB"] {
      let refused = try run("import Book.csv --into \(name)", target)
      #expect(refused.code == 65 && refused.errors.contains("has Book/3 already"), "\(refused.errors)")
      let dry = try run("import Book.csv --into \(name) --upsert key --dry-run", target)
      #expect(dry.code == 0, "\(dry.errors)")
    }
    #expect(try run("fetch DB --entity Book --count", target).output == "3\n")
    for name in ["lib.plist", "DB"] {
      let added = try run("import Book.csv --into \(name) --upsert key --json", target)
      #expect(added.code == 0, "\(added.errors)")
      #expect((try added.json() as? [String: Any])?["entities"] as? [String: Int] == ["Author": 3, "Book": 5])
    }
    try expectEqual(target)
    // Objects found by a value; the others get references that nothing has had.
    for name in ["lib.plist", "DB"] {
      let added = try run(
        "import Author=- --into \(name) --upsert Author.name", target, input: "name\nBob\nZoe\n")
      #expect(added.code == 0, "\(added.errors)")
    }
    try expectEqual(target)
    let made = try run("insert DB --entity Book title:=Next price:=1", target)
    #expect(made.code == 0, "\(made.errors)")
    #expect(try run("fetch DB --entity Book --count", target).output == "6\n")
    #expect(try run("check DB", target).code == 0)
  }

  @Test("a database that is one of the merged stores and the result gets the difference", arguments: Target.all)
  func merging(_ kind: Target) throws {
    let target = kind.address("merging")
    try makeStores(target)
    // Of one UUID, so that references say which objects are the same.
    #expect(try run("convert lib.plist more.plist", target).code == 0)
    try write("id,name\n2,Robert\n8,Sue\n", "Author.csv")
    try write("id,title,price,author_id\n2,Two,4.50,8\n9,Nine,9,8\n", "Book.csv")
    #expect(try run("import Author.csv Book.csv --into more.plist --upsert key", target).code == 0)
    for name in ["lib.plist", "DB"] {
      let open = try run("merge \(name) more.plist -o \(name) --force", target)
      #expect(open.code == 1, "\(open.errors)")
      let merged = try run(
        "merge \(name) more.plist -o \(name) --force --on-conflict last", target)
      #expect(merged.code == 0, "\(merged.errors)")
    }
    try expectEqual(target)
    // With a base, what one side deleted is deleted.
    #expect(try run("convert lib.plist base.plist", target).code == 0)
    #expect(try run("delete lib.plist --entity Book --where price==9", target).code == 0)
    #expect(try run("convert lib.plist less.plist", target).code == 0)
    let three = try run("merge DB less.plist --base base.plist -o DB --force", target)
    #expect(three.code == 0, "\(three.errors)")
    try expectEqual(target)
    // Without --force it stays.
    #expect(try run("merge DB more.plist -o DB --on-conflict last", target).code != 0)
    try expectEqual(target)
  }

  @Test(
    "a database that a result is made of is not replaced by it, whatever its address",
    arguments: Target.all,
    [
      "anonymize DB Author.name=mask -o", "set DB --entity Author --all name:=x -o", "delete DB --entity Book --all -o",
      "convert DB --entity Book --related nullify", "migrate DB --model m.xcdatamodel -o",
      "check DB --fix dangling=nullify -o",
      "import Author=- --into DB --upsert Author.name -o", "patch DB none.json -o",
    ])
  func ownResult(_ kind: Target, _ line: String) throws {
    let target = kind.address("own_result_\(line.split(separator: " ")[0])")
    try makeStores(target)
    try write(try run("diff lib.plist lib.plist --patch", target).output, "none.json")
    #expect(try run("model convert lib.plist m.xcdatamodel", target).code == 0)
    for other in kind == .file ? [target, "./" + target] : [target, target + "&application_name=other"] {
      for more in ["", " --dry-run"] {
        let result = try run("\(line) \(other) --force\(more)", target, input: "name\nZoe\n")
        #expect(
          result.code == 73
            && (result.errors.contains("the source itself") || result.errors.contains("the store itself")),
          "\(other == target) \(more): \(result.code) \(result.errors)")
      }
    }
    try expectEqual(target)
  }

  @Test("an earlier copy of a database is replaced by a result that is made of it", arguments: Target.all)
  func earlierCopy(_ kind: Target) throws {
    let (target, copy) = (kind.address("original"), kind.address("earlier_copy"))
    try makeStores(target)
    for _ in 0..<2 {
      #expect(try run("convert DB \(copy) --force", target).code == 0)
      #expect(try run("anonymize DB Author.name=mask -o \(copy) --force", target).code == 0)
    }
    #expect(try run("fetch DB --entity Author --columns name --format csv", copy).output == "name\nXxx\nXxx\nXxx\n")
    try expectEqual(target)
  }
}
