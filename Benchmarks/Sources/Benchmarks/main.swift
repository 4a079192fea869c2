import AtomicStoreKit
import BuiltInStoreFormats
import CFloors
import Foundation

// Each measurement runs in a process of its own, started by this one: so that peak memory is its own, and one
// measurement does not warm the next. Within a round all of them run in turn; a ratio compares medians of one run.

let arguments = CommandLine.arguments
func option(_ name: String) -> String? {
  arguments.firstIndex(of: name).flatMap { arguments.indices.contains($0 + 1) ? arguments[$0 + 1] : nil }
}

struct Measured: Codable {
  var seconds: Double
  /// The processor's part of it, which other work on the machine stretches less.
  var processor = processorSeconds
  var peak: Int64 = 0
  var baseline: Int64 = 0
}

let formats = [("XML", "company.xml"), ("BinaryPropertyList", "company.plist"), ("CSV", "company.csvstore")]

func save(_ snapshot: StoreSnapshot, _ type: String, to path: String) throws {
  var snapshot = snapshot
  snapshot.metadata.storeType = type
  var format: any AtomicStore = try StoreRegistry.builtIn.storeType(named: type).init(StoreConfiguration(path: path))
  let staged = try StagedStore(target: path, layout: format.layout, policy: .replaceAny)
  try format.save(snapshot, to: staged)
  try staged.finish()
  try staged.commit()
}

func load(_ path: String, _ options: StoreOptions = [:]) throws -> (PersistentStoreCoordinator, PersistentStore) {
  let coordinator = PersistentStoreCoordinator(registry: .builtIn)
  return (coordinator, try coordinator.addPersistentStore(at: path, options: options, isReadOnly: true))
}

/// Runs a command to its end, its output thrown away.
func run(_ command: String, _ arguments: [String]) throws {
  let process = Process()
  process.executableURL = URL(filePath: command)
  process.arguments = arguments
  process.standardOutput = FileHandle.nullDevice
  try process.run()
  process.waitUntilExit()
  guard process.terminationStatus == 0 else { throw CocoaError(.executableRuntimeMismatch) }
}

/// What the last measurement took of the processor, in this process and in those it waited for.
nonisolated(unsafe) var processorSeconds = 0.0

func processorTime() -> Double {
  var total = 0.0
  for who in [RUSAGE_SELF.rawValue, RUSAGE_CHILDREN.rawValue] {
    var usage = rusage()
    getrusage(__rusage_who_t(who), &usage)
    total += Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6
  }
  return total
}

/// The floors look at the clock themselves: what they do before and after is not theirs.
func floor(_ body: () throws -> Double) rethrows -> Double {
  let before = processorTime()
  let seconds = try body()
  processorSeconds = processorTime() - before
  return seconds
}

func timed(_ body: () throws -> Void) rethrows -> Double {
  let clock = ContinuousClock()
  let before = processorTime()
  let duration = try clock.measure(body)
  processorSeconds = processorTime() - before
  return Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
}

func csvPaths(_ folder: String) -> [String] {
  ["Department", "Employee", "Project"].map { "\(folder)/company.csvstore/\($0).csv" }
}

