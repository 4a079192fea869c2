import AtomicStoreSPI
import Foundation
import Testing

@testable import AtomicStoreConformance

private enum FuzzedReader {
  private static let variable = "CONFORMANCE_TEST_CORPUS"
  /// The same in this process and in its workers.
  static let corpus: String = {
    if let known = ProcessInfo.processInfo.environment[variable] { return known }
    let path = NSTemporaryDirectory() + "/conformance-corpus-\(getpid())"
    setenv(variable, path, 1)
    return path
  }()

  static let checks: [ConformanceCheck] = {
    var subject = ConformanceSubject(MeasuredStore<CalmStore>.self)
    subject.addFuzzing(seconds: 1, corpus: corpus)
    return Conformance.checks(for: subject).filter { $0.id == "FUZ-01" }
  }()

  /// The worker comes by here and stays; one of another subject would take away the files of this test.
  static let isReady = Harness.canRunChecks && !checks.isEmpty && !WorkerServer.wasAsked
}

@Suite("Fuzzing of a format's reader", .enabled(if: FuzzedReader.isReady, Harness.sanitizerReason))
struct FuzzingTests {
  @Test("a file that a reader cannot bear is kept, smaller, and tried first the next time")
  func kept() throws {
    defer { try? FileManager.default.removeItem(atPath: FuzzedReader.corpus) }
    let check = try #require(FuzzedReader.checks.first)
    let sound = check.outcome()
    #expect(sound.outcome == .passed && sound.notes.contains { $0.hasSuffix(" changed files") }, "\(sound)")
    #expect(!FileManager.default.fileExists(atPath: FuzzedReader.corpus))
    var subject = check.subject
    subject.fault = "indexOutOfRange"
    let careless = ConformanceCheck(definition: check.definition, subject: subject)
    let found = careless.outcome()
    #expect(found.outcome == .failed, "\(found)")
    let names = try FileManager.default.contentsOfDirectory(atPath: FuzzedReader.corpus)
    #expect(!names.isEmpty && found.explanation?.actual.contains(FuzzedReader.corpus + "/1.xml, ") == true, "\(found)")
    for name in names {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: FuzzedReader.corpus + "/" + name))
      #expect(bytes.count < 8_000 && bytes.contains { $0 >= 250 }, "\(name): \(bytes.count) bytes")
    }
    #expect(careless.outcome().explanation?.actual.contains("/1.xml, still") == true)
    // Repaired, the reader bears it.
    #expect(check.outcome().outcome == .passed)
  }
}
