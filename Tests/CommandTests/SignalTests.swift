import Foundation
import Testing

@Suite("Signals to atomicstore") struct SignalTests {
  @Test("a signal ends it with its exit code, and no staged files remain", arguments: [SIGINT, SIGTERM, SIGHUP])
  func stopped(_ signal: Int32) throws {
    let work = try Folder()
    let running = try RunningCommand("inspect", "-", temporaryFolder: work.path)
    try running.waitForFile(in: work.path)
    #expect(running.end(signal) == 128 + signal)
    #expect(work.names.isEmpty)
  }

  @Test("a signal that the parent process ignores does not stop it", arguments: [(SIGHUP, "HUP"), (SIGINT, "INT")])
  func ignored(_ signal: Int32, _ name: String) throws {
    let work = try Folder()
    let running = try RunningCommand(
      "-", temporaryFolder: work.path, shell: "trap '' \(name); exec \"$0\" inspect \"$1\"")
    try running.waitForFile(in: work.path)
    kill(running.process.processIdentifier, signal)
    try running.input.fileHandleForWriting.write(contentsOf: Data(contentsOf: URL(filePath: Command.company)))
    try running.input.fileHandleForWriting.close()
    #expect(running.end() == 0)
    #expect(work.names.isEmpty)
  }

  @Test("of a list of stores, what is done is reported before a signal ends it, and no hidden file stays")
  func fleet() throws {
    let folder = try Folder()
    let result = try Command.shell(
      """
      mkdir in; for i in $(seq 400); do ln "$1" in/$i.xml || cp "$1" in/$i.xml; done
      ls in/*.xml > list
      "$0" convert --files-from list -o out --to XML --jobs 1 > report 2> errors & process=$!
      for i in $(seq 1000); do [ -s report ] && break; sleep 0.01; done
      kill -TERM $process; wait $process; echo $?
      """, Command.company, in: folder.path)
    #expect(result.output == "143\n", "\(result.output)")
    let report = try String(contentsOfFile: folder("report"), encoding: .utf8)
    #expect(report.hasSuffix("\n") && !report.isEmpty)
    let lines = report.split(separator: "\n")
    #expect(lines.count < 400)
    for line in lines { _ = try JSONSerialization.jsonObject(with: Data(line.utf8)) }
    let made = try FileManager.default.contentsOfDirectory(atPath: folder("out/in"))
    #expect(made.allSatisfy { !$0.hasPrefix(".") }, "\(made)")
    // One store may be done and not told yet.
    #expect(made.count - lines.count <= 1)
  }

  @Test("a signal while a directory replaces an older one leaves one of them whole, and nothing else")
  func replacing() throws {
    let folder = try Folder()
    // Many members, so that many signals come while they are exchanged or removed.
    let tables = folder("tables")
    try FileManager.default.createDirectory(atPath: tables, withIntermediateDirectories: false)
    for number in 1...150 {
      try "id,name\n1,a\n".write(toFile: "\(tables)/E\(number).csv", atomically: false, encoding: .utf8)
    }
    let (old, new, work) = (folder("old.csvstore"), folder("new.csvstore"), folder("work"))
    #expect(try Command.run("import", tables, "-o", old).code == 0)
    try FileManager.default.copyItem(atPath: old, toPath: new)
    let change = ["--entity", "E1", "--all", "name:=b"]
    let begin = ContinuousClock.now
    #expect(try Command.run(arguments: ["set", new] + change).code == 0)
    let duration = ContinuousClock.now - begin
    for part in 1...14 {
      try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: false)
      let store = work + "/t.csvstore"
      try FileManager.default.copyItem(atPath: old, toPath: store)
      let running = try RunningCommand(
        "set", store, change[0], change[1], change[2], change[3], temporaryFolder: folder.path)
      Thread.sleep(forTimeInterval: duration / .seconds(1) * (0.4 + 0.04 * Double(part)))
      let code = running.end(SIGTERM)
      #expect(code == 0 || code == 128 + SIGTERM)
      let isWhole = try [old, new].contains { try Self.contents(of: $0) == Self.contents(of: store) }
      #expect(isWhole, "part \(part)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: work) == ["t.csvstore"])
      try FileManager.default.removeItem(atPath: work)
    }
  }

  @Test("a signal during an import that writes a model and a report leaves the store and both, or nothing")
  func importing() throws {
    let folder = try Folder()
    let rows = (1...3000).map { "\($0),a\n" }.joined()
    try Data(("id,name\n" + rows).utf8).write(to: URL(filePath: folder("Item.csv")))
    let work = folder("work")
    for _ in 1...12 {
      try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: false)
      let running = try RunningCommand(
        "import", folder("Item.csv"), "-o", work + "/s.xml", "--write-model", work + "/M.xcdatamodeld", "--report",
        work + "/report.csv", temporaryFolder: folder.path)
      // The moment at which the store is there.
      while running.process.isRunning, access(work + "/s.xml", F_OK) != 0 {}
      let code = running.end(SIGTERM)
      #expect(code == 0 || code == 128 + SIGTERM)
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: work).sorted() == ["M.xcdatamodeld", "report.csv", "s.xml"])
      try FileManager.default.removeItem(atPath: work)
    }
  }

  /// The names of a directory's files, and what is in them.
  private static func contents(of path: String) throws -> [String: Data] {
    let names = try FileManager.default.contentsOfDirectory(atPath: path)
    return try Dictionary(
      uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: URL(filePath: path + "/" + $0))) })
  }

  @Test("exceeding the file size limit is an error like a full disk, and nothing remains of the file")
  func fileSize() throws {
    let folder = try Folder()
    let result = try Command.shell("ulimit -f 20; \"$0\" convert \"$1\" big.xml", Command.company, in: folder.path)
    #expect(result.code == 74 && result.errors.contains("File too large"), "\(result.code) \(result.errors)")
    #expect(folder.names.isEmpty)
  }

  @Test("stopping conform removes its files and ends its processes", arguments: [SIGINT, SIGTERM])
  func conform(_ signal: Int32) throws {
    let work = try Folder()
    let running = try RunningCommand("conform", "--type", "XML", temporaryFolder: work.path)
    try running.waitForFile(in: work.path)
    Thread.sleep(forTimeInterval: 0.5)
    #expect(running.end(signal) == 128 + signal)
    #expect(work.names.isEmpty)
    // Nothing goes on and writes again.
    Thread.sleep(forTimeInterval: 0.3)
    #expect(work.names.isEmpty)
  }
}
