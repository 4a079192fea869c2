import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Folders of CSV") struct CSVFolderTests {
  let folder: CSVFolder
  let store: String

  /// A copy of the sample, to be spoilt.
  init() throws {
    folder = try CSVFolder()
    store = folder.path + "/Company.csvstore"
    try FileManager.default.copyItem(atPath: SampleStores.folder + "/Company/Company.csvstore", toPath: store)
  }

  private func text(_ member: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(filePath: store + "/" + member)), as: UTF8.self)
  }
  private func write(_ text: String, to member: String) throws {
    try Data(text.utf8).write(to: URL(filePath: store + "/" + member))
  }
  private func edit(_ member: String, _ old: String, _ new: String) throws {
    let before = try text(member)
    try #require(before.contains(old))
    try write(before.replacingOccurrences(of: old, with: new), to: member)
  }

  @Test("a file that does not belong to the store is refused by name, and ignored if edits are accepted")
  func extraMember() throws {
    try write("id:Reference\n", to: "Extra.csv")
    let error = try OpenCSV.failure(store)
    #expect(error.code == .changedOnDisk && error.location.file == store + "/Extra.csv", "\(error)")
    #expect(try OpenCSV(store, ["edited": "accept"], isReadOnly: true).store.nodes.count > 0)
  }

  @Test(
    "a member that is missing is refused by its name, accepted edits or not", arguments: [[:], ["edited": "accept"]])
  func missingMember(_ options: StoreOptions) throws {
    try FileManager.default.removeItem(atPath: store + "/Project.csv")
    let error = try OpenCSV.failure(store, options)
    #expect(error.code == .notFound && error.location.file == store + "/Project.csv", "\(error)")
  }

  @Test("a directory without its metadata is not a store")
  func noMetadata() throws {
    try FileManager.default.removeItem(atPath: store + "/metadata.plist")
    #expect(try OpenCSV.failure(store).code == .foreignFormat)
  }

  @Test(
    "any change of a member is noticed", arguments: ["Department.csv", "Employee.csv", "Manager.csv", "Project.csv"])
  func edited(_ member: String) throws {
    let before = try text(member)
    for changed in [before + " ", String(before.dropLast()), before.replacingOccurrences(of: "e", with: "3")] {
      try write(changed, to: member)
      let error = try OpenCSV.failure(store)
      #expect(error.code == .changedOnDisk && error.location.file == store + "/" + member, "\(error)")
    }
    try write(before, to: member)
    #expect(try OpenCSV(store, isReadOnly: true).store.nodes.count > 0)
  }

  @Test("an accepted edit is in the store, and the next save needs no acceptance")
  func acceptedEdit() throws {
    let name = try #require(try OpenCSV(store, isReadOnly: true).store.nodes.model.entity(named: "Department"))
    let slot = try #require(name.slot(named: "name"))
    let first = try #require(try OpenCSV(store, isReadOnly: true).references(of: name).first)
    let before = try OpenCSV(store, isReadOnly: true).value("name", of: first, in: "Department")
    guard case .string(let old) = before else { return }
    try edit("Department.csv", old, "Edited")
    let open = try OpenCSV(store, ["edited": "accept"])
    #expect(try open.value("name", of: first, in: "Department") == .string("Edited"))
    let change = ManagedObjectSnapshot(entity: name.index, reference: first, values: [slot: .string("Saved")])
    try open.coordinator.save(open.store, changes: StoreChanges(updated: [change]))
    #expect(try OpenCSV(store, isReadOnly: true).value("name", of: first, in: "Department") == .string("Saved"))
  }

  @Test(
    "an accepted edit must still make sense",
    arguments: [
      ("id:Reference", "id:Refer"), (":String", ":Strong"), ("name:String", "nome:String"),
    ])
  func nonsense(_ old: String, _ new: String) throws {
    try edit("Department.csv", old, new)
    let error = try OpenCSV.failure(store, ["edited": "accept"])
    #expect([.malformed, .modelMismatch].contains(error.code), "\(error)")
    #expect(error.location.file == store + "/Department.csv" && error.location.line == 1, "\(error)")
  }

  @Test(
    "metadata that is not what it should be is refused with its file",
    arguments: [
      ("<string>AtomicStore CSV</string>", "<string>AtomicStore TSV</string>"),
      ("<integer>1</integer>", "<integer>2</integer>"),
      ("<key>UUID</key>", "<key>UUJD</key>"), ("<key>model</key>", "<key>modal</key>"),
      ("<key>lastReference</key>", "<key>lost</key>"), ("<key>digest</key>", "<key>digust</key>"), ("</plist>", ""),
      ("<key>version</key>", "<key>vision</key>"),
    ])
  func badMetadata(_ old: String, _ new: String) throws {
    try edit("metadata.plist", old, new)
    let error = try OpenCSV.failure(store)
    #expect(error.location.file?.hasPrefix(store) == true, "\(error)")
    #expect([.malformed, .unsupportedVersion, .foreignFormat].contains(error.code), "\(error)")
  }

  @Test(
    "a member outside the directory is not read, whatever the metadata contains",
    arguments: ["../Department.csv", "/etc/passwd", "", ".", "metadata.plist"])
  func elsewhere(_ name: String) throws {
    try FileManager.default.copyItem(atPath: store + "/Department.csv", toPath: folder.path + "/Department.csv")
    try edit("metadata.plist", "<string>Department.csv</string>", "<string>\(name)</string>")
    let error = try OpenCSV.failure(store, ["edited": "accept"])
    #expect([.notFound, .malformed, .changedOnDisk].contains(error.code), "\(error)")
  }

  @Test("a member that is a link does not belong to the store")
  func link() throws {
    try FileManager.default.moveItem(atPath: store + "/Department.csv", toPath: folder.path + "/Department.csv")
    try FileManager.default.createSymbolicLink(
      atPath: store + "/Department.csv", withDestinationPath: folder.path + "/Department.csv")
    let error = try OpenCSV.failure(store)
    #expect(error.code == .notFound && error.location.file == store + "/Department.csv", "\(error)")
  }

  @Test("a member cut anywhere is refused with its name, even where edits are accepted, or it is a shorter file")
  func truncated() throws {
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: store + "/Employee.csv")))
    for length in stride(from: 0, to: bytes.count, by: 7) {
      try Data(bytes[..<length]).write(to: URL(filePath: store + "/Employee.csv"))
      #expect(try OpenCSV.failure(store).location.file == store + "/Employee.csv")
      do {
        _ = try OpenCSV(store, ["edited": "accept"], isReadOnly: true)
      } catch {
        // A manager or a project may miss an employee, who then is named in its file.
        let error = try #require(error as? PersistentStoreError)
        #expect(error.location.file?.hasPrefix(store + "/") == true, "\(length): \(error)")
      }
    }
  }

  @Test("metadata cut anywhere is refused")
  func truncatedMetadata() throws {
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: store + "/metadata.plist")))
    for length in stride(from: 0, to: bytes.count - 1, by: 61) {
      try Data(bytes[..<length]).write(to: URL(filePath: store + "/metadata.plist"))
      #expect(try OpenCSV.failure(store).location.file?.hasPrefix(store) == true)
    }
  }
}
