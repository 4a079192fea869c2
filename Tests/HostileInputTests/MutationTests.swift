import Foundation
import StoreMutation
import TestSupport
import Testing

/// The short, repeatable part of what `Scripts/fuzz` does for hours.
@Suite("Malicious inputs") struct MutationTests {
  static let samples = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
    .appending(path: "SampleStores").path

  /// The same in every run. Fewer where each is loaded and saved several times over.
  private static func count(_ reader: HostileReader) -> Int {
    [.xmlStore, .model, .modelArchive].contains(reader) ? 1000 : 2000
  }

  /// A database has a page for every table at least, an archive an object for every value.
  private static func isLarge(_ reader: HostileReader) -> Bool {
    reader == .coreDataSQLite || reader == .coreDataBinary || reader == .arrowStore
  }

  @Test(
    "each is refused with a typed error that has a location, or read as a value that survives a round trip",
    .timeLimit(.minutes(10)),
    arguments: HostileReader.allCases)
  func bounded(_ reader: HostileReader) throws {
    // Small seeds: the changes then hit what matters, and the whole takes seconds.
    let mutator = Mutator(
      reader: reader, seeds: try reader.seeds(samples: Self.samples, limit: Self.isLarge(reader) ? 10_000 : 2500))
    let trial = try HostileTrial(reader: reader, samples: Self.samples)
    var random = MutationRandom(seed: 6)
    var outcomes: [HostileOutcome: Int] = [:]
    for seed in mutator.seeds { outcomes[try trial.run(seed), default: 0] += 1 }
    let share = Set((0..<Self.count(reader)).share(of: "inputs of \(reader)"))
    for number in 0..<Self.count(reader) {
      let input = mutator.input(&random, limit: Self.isLarge(reader) ? 10_000 : 2048)
      guard share.contains(number) else { continue }
      let begin = ProcessorTime.now()
      do {
        outcomes[try trial.run(input), default: 0] += 1
      } catch {
        Issue.record(
          "input \(number): \(error)\n\(String(decoding: input.prefix(3000), as: UTF8.self).debugDescription)")
        return
      }
      #expect(ProcessorTime.now() - begin < 30, "input \(number) took too long")
    }
    // Else nothing was tried: both sides of the promise must have been met. In a share of the inputs their number
    // varies.
    let isWhole = share.count == Self.count(reader)
    #expect((outcomes[.value] ?? 0) > (isWhole ? 20 : 0), "\(outcomes)")
    #expect(outcomes.count > 1, "\(outcomes)")
  }
}
