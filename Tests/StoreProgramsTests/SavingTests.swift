import AtomicStoreSPI
import FoundationEssentials
import StoreFiles
import TestSupport
import Testing

@testable import StorePrograms

@Suite("Saves by programs") struct SavingTests {
  /// Saves objects with a text, in a separate directory.
  private func save(
    _ peer: Peer, texts: [String], _ change: (inout ProgramLimits) -> Void = { _ in }
  ) throws(PersistentStoreError) {
    let type: any AtomicStore.Type
    let model: ManagedObjectModel
    do {
      type = try peer.load(change)
      model = try ManagedObjectModel(
        ModelDescription(entities: [
          EntityDescription(name: "Note", properties: [.attribute("text", .string)])
        ]))
    } catch { throw PersistentStoreError(wrapping: error, at: StoreLocation()) }
    let builder = NodeTableBuilder(model: model)
    for (number, text) in texts.enumerated() {
      try builder.beginNode(entity: 0, reference: Int64(number + 1))
      try builder.set(.string(text), slot: 0)
    }
    let staged = try StagedStore(target: peer.folder.path + "/store", layout: .file, policy: .createNew)
    var store = try type.init(StoreConfiguration(path: peer.folder.path + "/store"))
    let snapshot = StoreSnapshot(nodes: try builder.finish(), metadata: StoreMetadata(storeType: "Peer"))
    try store.save(snapshot, to: staged.files)
  }

  @Test("an object that could not be read back as a message is not saved")
  func tooLong() throws {
    let peer = try Peer(save: "read -r a; read -r b; echo '{\"saved\":true}'")
    let error = #expect(throws: PersistentStoreError.self) {
      try save(peer, texts: ["short", String(repeating: "x", count: 5_000)]) { $0.message = 8_000 }
    }
    #expect(error?.code == .limitExceeded && error?.location.reference == "2", "\(String(describing: error))")
  }

  @Test("a program that does not read what it is sent is an error, and so is one that is done too early")
  func unread() throws {
    let texts = (0..<2_000).map { _ in String(repeating: "x", count: 1_000) }
    for (body, expected) in [
      ("sleep 600", "did nothing for 300 ms, and does not read what it is sent"),
      ("echo '{\"saved\":true}'; sleep 600", "says that it is done before it was sent all objects"),
    ] {
      let peer = try Peer(save: body)
      let error = #expect(throws: PersistentStoreError.self) { try save(peer, texts: texts) { $0.silence = 300 } }
      #expect(error?.message.contains(expected) == true, "\(String(describing: error))")
    }
  }

  @Test("a program may write before it has read everything, and more than a pipe holds")
  func both() throws {
    let body = #"""
      printf '{"write":1000000}\n'; head -c 1000000 /dev/zero; \#
      while read -r line; do case "$line" in '{"end"'*) break ;; esac; done; echo '{"saved":true}'
      """#
    try save(try Peer(save: body), texts: (0..<300).map { _ in String(repeating: "x", count: 5_000) })
  }
}
