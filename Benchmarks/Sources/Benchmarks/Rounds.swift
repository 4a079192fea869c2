import Foundation

/// All measurements of one size, in turn, round after round. Each runs in its own process, started by this one, so
/// that its peak memory is its own and none warms the next.
struct Rounds {
  let objects: Int
  let folder: String
  let list: [Measurement]
  private(set) var results: [String: [Measured]] = [:]

  /// What takes others longer than this is measured once: the table says so.
  private static let patience = 5.0

  init(objects: Int, only names: [String]?, in folder: String) throws {
    self.objects = objects
    self.folder = folder + "/\(objects)"
    list = Measurement.all.filter { names?.contains($0.name) ?? true }
    try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
    if !FileManager.default.fileExists(atPath: self.folder + "/company.sqlite") {
      progress("generating")
      _ = try child("generate")
    }
  }

  mutating func run(_ count: Int) throws {
    for round in 1...max(1, count) {
      for measurement in list where round == 1 || isRepeated(measurement) {
        progress("round \(round), \(measurement.name)")
        results[measurement.name, default: []].append(try measure(measurement))
      }
    }
    progress("")
  }

  private func isRepeated(_ measurement: Measurement) -> Bool {
    guard let first = results[measurement.name]?.first, first.missing == nil else { return false }
    return measurement.kind != .other || measurement.aim != nil || first.seconds < Self.patience
  }

  private func measure(_ measurement: Measurement) throws -> Measured {
    if let limit = measurement.limit, objects > limit.objects { return .missing(limit.reason) }
    do { return try child(measurement.name) } catch {
      // The child told what went wrong, unless it was stopped. Whatever others cannot do is not ours to repair.
      guard measurement.kind == .other else { throw Failure(message: "\(measurement.name): \(error)") }
      return .missing("failed: \(error)")
    }
  }

  private func child(_ what: String) throws -> Measured {
    var arguments = ["--measure", what, "--folder", folder, "--objects", String(objects)]
    for name in ["--command", "--python"] {
      if let path = Options.value(name) { arguments += [name, path] }
    }
    return try JSONDecoder().decode(Measured.self, from: output(of: Options.executable.path, arguments))
  }

  private func progress(_ text: String) {
    let line = text.isEmpty ? "" : "\(objects): \(text)"
    guard isatty(STDERR_FILENO) == 1 else { return }
    FileHandle.standardError.write(Data("\r\u{1B}[K\(line)".utf8))
  }

  // MARK: Rows

  func rows() -> [TableRow] { list.compactMap(row) }

  private func row(_ measurement: Measurement) -> TableRow? {
    guard let measured = results[measurement.name], let first = measured.first else { return nil }
    var row = TableRow(objects: objects, section: measurement.section, what: measurement.name, kind: measurement.kind)
    if let missing = first.missing {
      row.note = missing
      return row
    }
    let seconds = measured.map(\.seconds)
    row.rounds = measured.count
    row.minimum = seconds.min()
    row.median = Self.median(seconds)
    row.peak = measured.compactMap(\.peak).max()
    row.aim = measurement.aim
    row.aimSeconds = measurement.aimSeconds
    if let against = measurement.against, let others = results[against], others.first?.missing == nil {
      row.against = against
      // Each round's own ratio, then the median: a noisy minute hits both sides.
      let pairs = zip(measured, others).map { measurement.kind == .other ? ($1, $0) : ($0, $1) }
      row.ratio = Self.median(pairs.map { $0.seconds / $1.seconds })
      // Of these floors all that the process does is measured; the others read what they write before.
      if ["floor-xml", "floor-csv", "floor-sqlite-load"].contains(against) {
        row.processorRatio = Self.median(pairs.map { $0.processor / $1.processor })
      }
    }
    if measurement.kind == .kit, measurement.name.hasPrefix("load-") {
      let peaks = measured.compactMap { one in one.peak.map { $0 - (one.baseline ?? 0) } }
      row.bytesPerObject = peaks.max().map { Double($0 - mapped(measurement.name)) / Double(objects) }
    }
    return row
  }

  /// The bytes of a store's file that are in memory for as long as it is loaded. XML is read in pieces, CSV file by
  /// file.
  private func mapped(_ load: String) -> Int64 {
    if load.hasPrefix("load-XML") { return 0 }
    if load == "load-CSV" { return csvPaths(folder).map(size).max() ?? 0 }
    return size(folder + "/" + Format.propertyList.file)
  }

  private func size(_ path: String) -> Int64 {
    (try? FileManager.default.attributesOfItem(atPath: path)[.size]) as? Int64 ?? 0
  }

  private static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
  }
}
