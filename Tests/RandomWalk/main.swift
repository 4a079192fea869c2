import ContextScripts
import Foundation

// Carries out random operations of one context, its children and its undo, and compares the graph with plain values
// after each: random-walk [COUNT] [SEED] [TYPE]. Prints the shortest scripts that fail.
let arguments = CommandLine.arguments.dropFirst().map { $0 }
let count = arguments.first.flatMap { Int($0) } ?? 10_000
let seed = arguments.dropFirst().first.flatMap { UInt64($0) } ?? 1
let type = arguments.dropFirst(2).first ?? "BinaryPropertyList"
/// The operations of a script.
let length = 50

var failures = 0
var done = 0
var index: UInt64 = 0
while done < count, failures < 10 {
  let script = WalkScript(seed: seed &+ index, type: type, length: min(length, count - done))
  if let first = script.failure() {
    failures += 1
    let short = script.shortened()
    // Shown at once: a long run may be stopped before it ends.
    let found = short.failure() ?? "it fails no more; before: " + first
    let text = "seed \(seed &+ index), \(short.steps.count) steps: \(found)\n\n"
    FileHandle.standardOutput.write(Data(text.utf8))
  }
  done += script.steps.count
  index += 1
  if index % 1000 == 0 { FileHandle.standardError.write(Data("\(done) operations, \(failures) failures\n".utf8)) }
}
print("\(done) operations from seed \(seed), \(type): \(failures) failures")
exit(failures == 0 ? 0 : 1)
