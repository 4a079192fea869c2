import AtomicStoreSPI
import Foundation
import Synchronization
import Testing

@testable import PostgreSQLStoreFormat

/// The statements that `StoreFormats/PostgreSQL/FORMAT.md` lists: what other servers with PostgreSQL's protocol
/// understand. From its first use on, every other statement of this process is an error.
struct PortableSubset: Sendable {
  let beginnings: [String]
  let words: Set<String>

  static let format = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("StoreFormats/PostgreSQL/FORMAT.md")

  init(_ text: String) throws {
    var paragraphs = text.components(separatedBy: "\n\n")
    let start = try #require(paragraphs.firstIndex { $0.hasPrefix("## Statements") })
    paragraphs.removeFirst(start)
    func spans(_ beginning: String) throws -> [String] {
      let paragraph = try #require(paragraphs.first { $0.hasPrefix(beginning) })
      return paragraph.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
    }
    beginnings = try spans("A statement begins with one of:")
    words = Set(
      try (spans("Its words are among:") + spans("Its functions:") + spans("Its names without quotes:"))
        .map { Self.counted($0.uppercased()) })
  }

  /// A name without the number at its end.
  private static func counted(_ word: String) -> String {
    let name = word.reversed().drop { $0.isNumber }
    // Types are called by a number.
    return ["INT", "FLOAT"].contains(String(name.reversed())) ? word : String(name.reversed())
  }

  /// What a statement has that is not in the list; empty if there is nothing.
  func strange(in statement: String) -> [String] {
    var found: [String] = []
    if !beginnings.contains(where: { statement == $0 || statement.hasPrefix($0 + " ") }) {
      found.append("its beginning")
    }
    var quote: Character?
    var word = ""
    for character in statement + " " {
      if let open = quote {
        if character == open { quote = nil }
        continue
      }
      if character.isLetter || character == "_" || !word.isEmpty && character.isNumber {
        word.append(character)
        continue
      }
      if !word.isEmpty, !words.contains(Self.counted(word.uppercased())) { found.append(word) }
      word = ""
      if character == "\"" || character == "'" { quote = character }
      if character == ";" || character == ":" || character == "[" { found.append(String(character)) }
    }
    return found
  }

  /// The list, which all statements of this process are held to from now on.
  static let enforced: Result<PortableSubset, any Error> = Result {
    let subset = try PortableSubset(try String(contentsOf: format, encoding: .utf8))
    PostgreSQLDatabase.inspect { statement throws(PersistentStoreError) in
      let strange = subset.strange(in: statement)
      guard strange.isEmpty else {
        throw PersistentStoreError(
          .internalInconsistency, "not in the list of FORMAT.md: \(strange) in: \(statement)")
      }
    }
    return subset
  }
}

@Suite struct PortableSubsetTests {
  @Test(
    "statements that not all servers with PostgreSQL's protocol understand are refused",
    arguments: [
      "LISTEN x", "NOTIFY x", "LOCK TABLE \"Item\"", "SELECT pg_advisory_lock(1)", "CREATE SEQUENCE x",
      "SELECT nextval('x')", "CREATE TABLE \"x\" (id SERIAL)", "CREATE TABLE \"x\" (id int8 REFERENCES \"y\")",
      "CREATE TABLE \"x\" (made timestamptz)", "MERGE INTO \"x\"", "PREPARE TRANSACTION 'x'", "CREATE TRIGGER x",
      "INSERT INTO \"x\" (a) VALUES (1) RETURNING a", "DECLARE x CURSOR WITH HOLD FOR SELECT 1",
      "SELECT a FROM \"x\" FOR SHARE", "SELECT 1; SELECT 2", "SELECT a::int4 FROM \"x\"", "VACUUM",
      "CREATE TABLE \"x\" (id int8 GENERATED ALWAYS AS IDENTITY)", "SELECT a FROM \"x\" WHERE a ILIKE 'x'",
    ])
  func refused(_ statement: String) throws {
    #expect(try !PortableSubset.enforced.get().strange(in: statement).isEmpty)
  }

  @Test(
    "what is in quotes is not a word",
    arguments: [
      "SELECT t.id FROM \"LISTEN\" t WHERE t.\"NOTIFY\" = ?1", "DELETE FROM \"a\"\"LOCK\" WHERE id IN (1, 2)",
      "SELECT t1.id FROM \"x\" t1 WHERE t1.\"y\" = 'NaN'", "COMMIT", "BEGIN ISOLATION LEVEL SERIALIZABLE",
    ])
  func allowed(_ statement: String) throws {
    #expect(try PortableSubset.enforced.get().strange(in: statement) == [])
  }

  @Test("a statement outside of the list is not sent", .enabled(if: TestServer.url != nil))
  func enforced() throws {
    let database = try PostgreSQLDatabase(url: TestServer.schema("subset"), isReadOnly: false)
    defer { database.close() }
    _ = try database.connect(mayCreate: true)
    #expect { try database.run("LISTEN x", []) } throws: {
      ($0 as? PersistentStoreError)?.code == .internalInconsistency
    }
    try database.run("DROP TABLE IF EXISTS \"x\"", [])
  }
}
