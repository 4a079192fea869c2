import StoreCodecs
import StorePrimitives
import Testing

@Suite("Output that another writer has collected") struct CollectedOutputTests {
  @Test(
    "what another writer has collected follows what was appended before, whatever its size",
    arguments: [0, 1, 1000, (1 << 18) - 1, 1 << 18, 3 << 20], [0, 5, 1 << 20])
  func collected(size: Int, before: Int) throws {
    var received: [UInt8] = []
    let writer = ByteWriter { (bytes) throws(PersistentStoreError) in received.append(contentsOf: bytes) }
    var expected: [UInt8] = []
    for round in 0..<3 {
      let own = [UInt8](repeating: UInt8(round), count: before)
      let other = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ round) }
      writer.append(own)
      let piece = ByteWriter()
      piece.append(other)
      try writer.append(collectedBy: piece)
      expected += own + other
      #expect(writer.byteCount == expected.count)
      #expect(piece.takeBytes().isEmpty && piece.byteCount == size)
    }
    try writer.finish()
    #expect(received == expected)
  }

  @Test("an error of the sink is that of the append, and a writer without a sink collects")
  func errors() throws {
    let piece = ByteWriter()
    piece.append([UInt8](repeating: 1, count: 1 << 20))
    let failing = ByteWriter { (_) throws(PersistentStoreError) in throw PersistentStoreError(.noSpace, "full") }
    let error = #expect(throws: PersistentStoreError.self) { try failing.append(collectedBy: piece) }
    #expect(error?.code == .noSpace)
    let (one, other) = (ByteWriter(), ByteWriter())
    one.append([1, 2] as [UInt8])
    other.append([UInt8](repeating: 3, count: 1 << 19))
    try one.append(collectedBy: other)
    #expect(one.takeBytes() == [1, 2] + [UInt8](repeating: 3, count: 1 << 19))
  }
}
