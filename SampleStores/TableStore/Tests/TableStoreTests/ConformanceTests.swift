import AtomicStoreConformance
import AtomicStoreSPI
import TableStore
import Testing

/// SQLite writes integers in as few bytes as they need, which no check can guess.
private let subject: ConformanceSubject = {
  var subject = ConformanceSubject(TableStore.self)
  subject.duplicate = { files in
    // As a varint of three bytes, big-endian.
    let (first, second): ([UInt8], [UInt8]) = ([0x10, 0xF4, 0x47], [0x21, 0xE8, 0x8E])
    guard var bytes = files[""] else { return nil }
    let places = bytes.indices.dropLast(2).filter { bytes[$0...].starts(with: second) }
    guard !places.isEmpty else { return nil }
    for place in places { bytes.replaceSubrange(place..<place + 3, with: first) }
    return ["": bytes]
  }
  return subject
}()

/// All that a format's tests need. It stays as it is when checks are added.
@Test(arguments: Conformance.checks(for: subject))
func conforms(_ check: ConformanceCheck) throws { try check.run() }
