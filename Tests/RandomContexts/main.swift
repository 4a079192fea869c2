import ContextScripts
import Foundation

// Carries out scripts of several contexts on one store, and prints the shortest ones that leave a file in disagreement
// or break what a merge policy promises: random-contexts [COUNT] [SEED] [TYPE], with ATOMICSTORE_POSTGRES_URL for the
// type PostgreSQL. With "all" for the type, each script is carried out on stores of all types, which must answer alike.
let arguments = CommandLine.arguments.dropFirst().map { $0 }
let count = arguments.first.flatMap { Int($0) } ?? 1000
let seed = arguments.dropFirst().first.flatMap { UInt64($0) } ?? 1
let type = arguments.dropFirst(2).first ?? "BinaryPropertyList"
let server = type == "PostgreSQL" ? ProcessInfo.processInfo.environment["ATOMICSTORE_POSTGRES_URL"] : nil
if type == "PostgreSQL", server == nil {
  FileHandle.standardError.write(Data("random-contexts: ATOMICSTORE_POSTGRES_URL names no server\n".utf8))
  exit(64)
}

let failure: (ContextScript) -> String? = type == "all" ? { $0.disagreement() } : { $0.failure() }
var failures = 0
for index in 0..<count {
  let script = ContextScript(seed: seed &+ UInt64(index), type: type, server: server)
  if let first = failure(script) {
    failures += 1
    let short = script.shortened(failure)
    // Shown at once: a long run may be stopped before it ends.
    FileHandle.standardOutput.write(
      Data(
        "seed \(seed &+ UInt64(index)), \(short.setup)\n\(failure(short) ?? "it fails no more; before: " + first)\n\n"
          .utf8))
    if failures >= 10 { break }
  }
  if (index + 1) % 10_000 == 0 {
    FileHandle.standardError.write(Data("\(index + 1) scripts, \(failures) failures\n".utf8))
  }
}
print("\(count) scripts of 20 operations from seed \(seed), \(type): \(failures) failures")
exit(failures == 0 ? 0 : 1)
