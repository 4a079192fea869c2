import AtomicStoreSPI
import Foundation
import Testing
import XMLStoreFormat

/// Documents made to cost much without a model: each must be refused soon, with what to do about it.
@Suite("Limits of XML stores") struct XMLStoreLimitTests {
  private static func failure(_ objects: String) throws -> PersistentStoreError {
    try XMLSupport.failure { _ = try XMLSupport.open(XMLSupport.document(objects)) }
  }

  private static func object(_ type: String, _ number: Int, destinations: Int) -> String {
    let relationships = (0..<destinations).map {
      "<relationship name=\"r\($0)\" type=\"0/1\" destination=\"D\($0)\" idrefs=\"z\(number)\"></relationship>"
    }
    return "<object type=\"\(type)\" id=\"z\(number)\">\(relationships.joined())</object>"
  }

  @Test("an object that would be of a thousand entities at once is refused", .timeLimit(.minutes(60)))
  func wide() throws {
    #expect(try Self.failure(Self.object("E", 1, destinations: 1000)).code == .limitExceeded)
  }

  @Test("hundreds of entities that all are below the same sixty are refused", .timeLimit(.minutes(60)))
  func entangled() throws {
    let objects = (1...400).map { Self.object("E\($0)", $0, destinations: 60) }
    let error = try Self.failure(objects.joined(separator: "\n"))
    #expect(error.code == .limitExceeded, "\(error)")
  }

  @Test("three thousand entities are refused at the first too many", .timeLimit(.minutes(60)))
  func types() throws {
    let objects = (1...3000).map { "<object type=\"E\($0)\" id=\"z\($0)\"></object>" }
    let error = try Self.failure(objects.joined(separator: "\n"))
    #expect(error.code == .limitExceeded)
    // The document's head takes ten lines.
    #expect(error.location.line == 10 + 2048 + 1, "\(error)")
  }

  @Test("a chain of sixty entities is accepted")
  func chain() throws {
    // Object n is where each entity before its own is asked for.
    let objects = (0..<60).map { n in
      let above = (0..<n).map {
        "<relationship name=\"r\($0)\" type=\"0/1\" destination=\"E\($0)\" idrefs=\"z\(n + 1)\"></relationship>"
      }
      return "<object type=\"E\(n)\" id=\"z\(n + 1)\">\(above.joined())</object>"
    }
    let opened = try XMLSupport.open(XMLSupport.document(objects.joined(separator: "\n")))
    #expect(opened.nodes.model.entities.count == 60)
    #expect(opened.nodes.count == 60)
  }

  @Test("a relationship may name more objects than ten megabytes hold", .timeLimit(.minutes(60)))
  func manyReferences() throws {
    // Few objects, long names: eleven megabytes of identifiers.
    let names = (0..<1100).map { "s\($0)" + String(repeating: "a", count: 10_000) }
    let kids = names.map { "<object type=\"NODE\" id=\"\($0)\"></object>" }.joined(separator: "\n")
    let root =
      "<object type=\"NODE\" id=\"sroot\"><relationship name=\"kids\" type=\"0/0\" destination=\"NODE\" idrefs=\""
      + names.joined(separator: " ") + "\"></relationship></object>\n"
    let opened = try XMLSupport.open(XMLSupport.document(root + kids))
    let node = try #require(opened.nodes.handle(for: .string("root"), entity: 0))
    guard case .toMany(let list)? = opened.nodes.value(forKey: "kids", of: node) else {
      Issue.record("no kids")
      return
    }
    #expect(list.count == 1100)
  }
}
