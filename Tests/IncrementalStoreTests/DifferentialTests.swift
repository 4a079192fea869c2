import AtomicStoreConformance
import Testing

/// What an incremental store answers is what a property list with the same graph answers. The checks INC-36, INC-37 and
/// INC-68 do the same with other seeds; `Scripts/full databases` does so ten thousand times.
@Suite struct DifferentialTests {
  @Test("random requests have the answers of a property list", arguments: [1, 2, 3] as [UInt64])
  func requests(seed: UInt64) throws {
    let outcome = try GraphPair(seed: seed, count: 60).stores.compare(requests: 400, seed: seed, edits: 0)
    #expect(outcome.difference == nil)
    // Most of these can be said in SQL; a store that evaluated nothing would pass everything else.
    #expect(outcome.exact > 150)
    #expect(outcome.partly > 20)
  }

  @Test("unsaved changes count as in a property list", arguments: [4, 5, 6] as [UInt64])
  func pendingChanges(seed: UInt64) throws {
    let outcome = try GraphPair(seed: seed, count: 40).stores.compare(requests: 200, seed: seed, edits: 12)
    #expect(outcome.difference == nil)
  }

  @Test("random changes that are saved leave the graph that a property list has", arguments: 10..<22 as Range<UInt64>)
  func saves(seed: UInt64) throws {
    let pair = try GraphPair(seed: seed, count: 30)
    #expect(try pair.stores.save(rounds: 6, seed: seed) == nil)
    #expect(try pair.stores.differences() == [])
    // The files are there as long as the pair.
    withExtendedLifetime(pair) {}
  }
}
