import ContactBook
import Foundation

// A contact book in the terminal: `swift run contacts [FILE]`, without a file one in memory. It reads commands from
// standard input; `help` lists them. Two of them on one file see each other's changes.

let help = """
  add NAME[, PHONE[, GROUP]]   adds a contact
  list                         lists all contacts by group
  find TEXT                    lists contacts whose name or number contains the text
  rename OLD, NEW              gives a contact another name
  delete NAME                  deletes a contact
  import FILE                  imports lines NAME,PHONE,GROUP in the background
  undo, redo                   reverts the last change, or performs it again
  help, quit
  """

let book: ContactBook
do {
  book = try ContactBook(path: CommandLine.arguments.dropFirst().first)
} catch {
  FileHandle.standardError.write(Data("contacts: \(error)\n".utf8))
  exit(1)
}

@MainActor
func run(_ command: String, _ rest: String) async throws -> [String] {
  let parts = rest.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
  func part(_ index: Int) -> String? { parts.indices.contains(index) ? parts[index] : nil }
  switch command {
  case "add": try book.add(part(0) ?? "", phone: part(1), group: part(2))
  case "list": return book.lines
  case "find": return try book.find(rest)
  case "rename": try book.rename(part(0) ?? "", to: part(1) ?? "")
  case "delete": try book.delete(rest)
  case "import":
    let count = try await book.importLines(String(contentsOfFile: rest, encoding: .utf8))
    return ["\(count.new) new, \(count.known) known"]
  case "undo": return [try book.undo().map { "undone: \($0)" } ?? "nothing to undo"]
  case "redo": return [try book.redo().map { "redone: \($0)" } ?? "nothing to redo"]
  case "help": return [help]
  default: return ["unknown command '\(command)'; try help"]
  }
  return []
}

while let line = readLine() {
  let words = line.split(separator: " ", maxSplits: 1).map(String.init)
  guard let command = words.first else { continue }
  if command == "quit" { break }
  do {
    for text in try await run(command, words.count > 1 ? words[1] : "") { print(text) }
  } catch {
    print("error: \(error)")
  }
  // Live results: what this command changed, and what others did meanwhile.
  for news in book.takeNews() { print(news) }
}