/// One measurement, in the child.
func measure(_ what: String, _ folder: String) throws -> Measured {
  let xml = folder + "/company.xml"
  let database = folder + "/company.sqlite"
  switch what {
  case "floor-xml": return Measured(seconds: floor { floor_xml(xml) })
  case "floor-write": return Measured(seconds: floor { floor_write(xml, folder + "/raw.out") })
  case "floor-write-plist": return Measured(seconds: floor { floor_write(folder + "/company.plist", folder + "/raw.out") })
  case "floor-csv":
    let paths = csvPaths(folder).map { strdup($0) }
    var pointers: [UnsafePointer<CChar>?] = paths.map { UnsafePointer($0) }
    pointers.append(nil)
    return Measured(seconds: floor { pointers.withUnsafeBufferPointer { floor_csv($0.baseAddress) } })
  case "floor-sqlite-load": return Measured(seconds: floor { floor_sqlite_load(database) }, peak: peak_memory())
  case "floor-sqlite-insert": return Measured(seconds: floor { floor_sqlite_insert(database, folder + "/insert.sqlite") })
  default: break
  }
  if what == "convert" {
    var converter = StoreConverter(registry: .builtIn)
    converter.targetType = "BinaryPropertyList"
    converter.replacesTarget = true
    return Measured(seconds: try timed { _ = try converter.convert(from: xml, to: folder + "/converted.plist") }, peak: peak_memory())
  }
  if let command = option("--command"), what == "command-version" || what == "command-metadata" {
    let arguments = what == "command-version" ? ["--version"] : ["metadata", "get", xml]
    return Measured(seconds: try timed { try run(command, arguments) })
  }
  let parts = what.split(separator: "-").map(String.init)
  guard parts.count >= 2, let format = formats.first(where: { $0.0 == parts[1] }) else { throw CocoaError(.featureUnsupported) }
  let path = folder + "/" + format.1
  if parts[0] == "load" {
    // The formats and the runtime are warm, the store is not.
    let baseline = peak_memory()
    var opened: (PersistentStoreCoordinator, PersistentStore)?
    let seconds = try timed { opened = try load(path, parts.count > 2 ? ["parser": parts[2]] : [:]) }
    let peak = peak_memory()
    guard let opened, opened.1.nodes.count > 0 else { throw CocoaError(.fileReadCorruptFile) }
    return Measured(seconds: seconds, peak: peak, baseline: baseline)
  }
  let (coordinator, store) = try load(folder + "/company.plist")
  defer { withExtendedLifetime(coordinator) {} }
  let snapshot = StoreSnapshot(nodes: store.nodes, metadata: store.metadata)
  // What is not the disk's part, into a file system in memory.
  let target = parts[0] == "encode" ? "/dev/shm/benchmarks-\(getpid())-" : folder + "/saved-"
  defer { if parts[0] == "encode" { try? FileManager.default.removeItem(atPath: target + format.1) } }
  return Measured(seconds: try timed { try save(snapshot, format.0, to: target + format.1) })
}

func generate(_ objects: Int, _ folder: String) throws {
  let snapshot = try Company.make(objects)
  for (type, name) in formats { try save(snapshot, type, to: folder + "/" + name) }
  guard let database = sqlite_begin(folder + "/company.sqlite") else { throw CocoaError(.fileWriteUnknown) }
  let nodes = snapshot.nodes
  for (entity, isProject) in [(0, Int32(0)), (2, Int32(1))] {
    let reader = nodes.reader(of: entity)
    for row in 0..<reader.count {
      let name = reader.string(slot: 0, row: row)
      _ = sqlite_named(database, isProject, reader.integerReference(row: row) ?? 0, name, Int32(name.utf8.count))
      if isProject == 1 {
        let members = reader.toMany(slot: 1, row: row)
        for place in 0..<members.count {
          if case .integer(let employee) = nodes.reference(of: members[place]) {
            _ = sqlite_member(database, reader.integerReference(row: row) ?? 0, employee)
          }
        }
      }
    }
  }
  let reader = nodes.reader(of: 1)
  func number(_ node: NodeHandle?) -> Int64 {
    if let node, case .integer(let value) = nodes.reference(of: node) { value } else { 0 }
  }
  for row in 0..<reader.count {
    let name = reader.string(slot: 3, row: row)
    let title = reader.string(slot: 6, row: row)
    let salary = reader.string(slot: 5, row: row)
    let token = reader.bytes(slot: 7, row: row)
    let tokenBytes = (0..<token.count).map { token[$0] }
    _ = sqlite_employee(
      database, reader.integerReference(row: row) ?? 0, name, Int32(name.utf8.count), title, Int32(title.utf8.count),
      reader.integer(slot: 1, row: row), reader.double(slot: 4, row: row), salary, Int32(salary.utf8.count),
      reader.double(slot: 2, row: row), reader.boolean(slot: 0, row: row) ? 1 : 0, tokenBytes, Int32(tokenBytes.count),
      number(reader.toOne(slot: 8, row: row)), number(reader.toOne(slot: 9, row: row)))
  }
  guard sqlite_end(database) == 1 else { throw CocoaError(.fileWriteUnknown) }
}

