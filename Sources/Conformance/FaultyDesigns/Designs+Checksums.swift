import AtomicStoreSPI

// How the checks come past the digests of the designs.

extension LedgerStore: ChecksummedStore {
  /// The last word of the file is the digest.
  static func recomputeChecksum(of payload: [String: [UInt8]]) -> [String: [UInt8]]? {
    guard let bytes = payload[""], let end = bytes.dropLast().lastIndex(of: UInt8(ascii: " ")) else { return nil }
    return ["": Array(bytes[...end]) + (String(Digest.of(bytes[...end]), radix: 16) + "\n").utf8]
  }
  static func newerVersion(of files: [String: [UInt8]]) -> [String: [UInt8]]? {
    files[""].flatMap { recomputeChecksum(of: ["": Array("LEDGER 2".utf8) + $0.dropFirst(8)]) }
  }
}

extension PagedStore: ChecksummedStore {
  /// The record that the pages hold.
  static func payload(of files: [String: [UInt8]]) -> [String: [UInt8]]? {
    guard let pages = files[""]?.dropFirst(signature.count + 8) else { return nil }
    var content: [UInt8] = []
    for start in stride(from: pages.startIndex, to: pages.endIndex, by: pageSize)
    where start + pageSize <= pages.endIndex {
      let count = pages[start + 8..<start + 12].reversed().reduce(0) { $0 << 8 | Int($1) }
      guard count <= pageSize - frame else { return nil }
      content += pages[start + 12..<start + 12 + count]
    }
    return ["": content]
  }
  static func recomputeChecksum(of payload: [String: [UInt8]]) -> [String: [UInt8]]? {
    payload.mapValues { pages(of: $0) }
  }
}

extension BinderStore: ChecksummedStore {
  /// The files of objects are damaged, of which the catalogue has the digests; and the catalogue before its own digest.
  static func payload(of files: [String: [UInt8]]) -> [String: [UInt8]]? {
    var payload = files
    payload[catalogue] = files[catalogue].map { Array($0.dropFirst(signature.count).dropLast(8)) }
    return payload
  }
  static func recomputeChecksum(of payload: [String: [UInt8]]) -> [String: [UInt8]]? {
    guard var list = payload[catalogue] else { return nil }
    for (name, bytes) in payload where name != catalogue {
      var entry = RecordWriter()
      entry.text(name)
      let starts = list.indices.dropLast(entry.bytes.count + 7).filter { list[$0...].starts(with: entry.bytes) }
      guard let start = starts.last else { continue }
      var digest = RecordWriter()
      digest.word(Digest.of(bytes[...]))
      list.replaceSubrange(start + entry.bytes.count..<start + entry.bytes.count + 8, with: digest.bytes)
    }
    var file = RecordWriter(bytes: list)
    file.word(Digest.of(list[...]))
    var files = payload
    files[catalogue] = signature + file.bytes
    return files
  }
}
