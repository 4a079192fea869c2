import AtomicStoreSPI

extension CheckContext {
  /// The payload of a store, which gives the same store again.
  ///
  /// - Throws: ``Untested`` if a checksum hides it and the author gives no way past it, ``NotApplicable`` if none does.
  func hiddenPayload(of store: (path: String, graph: Graph, text: GraphText)) throws -> [String: [UInt8]] {
    let files = Files.content(store.path) ?? [:]
    guard let payload = payload(of: files), let again = valid(payload) else {
      let damages = bits(of: files)
      let ends = try openHostile(store.path, store.graph.model, damages)
      record.expected()
      let read = ends.count { $0 == "opened" }
      guard read == 0 else {
        throw NotApplicable(
          reason: "no checksum hides the payload: the file is read with \(read) of \(ends.count) bits changed")
      }
      throw Untested(
        reason:
          "payload not tested: the file is refused with each of \(ends.count) bits changed, as by a checksum; ChecksummedStore.recomputeChecksum comes past it"
      )
    }
    Files.put(again, at: store.path)
    try expectSame(
      try process("read it with its checksum computed again") { try $0.read(store.path, store.graph.model) },
      store.text, "the same store, whose checksum was computed again")
    return payload
  }

  /// Bits all through the files.
  private func bits(of files: [String: [UInt8]]) -> [Damage] {
    files.sorted { $0.key < $1.key }.flatMap { member, bytes in
      let step = max(1, bytes.count * files.count / 200)
      return stride(from: Int(seed % UInt64(step)), to: bytes.count, by: step).map { position in
        Damage(
          label: "bit \(position % 8) of byte \(position)", member: member, of: bytes, at: position,
          byte: bytes[position] ^ 1 << UInt8(position % 8))
      }
    }
  }
}
