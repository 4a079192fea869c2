import Foundation
import FoundationXML
import SwiftCSV

/// What one would use instead, on the same data. A save is on the disk when it ends, as the kit's is.
enum Others {
  static let rows = "/rows.plist"
  static let json = "/company.json"

  static func measure(_ what: String, _ folder: String) throws -> Measured? {
    switch what {
    case "PropertyListSerialization-load":
      var list: Any?
      let measured = try timed {
        list = try PropertyListSerialization.propertyList(
          from: Data(contentsOf: URL(filePath: folder + rows)), format: nil)
      }
      guard let tables = list as? [String: Any], tables.count == 3 else {
        throw Failure(message: "the rows are not there")
      }
      return measured
    case "PropertyListSerialization-save":
      let dictionaries = try CompanyRows.read(folder).dictionaries
      return try timed {
        let data = try PropertyListSerialization.data(fromPropertyList: dictionaries, format: .binary, options: 0)
        try data.write(to: URL(filePath: folder + "/saved-rows.plist"), options: .atomic)
      }
    case "JSONDecoder-load":
      var list: CompanyRows?
      let measured = try timed {
        list = try JSONDecoder().decode(CompanyRows.self, from: Data(contentsOf: URL(filePath: folder + json)))
      }
      guard let list, list.count > 0 else { throw Failure(message: "the rows are not there") }
      return measured
    case "JSONEncoder-save":
      let list = try CompanyRows.read(folder)
      return try timed {
        try JSONEncoder().encode(list).write(to: URL(filePath: folder + "/saved-company.json"), options: .atomic)
      }
    case "XMLDocument-load":
      var document: XMLDocument?
      let measured = try timed {
        document = try XMLDocument(contentsOf: URL(filePath: folder + "/" + Format.xml.file), options: [])
      }
      guard let count = document?.rootElement()?.childCount, count > 1 else { throw Failure(message: "no elements") }
      // Giving a tree of this size back takes as long again, and the process ends anyway.
      withExtendedLifetime(document) { if let document { _ = Unmanaged.passRetained(document) } }
      return measured
    case "SwiftCSV-load":
      var tables: [EnumeratedCSV] = []
      let measured = try timed {
        for path in csvPaths(folder) {
          tables.append(try EnumeratedCSV(url: URL(filePath: path), delimiter: .comma, loadColumns: false))
        }
      }
      guard tables.allSatisfy({ !$0.rows.isEmpty }) else { throw Failure(message: "no rows") }
      return measured
    case "GRDB-load": return try Database.measureLoad(folder)
    case "GRDB-save": return try Database.measureSave(folder)
    default:
      guard ["plistlib", "python", "polars"].contains(where: what.hasPrefix) else { return nil }
      return try python(what, folder)
    }
  }

  /// What the rows' own readers read. Foundation's encoder writes it, since the serialization takes minutes for a
  /// million.
  static func generate(_ rows: CompanyRows, _ folder: String) throws {
    try JSONEncoder().encode(rows).write(to: URL(filePath: folder + json))
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    try encoder.encode(rows).write(to: URL(filePath: folder + Others.rows))
  }

  private static func python(_ what: String, _ folder: String) throws -> Measured {
    let script = String(decoding: PackageResources.others_py, as: UTF8.self)
    guard let python = Options.python else { return .missing("python3 is not installed") }
    return try JSONDecoder().decode(Measured.self, from: output(of: python, ["-c", script, what, folder]))
  }
}

func csvPaths(_ folder: String) -> [String] {
  ["Department", "Employee", "Project"].map { "\(folder)/\(Format.csv.file)/\($0).csv" }
}
