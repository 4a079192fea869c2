import AtomicStoreKit
import BenchmarkSupport
import BuiltInStoreFormats
import CFloors
import Foundation

// What is measured of the kit, through its public interface, on the formats that ship.

/// The files of a store of the benchmark.
enum Format: String, CaseIterable {
  case xml = "XML"
  case propertyList = "BinaryPropertyList"
  case csv = "CSV"

  var file: String {
    switch self {
    case .xml: "company.xml"
    case .propertyList: "company.plist"
    case .csv: "company.csvstore"
    }
  }

  /// Makes a store of all objects of a table.
  func make(_ nodes: NodeTable, at path: String) throws {
    try? FileManager.default.removeItem(atPath: path)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: nodes.model, registry: .builtIn)
    let store = try coordinator.addPersistentStore(type: rawValue, at: path)
    try coordinator.save(store, changes: StoreChanges(inserting: nodes))
  }
}

enum Kit {
  static func load(_ path: String, _ options: StoreOptions = [:]) throws -> (
    PersistentStoreCoordinator, PersistentStore
  ) {
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    return (coordinator, try coordinator.addPersistentStore(at: path, options: options, isReadOnly: true))
  }

  static func measureLoad(_ format: Format, _ folder: String, parser: String?) throws -> Measured {
    var opened: (PersistentStoreCoordinator, PersistentStore)?
    let measured = try timed { opened = try load(folder + "/" + format.file, parser.map { ["parser": $0] } ?? [:]) }
    guard let opened, opened.1.nodes.count > 0 else { throw Failure(message: "nothing was loaded") }
    return measured
  }

  /// The same objects as a Core Data store. Formats that are changed in place are ``Format``.
  static let coreDataFile = "company-coredata.sqlite"

  static func makeCoreDataStore(_ folder: String) throws {
    var converter = StoreConverter(registry: .builtIn)
    converter.targetType = "CoreDataSQLite"
    converter.replacesTarget = true
    // The zeros at the end of salaries.
    converter.allowsLoss = true
    _ = try converter.convert(from: folder + "/" + Format.propertyList.file, to: folder + "/" + coreDataFile)
  }

  static func measureCoreDataLoad(_ folder: String) throws -> Measured {
    var opened: (PersistentStoreCoordinator, PersistentStore)?
    let measured = try timed { opened = try load(folder + "/" + coreDataFile) }
    guard let opened, opened.1.nodes.count > 0 else { throw Failure(message: "nothing was loaded") }
    return measured
  }

  /// What every load includes: whether the two ends of all relationships agree.
  static func measureInverses(_ folder: String) throws -> Measured {
    let (coordinator, store) = try load(folder + "/" + Format.propertyList.file)
    defer { withExtendedLifetime(coordinator) {} }
    let nodes = store.nodes
    var found = 0
    let measured = try timed { found = nodes.inverseDisagreements().count }
    guard found == 0 else { throw Failure(message: "\(found) ends disagree") }
    return measured
  }

  /// A save of the whole store through the coordinator, one number in it changed.
  ///
  /// - Parameter verifies: Whether the save is read back and compared before it takes the place of the store.
  static func measureSave(
    _ format: Format, _ folder: String, withoutDisk: Bool, verifies: Bool = false
  ) throws -> Measured {
    // Without the disk's part: in a file system in memory.
    let target = (withoutDisk ? "/dev/shm/benchmarks-\(getpid())-" : folder + "/saved-") + format.file
    try? FileManager.default.removeItem(atPath: target)
    try FileManager.default.copyItem(atPath: folder + "/" + format.file, toPath: target)
    defer { if withoutDisk { try? FileManager.default.removeItem(atPath: target) } }
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    coordinator.verifiesSaves = verifies
    let store = try coordinator.addPersistentStore(at: target)
    guard let employee = store.model.entity(named: "Employee"), let badge = employee.slot(named: "badge") else {
      throw Failure(message: "no Employee.badge")
    }
    let changed = ManagedObjectSnapshot(
      entity: employee.index, reference: .integer(Int64(store.nodes.count / 2)), values: [badge: .integer(1)])
    return try timed { try coordinator.save(store, changes: StoreChanges(updated: [changed])) }
  }

  /// One number of one object, by its ID, and a save: the store is open, its context new.
  static func measureChange(_ format: Format, _ folder: String) throws -> Measured {
    let path = folder + "/changed-" + format.file
    try link(folder + "/" + format.file, path)
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(Company.description), registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: path)
    let middle = ManagedObjectID(
      storeIdentifier: store.identifier, entityName: "Employee",
      reference: .integer(Int64(store.nodes.count / 2)))
    let measured = try timed {
      let context = ManagedObjectContext(coordinator)
      let employee = try context.existingObject(with: middle)
      try employee.setValue(Int64(1), forKey: "badge")
      try context.save()
    }
    try FileManager.default.removeItem(atPath: path)
    return measured
  }

  /// A second name for a store: a save replaces names, it does not write into files.
  private static func link(_ source: String, _ target: String) throws {
    try? FileManager.default.removeItem(atPath: target)
    // A folder is made, and what it holds linked.
    try FileManager.default.linkItem(atPath: source, toPath: target)
  }

  static func measureConversion(_ folder: String) throws -> Measured {
    var converter = StoreConverter(registry: .builtIn)
    converter.targetType = Format.propertyList.rawValue
    converter.replacesTarget = true
    return try timed {
      _ = try converter.convert(from: folder + "/" + Format.xml.file, to: folder + "/converted.plist")
    }
  }

  /// The quickest of twenty starts of the command: Foundation's Process looks only every few hundredths of a second
  /// whether one has ended. Its memory is another process's, which the system does not tell apart from this one's.
  static func measureCommand(_ arguments: [String]) throws -> Measured {
    guard let command = Options.command else { return .missing("the command was not built beside the benchmarks") }
    let texts = ([command] + arguments).map { strdup($0) }
    defer { for text in texts { free(text) } }
    let pointers = texts.map { UnsafePointer($0) } + [nil]
    let starts = try (0..<20).map { _ in
      try floor { pointers.withUnsafeBufferPointer { command_seconds($0.baseAddress) } }
    }
    var measured = starts.min { $0.seconds < $1.seconds } ?? Measured()
    measured.peak = nil
    return measured
  }
}
