import AtomicStoreKit
import ContactBook
import Foundation
import TestSupport
import Testing

@Suite("The contact book") struct ContactsTests {
  /// Runs the program with commands on standard input.
  private func drive(_ commands: [String], _ arguments: [String] = []) throws -> [String] {
    let program = try #require(TestEnvironment.built("contacts"), "it was not built")
    let input = Data((commands.joined(separator: "\n") + "\n").utf8)
    return try ChildProcess.output(of: program, arguments, input: input).split(separator: "\n").map(String.init)
  }

  @Test("contacts are added, listed by group, found and renamed; each change is reported")
  func commands() throws {
    let lines = try drive([
      "add Ada Lovelace, 555-0100, Friends", "add Émile", "rename Émile, Emil", "list", "find ADA", "delete Emil",
      "list",
    ])
    #expect(
      lines == [
        "+ Ada Lovelace", "+ Émile", "~ Emil", "(no group)", "  Emil", "Friends", "  Ada Lovelace  555-0100",
        "Ada Lovelace  555-0100", "- Emil", "Friends", "  Ada Lovelace  555-0100",
      ])
  }

  @Test("undo and redo name what they revert, and the list follows")
  func undo() throws {
    let lines = try drive(["add Ada", "delete Ada", "undo", "undo", "redo", "redo", "redo", "undo", "list"])
    #expect(
      lines == [
        "+ Ada", "- Ada", "undone: Delete Ada", "+ Ada", "undone: Add Ada", "- Ada", "redone: Add Ada", "+ Ada",
        "redone: Delete Ada", "- Ada", "nothing to redo", "undone: Delete Ada", "+ Ada", "(no group)", "  Ada",
      ])
  }

  @Test("what is wrong is reported, and nothing is kept of it")
  func errors() throws {
    let lines = try drive(["add", "add Ada", "rename Bob, Eve", "delete Bob", "frobnicate", "list"])
    #expect(lines.filter { $0.hasPrefix("error: ") }.count == 3)
    #expect(lines.contains("error: unknown contact 'Bob'"))
    #expect(lines.contains("unknown command 'frobnicate'; try help"))
    #expect(lines.suffix(2) == ["(no group)", "  Ada"])
  }

  @Test("an import in the background finds or creates, and the list shows it")
  func importing() throws {
    let folder = try TemporaryDirectory("contacts")
    let file = folder.path + "/list.csv"
    try Data("Ada,555-0101,Friends\nBen,,Work\n".utf8).write(to: URL(fileURLWithPath: file))
    let store = folder.path + "/contacts.xml"
    let lines = try drive(["add Ada, 555-0100", "import \(file)", "list"], [store])
    #expect(
      lines == [
        "+ Ada", "1 new, 1 known", "+ Ben", "~ Ada", "Friends", "  Ada  555-0101", "Work", "  Ben",
      ])
    #expect(try drive(["list"], [store]) == ["Friends", "  Ada  555-0101", "Work", "  Ben"])
  }

  @Test("what another program saves to the file appears without being asked for")
  @MainActor func twoBooks() async throws {
    let folder = try TemporaryDirectory("contacts")
    let store = folder.path + "/contacts.xml"
    let book = try ContactBook(path: store)
    try book.add("Ada", phone: nil, group: nil)
    _ = book.takeNews()
    #expect(try drive(["add Ben, 555-0102"], [store]) == ["+ Ben"])
    // Notices come when the system has time.
    var news: [String] = []
    for _ in 0..<3000 where news.isEmpty {
      try await Task.sleep(for: .milliseconds(10))
      news = book.takeNews()
    }
    #expect(news == ["+ Ben"])
    #expect(book.lines == ["(no group)", "  Ada", "  Ben  555-0102"])
  }
}
