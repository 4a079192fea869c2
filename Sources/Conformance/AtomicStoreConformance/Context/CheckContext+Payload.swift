import AtomicStoreSPI

// What the format's author gives, so that damage comes past checksums, compression and encryption.
extension CheckContext {
  /// What of a store's files is to be damaged; nil if the author gives no way past a checksum.
  func payload(of files: [String: [UInt8]]) -> [String: [UInt8]]? {
    let content = if let extract = subject.payload { extract(files) } else { Optional(files) }
    guard let payload = content, valid(payload) != nil else { return nil }
    return payload
  }

  /// The files of a payload that was damaged; nil if the author's function makes none of it.
  func valid(_ payload: [String: [UInt8]]) -> [String: [UInt8]]? { subject.recomputeChecksum.flatMap { $0(payload) } }

  /// The files of a store whose payload has a damage, with valid checksums; nil if the author makes none of it.
  func files(of payload: [String: [UInt8]], with damage: Damage) -> [String: [UInt8]]? {
    var payload = payload
    payload[damage.member] = damage.bytes
    return valid(payload)
  }
}
