import AtomicStoreSPI

extension ObjectLoader {
  var objectPlace: StoreLocation {
    var place = nodes.location()
    place.line = nil
    return place
  }

  func misplaced(_ message: String, _ code: PersistentStoreError.Code = .malformed) -> PersistentStoreError {
    var place = nodes.location(slot)
    place.line = nil
    return PersistentStoreError(code, "'\(place.property ?? "")' \(message)", at: place)
  }

  func wrong(_ text: UnsafeMutableBufferPointer<UInt8>, _ message: String) -> PersistentStoreError {
    PersistentStoreError(.invalidValue, "'\(Self.shown(Bytes(text)))' is \(message)")
  }

  static func shown(_ bytes: Bytes) -> String {
    String(decoding: bytes.prefix(60), as: UTF8.self) + (bytes.count > 60 ? "…" : "")
  }
}
