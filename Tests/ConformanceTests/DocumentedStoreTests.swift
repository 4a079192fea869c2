import AtomicStoreConformance
import Testing

@Suite("The format in the documentation of AtomicStore works") struct DocumentedStoreTests {
  @Test("the example in the protocol's doc comment is the file that is compiled here, line for line")
  func example() throws {
    let source = try DocumentationTests.text("Sources/AtomicStoreSPI/Store/AtomicStore.swift")
    let comment = source.split(separator: "\n", omittingEmptySubsequences: false)
      .drop { $0 != "/// ```swift" }.dropFirst().prefix { $0 != "/// ```" }
    let shown = comment.map { $0 == "///" ? "" : String($0.dropFirst("/// ".count)) }
    let compiled = try DocumentationTests.text("Tests/ConformanceTests/TabbedStore.swift")
    #expect(shown.joined(separator: "\n") + "\n" == compiled)
    #expect(shown.count > 50)
  }

  @Test("it passes the checks of the smoke test", arguments: Conformance.smoke(for: TabbedStore.self))
  func conforms(_ check: ConformanceCheck) throws { try check.run() }
}
