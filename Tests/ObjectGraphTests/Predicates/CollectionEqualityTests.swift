import AtomicStoreKit
import Testing

@Suite("To-manys against collections") struct CollectionEqualityTests {
  @Test("to-manys and lists are compared alike, from either side", arguments: Stack.types)
  func relationships(_ type: String) throws {
    let stack = try Stack(type)
    try PredicateTable.fill(stack)
    for _ in 0..<2 {
      let bob = try #require(try stack.first("Person", "Bob"))
      let cyd = try #require(try stack.first("Person", "Cyd"))
      #expect(try PredicateTable.find("reports == %@", stack, [cyd, bob]) == ["Ada"])
      #expect(try PredicateTable.find("%@ == reports", stack, [bob, cyd]) == ["Ada"])
      #expect(try PredicateTable.find("reports == %@ OR %@ == reports", stack, [bob, bob], [cyd, cyd]) == [])
      #expect(try PredicateTable.find("tasks.title == {'sum', 'count'}", stack) == ["Ada"])
      try stack.context.save()
    }
  }
}