// MARK: - The child

if let what = option("--measure"), let folder = option("--folder") {
  let measured = what == "generate" ? Measured(seconds: try timed { try generate(Int(option("--objects") ?? "") ?? 0, folder) }) : try measure(what, folder)
  FileHandle.standardOutput.write(try JSONEncoder().encode(measured))
  exit(0)
}

// MARK: - The parent

if arguments.contains("--help") {
  print("benchmarks [--objects 10000,100000,1000000] [--rounds 3] [--only NAME,…] [--command ATOMICSTORE] [--keep FOLDER] [--json]")
  exit(0)
}
let sizes = (option("--objects") ?? "10000,100000").split(separator: ",").compactMap { Int($0) }
let rounds = option("--rounds").flatMap { Int($0) } ?? 3
let json = arguments.contains("--json")

func child(_ what: String, _ folder: String, _ objects: Int) throws -> Measured {
  let process = Process()
  process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
  process.arguments = ["--measure", what, "--folder", folder, "--objects", String(objects)]
  if let command = option("--command") { process.arguments?.append(contentsOf: ["--command", command]) }
  let pipe = Pipe()
  process.standardOutput = pipe
  try process.run()
  let data = pipe.fileHandleForReading.readDataToEndOfFile()
  process.waitUntilExit()
  guard process.terminationStatus == 0 else { throw CocoaError(.executableRuntimeMismatch, userInfo: ["what": what]) }
  return try JSONDecoder().decode(Measured.self, from: data)
}

func size(_ path: String) -> Int64 {
  var total: Int64 = 0
  var isFolder: ObjCBool = false
  guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return 0 }
  let files = isFolder.boolValue ? ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).map { path + "/" + $0 } : [path]
  for file in files { total += ((try? FileManager.default.attributesOfItem(atPath: file)[.size]) as? Int64) ?? 0 }
  return total
}

struct Row: Codable {
  var objects: Int
  var what: String
  var minimum: Double
  var median: Double
  var floor: String?
  var ratio: Double?
  var processorRatio: Double?
  var aim: Double?
  var bytesPerObject: Double?
}

var rows: [Row] = []
func pad(_ text: String, _ width: Int) -> String { text + String(repeating: " ", count: max(0, width - text.count)) }
func number(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }

