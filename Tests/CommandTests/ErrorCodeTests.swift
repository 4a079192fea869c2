import Foundation
import Testing

/// The article *Error codes* has each code, with its number or the exit code of the command.
@Suite("Error codes in the documentation") struct ErrorCodeTests {
  private static func text(_ path: String) throws -> String {
    try String(contentsOfFile: "\(Command.root)/Sources/\(path)", encoding: .utf8)
  }

  /// The rows of the article's tables, by each code in their first cell.
  private static func rows() throws -> [String: String] {
    var rows: [String: String] = [:]
    for line in try text("Graph/AtomicStoreKit/AtomicStoreKit.docc/ErrorCodes.md").split(separator: "\n")
    where line.hasPrefix("| `") {
      let cells = line.split(separator: "|")
      for code in cells[0].matches(of: /`([A-Za-z]+)`/) { rows[String(code.1), default: ""] += "\(cells[1])" }
    }
    return rows
  }

  @Test("each code of a store's error is listed with the exit code that the command has for it")
  func storeErrors() throws {
    let failure = try Self.text("Command/CommandSupport/CommandFailure.swift")
    let place = try #require(failure.range(of: "exitCode(_ code: PersistentStoreError.Code)"))
    var exitCodes: [String: String] = [:]
    for line in failure[place.upperBound...].matches(of: /case (\..+): (\d+)/) {
      for name in line.1.split(separator: ", ") { exitCodes[String(name.dropFirst())] = String(line.2) }
    }
    #expect(exitCodes.count > 10)
    let rows = try Self.rows()
    let codes = try Self.text("Foundations/StorePrimitives/PersistentStoreError.swift").matches(
      of: /static let (\w+) = Code\(/)
    #expect(codes.count > 30)
    for code in codes.map({ String($0.1) }) {
      let numbers = rows[code]?.split(whereSeparator: { ", ".contains($0) }).map(String.init) ?? []
      #expect(numbers.contains(exitCodes[code] ?? "65"), "\(code): \(numbers)")
    }
  }

  @Test("each code of the object graph's error is listed with its number")
  func graphErrors() throws {
    let rows = try Self.rows()
    let codes = try Self.text("Graph/AtomicStoreKit/Errors/ManagedObjectError.swift")
      .matches(of: /static let (\w+) = Code\(rawValue: (-?\d+)\)/)
    #expect(codes.count > 20)
    for code in codes {
      let numbers = rows[String(code.1)]?.split(whereSeparator: { ", ".contains($0) }).map(String.init) ?? []
      #expect(numbers.contains(String(code.2)), "\(code.1): \(numbers)")
    }
  }
}
