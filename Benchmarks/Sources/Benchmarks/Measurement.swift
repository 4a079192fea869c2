import CFloors
import Foundation

/// One line of the table: what it is called, what it does, and what it is held against.
struct Measurement: Sendable {
  enum Kind: String, Codable, Sendable { case floor, kit, other }

  var name: String
  var kind: Kind
  var section: String
  /// Of the kit's own: what its time is divided by. Of others: whose time is divided by theirs.
  var against: String?
  /// What the ratio may be.
  var aim: Double?
  /// What the time may be.
  var aimSeconds: Double?
  /// The most objects that it is asked for, and why.
  var limit: (objects: Int, reason: String)?
  let body: @Sendable (String) throws -> Measured

  static func named(_ name: String) -> Measurement? { all.first { $0.name == name } }

  /// In the order of a round: whatever is compared is close together.
  static let all: [Measurement] = {
    var section = ""
    var list: [Measurement] = []
    func floor(_ name: String, _ body: @escaping @Sendable (String) throws -> Measured) {
      list.append(Measurement(name: name, kind: .floor, section: section, body: body))
    }
    func kit(
      _ name: String, _ against: String? = nil, aim: Double? = nil, seconds: Double? = nil,
      _ body: @escaping @Sendable (String) throws -> Measured
    ) {
      list.append(
        Measurement(
          name: name, kind: .kit, section: section, against: against, aim: aim, aimSeconds: seconds, body: body))
    }
    func other(_ name: String, _ against: String, aim: Double? = nil, limit: (Int, String)? = nil) {
      list.append(
        Measurement(name: name, kind: .other, section: section, against: against, aim: aim, limit: limit) { folder in
          guard let measured = try Others.measure(name, folder) else { throw Failure(message: "\(name) is unknown") }
          return measured
        })
    }

    section = "XML"
    floor("floor-xml") { folder in try CompanyFloors.xml(folder) }
    kit("load-XML", "floor-xml", aim: 0.6) { try Kit.measureLoad(.xml, $0, parser: nil) }
    kit("load-XML-libxml2", "floor-xml", aim: 1.35) { try Kit.measureLoad(.xml, $0, parser: "libxml2") }
    kit("convert", "floor-xml", aim: 3) { try Kit.measureConversion($0) }
    other("XMLDocument-load", "load-XML", limit: (100_000, "its tree of a million objects would take 14 GB"))
    floor("floor-write") { try CompanyFloors.write(Format.xml.file, $0) }
    kit("save-XML", "floor-write", aim: 2) { try Kit.measureSave(.xml, $0, withoutDisk: false) }
    kit("encode-XML", "floor-write") { try Kit.measureSave(.xml, $0, withoutDisk: true) }
    kit("verified-save-XML", "save-XML") {
      try Kit.measureSave(.xml, $0, withoutDisk: false, verifies: true)
    }
    kit("change-one-XML", "save-XML") { try Kit.measureChange(.xml, $0) }

    section = "property list"
    floor("floor-sqlite-load") { try CompanyFloors.databaseLoad($0) }
    kit("load-BinaryPropertyList", "floor-sqlite-load", aim: 0.35) {
      try Kit.measureLoad(.propertyList, $0, parser: nil)
    }
    kit("inverses", "load-BinaryPropertyList", aim: 0.1) { try Kit.measureInverses($0) }
    other("GRDB-load", "load-BinaryPropertyList")
    other("JSONDecoder-load", "load-BinaryPropertyList")
    other("PropertyListSerialization-load", "load-BinaryPropertyList")
    other("plistlib-load", "load-BinaryPropertyList")
    floor("floor-write-plist") { try CompanyFloors.write(Format.propertyList.file, $0) }
    floor("floor-sqlite-insert") { try CompanyFloors.databaseInsert($0) }
    kit("save-BinaryPropertyList", "floor-sqlite-insert", aim: 0.3) {
      try Kit.measureSave(.propertyList, $0, withoutDisk: false)
    }
    kit("encode-BinaryPropertyList", "floor-sqlite-insert") {
      try Kit.measureSave(.propertyList, $0, withoutDisk: true)
    }
    kit("verified-save-BinaryPropertyList", "save-BinaryPropertyList") {
      try Kit.measureSave(.propertyList, $0, withoutDisk: false, verifies: true)
    }
    kit("change-one-BinaryPropertyList", "save-BinaryPropertyList") { try Kit.measureChange(.propertyList, $0) }
    other("GRDB-save", "save-BinaryPropertyList")
    other("JSONEncoder-save", "save-BinaryPropertyList")
    other(
      "PropertyListSerialization-save", "save-BinaryPropertyList",
      limit: (100_000, "a million objects would take it two minutes and more than 8 GB"))
    other("plistlib-save", "save-BinaryPropertyList")

    section = "Core Data's SQLite store"
    floor("floor-core-data-load") { try CompanyFloors.coreDataLoad($0) }
    kit("load-CoreDataSQLite", "floor-core-data-load", aim: 1.5) { try Kit.measureCoreDataLoad($0) }

    section = "CSV"
    floor("floor-csv") { try CompanyFloors.csv($0) }
    kit("load-CSV", "floor-csv", aim: 3) { try Kit.measureLoad(.csv, $0, parser: nil) }
    other("polars-load", "load-CSV", aim: 0.5)
    other("polars-load-texts", "load-CSV")
    other("python-csv-load", "load-CSV")
    other("SwiftCSV-load", "load-CSV")
    kit("save-CSV", "floor-sqlite-insert") { try Kit.measureSave(.csv, $0, withoutDisk: false) }
    other("polars-save", "save-CSV", aim: 1.1)
    other("python-csv-save", "save-CSV")
    kit("encode-CSV", "floor-sqlite-insert") { try Kit.measureSave(.csv, $0, withoutDisk: true) }
    kit("verified-save-CSV", "save-CSV") {
      try Kit.measureSave(.csv, $0, withoutDisk: false, verifies: true)
    }
    kit("change-one-CSV", "save-CSV") { try Kit.measureChange(.csv, $0) }

    section = "command"
    kit("command-version", seconds: 0.015) { _ in try Kit.measureCommand(["--version"]) }
    kit("command-metadata", seconds: 0.1) { try Kit.measureCommand(["metadata", "get", $0 + "/" + Format.xml.file]) }
    return list
  }()
}

/// The least that the machine can do, in C.
private enum CompanyFloors {
  static func xml(_ folder: String) throws -> Measured { try floor { floor_xml(folder + "/" + Format.xml.file) } }

  static func write(_ file: String, _ folder: String) throws -> Measured {
    try floor { floor_write(folder + "/" + file, folder + "/raw.out") }
  }

  static func csv(_ folder: String) throws -> Measured {
    let paths = csvPaths(folder).map { strdup($0) }
    defer { for path in paths { free(path) } }
    let pointers = paths.map { UnsafePointer($0) } + [nil]
    return try floor { pointers.withUnsafeBufferPointer { floor_csv($0.baseAddress) } }
  }

  static func databaseLoad(_ folder: String) throws -> Measured {
    try floor { floor_sqlite_load(folder + "/company.sqlite") }
  }

  static func coreDataLoad(_ folder: String) throws -> Measured {
    try floor { floor_core_data_load(folder + "/" + Kit.coreDataFile) }
  }

  static func databaseInsert(_ folder: String) throws -> Measured {
    try floor { floor_sqlite_insert(folder + "/company.sqlite", folder + "/insert.sqlite") }
  }
}
