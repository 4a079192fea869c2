import Foundation

if Options.has("--help") {
  print(Options.help)
} else if let what = Options.value("--measure"), let folder = Options.value("--folder") {
  // The child: one measurement, told on the standard output.
  let measured =
    if what == "generate" {
      try timed { try generate(Int(Options.value("--objects") ?? "") ?? 0, folder) }
    } else if let measurement = Measurement.named(what) {
      try measurement.body(folder)
    } else {
      throw Failure(message: "nobody knows \(what)")
    }
  FileHandle.standardOutput.write(try JSONEncoder().encode(measured))
  // Without giving back what was loaded: it takes time and tells nothing.
  exit(0)
} else {
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
