import CLibFuzzer
import Foundation
import StoreMutation

// fuzz READER SAMPLES [CORPUS] -- LIBFUZZER-ARGUMENTS. libFuzzer calls the functions below, from one thread.

let usage = "usage: fuzz READER SAMPLES [CORPUS] [--write-seeds FOLDER] -- LIBFUZZER-ARGUMENTS"
guard let divider = CommandLine.arguments.firstIndex(of: "--"), divider >= 3,
  let reader = HostileReader(rawValue: CommandLine.arguments[1])
else {
  FileHandle.standardError.write(
    Data("\(usage)\nreaders: \(HostileReader.allCases.map(\.rawValue).joined(separator: ", "))\n".utf8))
  exit(64)
}
let words = Array(CommandLine.arguments[2..<divider])
let corpus = words.count > 1 && words[1] != "--write-seeds" ? words[1] : nil

/// All that the callbacks share.
struct Session {
  let trial: HostileTrial
  let mutator: Mutator
  /// What one input may take beyond what the process has: a floor for buffers of a fixed size, and so many times its
  /// own.
  static let memoryFloor = 64 << 20
  static let memoryMultiple = 64

  init(_ reader: HostileReader, _ samples: String, _ corpus: String?) throws {
    trial = try HostileTrial(reader: reader, samples: samples)
    mutator = Mutator(reader: reader, seeds: try reader.seeds(samples: samples, corpus: corpus))
  }
}
// libFuzzer calls from the one thread that runs this file, which waits meanwhile.
nonisolated(unsafe) let session = try Session(reader, words[0], corpus)

if let place = words.firstIndex(of: "--write-seeds"), place + 1 < words.count {
  for (number, seed) in session.mutator.seeds.enumerated() {
    try Data(seed).write(to: URL(filePath: words[place + 1] + "/seed-\(number)"))
  }
  exit(0)
}

@_cdecl("LLVMFuzzerCustomMutator")
public func mutate(_ data: UnsafeMutablePointer<UInt8>, _ size: Int, _ maximum: Int, _ seed: UInt32) -> Int {
  var random = MutationRandom(seed: UInt64(seed))
  // libFuzzer's own changes know what comparisons failed on; ours know the format.
  if random.next() % 3 == 0 { return LLVMFuzzerMutate(data, size, maximum) }
  return give(
    session.mutator.mutated(Array(UnsafeBufferPointer(start: data, count: size)), &random, limit: maximum), data)
}

@_cdecl("LLVMFuzzerCustomCrossOver")
public func cross(
  _ one: UnsafePointer<UInt8>, _ oneSize: Int, _ other: UnsafePointer<UInt8>, _ otherSize: Int,
  _ result: UnsafeMutablePointer<UInt8>, _ maximum: Int,
  _ seed: UInt32
) -> Int {
  var random = MutationRandom(seed: UInt64(seed))
  let mutator = Mutator(
    reader: session.mutator.reader, seeds: [Array(UnsafeBufferPointer(start: other, count: otherSize))])
  return give(mutator.mutated(Array(UnsafeBufferPointer(start: one, count: oneSize)), &random, limit: maximum), result)
}

func give(_ bytes: [UInt8], _ target: UnsafeMutablePointer<UInt8>) -> Int {
  bytes.withUnsafeBufferPointer { if let base = $0.baseAddress { target.update(from: base, count: bytes.count) } }
  return bytes.count
}

func test(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let input = Array(UnsafeBufferPointer(start: data, count: size))
  do {
    let grown = try PeakMemory.growth { try session.trial.run(input) }
    guard grown <= Session.memoryFloor + Session.memoryMultiple * size else {
      throw HostileFinding(reader: session.trial.reader, text: "\(grown >> 20) MB for \(size) bytes")
    }
  } catch {
    FileHandle.standardError.write(Data("FINDING \(error)\n".utf8))
    // libFuzzer keeps the input of a process that ends so.
    abort()
  }
  return 0
}

var count = CInt(CommandLine.arguments.count - divider)
var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv + divider
exit(LLVMFuzzerRunDriver(&count, &arguments) { data, size in test(data, size) })
