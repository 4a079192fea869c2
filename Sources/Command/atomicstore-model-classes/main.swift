import AtomicStoreSPI
import FoundationEssentials
import Glibc
import ModelClasses
import ModelFiles

// What the build plug-in runs: atomicstore-model-classes MODEL OUTPUT. It writes one file, and leaves an equal one as
// it is, so that nothing is compiled again.

func say(_ text: String) {
  var text = text
  text.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// The form in which builds show errors beside the file.
func fail(_ path: String, _ reason: String) -> Never {
  say("\(path): error: \(reason)\n")
  exit(1)
}

let arguments = CommandLine.arguments
guard arguments.count == 3 else {
  say("usage: atomicstore-model-classes MODEL OUTPUT\n")
  exit(64)
}
let (path, output) = (arguments[1], arguments[2])
do {
  let file = try ModelFile.read(at: path)
  for warning in file.warnings { say("\(path): warning: \(warning)\n") }
  var name = path.split(separator: "/").last.map(String.init) ?? path
  if let dot = name.lastIndex(of: "."), dot != name.startIndex { name = String(name[..<dot]) }
  let writer = SwiftModelWriter(try ManagedObjectModel(file.description), name: name, isPublic: false)
  let bytes = Data(try writer.wholeText().utf8)
  if (try? Data(contentsOf: URL(filePath: output))) != bytes {
    let unit = Publication()
    try unit.addFile(Array(bytes), at: output, replaces: true)
    try unit.commit()
  }
} catch {
  fail(path, "\(error)")
}
