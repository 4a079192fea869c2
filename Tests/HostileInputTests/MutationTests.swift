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
    "an input in which one identity is 0, -1, its own, the least or the greatest is refused, or read as a value",
    .timeLimit(.minutes(60)),
    arguments: HostileReader.allCases)
  func identities(_ reader: HostileReader) throws {
    let seeds = try reader.seeds(samples: Self.samples, limit: Self.isLarge(reader) ? 10_000 : 2500)
    let trial = try HostileTrial(reader: reader, samples: Self.samples)
    var tried = 0
    for (index, seed) in seeds.enumerated() {
      let count = IdentityMutation.variantCount(of: seed, reader)
      // As many of each seed, evenly.
      let step = max(1, count * seeds.count / 1500)
      let numbers = stride(from: index % step, to: count, by: step)
      for number in Array(numbers).share(of: "identities of \(reader) \(index)") {
        let input = IdentityMutation.variant(number, of: seed, reader)
        let begin = ProcessorTime.now()
        do { _ = try trial.run(input) } catch {
          Issue.record("seed \(index), variant \(number): \(error)")
          return
        }
        #expect(ProcessorTime.now() - begin < 30, "seed \(index), variant \(number) took too long")
        tried += 1
      }
    }
    #expect(tried > (TestShare.asked.divisor == 1 ? 10 : 0), "\(reader): \(tried)")
  }

  @Test(
    "all readers have identities that are set: in the seeds of each there are several",
    arguments: HostileReader.allCases)
  func sites(_ reader: HostileReader) throws {
    let seeds = try reader.seeds(samples: Self.samples, limit: Self.isLarge(reader) ? 10_000 : 2500)
    let count = seeds.reduce(0) { $0 + IdentityMutation.variantCount(of: $1, reader) }
    #expect(count >= 20, "\(count)")
    let seed = try #require(seeds.first { IdentityMutation.variantCount(of: $0, reader) > 0 })
    let values = Set((0..<5).map { IdentityMutation.variant($0, of: seed, reader) })
    #expect(values.count >= 4)
  }

  @Test(
    "each is refused with a typed error that has a location, or read as a value that survives a round trip",
    .timeLimit(.minutes(60)),
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
