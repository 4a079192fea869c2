import Foundation

if Options.has("--help") {
  print(Options.help)
  exit(0)
}
do {
  if let what = Options.value("--measure"), let folder = Options.value("--folder") {
    try runChild(what, folder)
  } else {
    try runAll()
  }
} catch {
  FileHandle.standardError.write(Data("\(error)\n".utf8))
  exit(1)
}

/// One measurement, told on the standard output.
func runChild(_ what: String, _ folder: String) throws {
  let measured: Measured
  if what == "generate" {
    measured = try timed { try generate(Int(Options.value("--objects") ?? "") ?? 0, folder) }
  } else if let measurement = Measurement.named(what) {
    do { measured = try measurement.body(folder) } catch  where measurement.kind == .other {
      measured = .missing("failed: \(error)")
    }
  } else {
    throw Failure(message: "\(what) is unknown")
  }
  FileHandle.standardOutput.write(try JSONEncoder().encode(measured))
  // Without giving back what was loaded: it takes time and shows nothing.
  exit(0)
}

func runAll() throws {
  let sizes = Options.names("--objects")?.compactMap(Int.init) ?? [10_000, 100_000]
  let rounds = Options.value("--rounds").flatMap(Int.init) ?? 3
  let kept = Options.value("--keep")
  let folder = kept ?? NSTemporaryDirectory() + "benchmarks-\(getpid())"
  defer { if kept == nil { try? FileManager.default.removeItem(atPath: folder) } }
  var rows: [TableRow] = []
  for objects in sizes {
    var round = try Rounds(objects: objects, only: Options.names("--only"), in: folder)
    try round.run(rounds)
    rows += round.rows()
    if kept == nil { try? FileManager.default.removeItem(atPath: round.folder) }
  }
  let table = Table(rows: rows)
  print(Options.has("--json") ? try table.json : Options.has("--markdown") ? table.markdown : table.text)
}
