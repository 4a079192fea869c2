import AtomicStoreKit
import CFloors
import Foundation

/// Makes all files that are measured: the stores, and the same data for the floors and the others.
func generate(_ objects: Int, _ folder: String) throws {
  let snapshot = try Company.make(objects)
  for format in Format.allCases { try format.make(snapshot.nodes, at: folder + "/" + format.file) }
  try Kit.makeCoreDataStore(folder)
  let rows = CompanyRows(snapshot.nodes)
  try Others.generate(rows, folder)
  // Last: where it is, the others are.
  try makeDatabase(rows, folder + "/company.sqlite")
}

private func makeDatabase(_ rows: CompanyRows, _ path: String) throws {
  guard let database = sqlite_begin(path) else { throw CocoaError(.fileWriteUnknown) }
  for row in rows.departments { _ = sqlite_named(database, 0, row.id, row.name, Int32(row.name.utf8.count)) }
  for row in rows.projects {
    _ = sqlite_named(database, 1, row.id, row.name, Int32(row.name.utf8.count))
    for member in row.members { _ = sqlite_member(database, row.id, member) }
  }
  for row in rows.employees {
    row.token.withUnsafeBytes { token in
      _ = sqlite_employee(
        database, row.id, row.name, Int32(row.name.utf8.count), row.title, Int32(row.title.utf8.count), row.badge,
        row.rating,
        row.salary, Int32(row.salary.utf8.count), row.hired.timeIntervalSinceReferenceDate, row.active ? 1 : 0,
        token.baseAddress, Int32(token.count), row.department, row.manager ?? 0)
    }
  }
  guard sqlite_end(database) == 1 else { throw CocoaError(.fileWriteUnknown) }
}