for objects in sizes {
  let folder = (option("--keep") ?? NSTemporaryDirectory() + "benchmarks-\(getpid())") + "/\(objects)"
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  if !FileManager.default.fileExists(atPath: folder + "/company.sqlite") { _ = try child("generate", folder, objects) }
  var list = [
    "floor-xml", "load-XML", "load-XML-libxml2", "convert", "floor-csv", "load-CSV", "floor-sqlite-load", "load-BinaryPropertyList",
    "floor-write", "save-XML", "encode-XML", "encode-CSV", "save-CSV", "floor-write-plist", "save-BinaryPropertyList",
    "encode-BinaryPropertyList", "floor-sqlite-insert",
  ]
  if option("--command") != nil { list += ["command-version", "command-metadata"] }
  if let only = option("--only")?.split(separator: ",").map(String.init) { list = list.filter { only.contains($0) } }
  var results: [String: [Measured]] = [:]
  for _ in 0..<rounds { for what in list { results[what, default: []].append(try child(what, folder, objects)) } }
  func median(_ what: String) -> Double {
    let sorted = (results[what] ?? []).map(\.seconds).sorted()
    return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
  }
  let against: [String: (floor: String, aim: Double?)] = [
    "load-XML": ("floor-xml", 0.6), "load-XML-libxml2": ("floor-xml", 1.35), "convert": ("floor-xml", 3), "load-CSV": ("floor-csv", 3),
    "load-BinaryPropertyList": ("floor-sqlite-load", 0.35), "save-XML": ("floor-write", 2), "encode-XML": ("floor-write", nil),
    "save-CSV": ("floor-sqlite-insert", nil), "encode-CSV": ("floor-sqlite-insert", nil),
    "save-BinaryPropertyList": ("floor-sqlite-insert", 0.3), "encode-BinaryPropertyList": ("floor-sqlite-insert", nil),
  ]
  for what in list {
    let seconds = (results[what] ?? []).map(\.seconds)
    var row = Row(objects: objects, what: what, minimum: seconds.min() ?? .nan, median: median(what))
    if let (floor, aim) = against[what], list.contains(floor) {
      row.floor = floor
      // Each round's own ratio, then the median: a noisy minute hits both sides.
      let ratios = zip(results[what] ?? [], results[floor] ?? []).map { $0.seconds / $1.seconds }.sorted()
      row.ratio = ratios[ratios.count / 2]
      // Of these floors all that the process does is measured; the others read what they write before.
      let isWhole = ["floor-xml", "floor-csv", "floor-sqlite-load"].contains(floor)
      let processor = zip(results[what] ?? [], results[floor] ?? []).map { $0.processor / $1.processor }.sorted()
      if isWhole { row.processorRatio = processor[processor.count / 2] }
      row.aim = aim
    }
    if what.hasPrefix("load-"), let peak = (results[what] ?? []).map({ $0.peak - $0.baseline }).max() {
      let file = formats.first { what.hasPrefix("load-" + $0.0) }.map { size(folder + "/" + $0.1) } ?? 0
      // XML is read in pieces: nothing of the file stays.
      let held = what.hasPrefix("load-XML") ? 0 : what == "load-CSV" ? csvPaths(folder).map(size).max() ?? 0 : file
      row.bytesPerObject = Double(peak - held) / Double(objects)
    }
    rows.append(row)
  }
  if option("--keep") == nil { try? FileManager.default.removeItem(atPath: folder) }
}

if json {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
  print(String(decoding: try encoder.encode(rows), as: UTF8.self))
} else {
  print(pad("objects", 10) + pad("what", 27) + pad("min s", 10) + pad("median s", 10) + pad("ratio", 8) + pad("of CPU", 8) + pad("aim", 10) + pad("against", 22) + "bytes an object")
  for row in rows {
    var line = pad(String(row.objects), 10) + pad(row.what, 27) + pad(number(row.minimum, 4), 10) + pad(number(row.median, 4), 10)
    line += pad(row.ratio.map { number($0, 2) } ?? "", 8)
    line += pad(row.processorRatio.map { number($0, 2) } ?? "", 8)
    line += pad(row.aim.map { aim in "\(number(aim, 2)) \((row.ratio ?? .infinity) <= aim ? "met" : "NOT")" } ?? "", 10)
    line += pad(row.floor ?? "", 22)
    if let bytes = row.bytesPerObject { line += number(bytes, 0) + (bytes <= 250 ? " (≤ 250 met)" : " (≤ 250 NOT)") }
    print(line)
  }
  // Twice the objects should take twice the time.
  for what in ["load-XML", "load-XML-libxml2", "load-CSV", "load-BinaryPropertyList", "save-XML", "save-CSV", "save-BinaryPropertyList"] {
    let points = rows.filter { $0.what == what }
    if let small = points.first, let large = points.last, small.objects < large.objects {
      let growth = (large.minimum / Double(large.objects)) / (small.minimum / Double(small.objects))
      print("growth of \(what): \(number(growth, 2)) × the time an object from \(small.objects) to \(large.objects)")
    }
  }
}
