import AtomicStoreSPI

/// One import, pass by pass.
///
/// The first pass builds the graph and ends at the first problem. Then a second pass looks for all problems, with an
/// index of keys that the first one does without; and where bad records are to be left out, a third one builds the
/// graph of the others.
struct ImportRun {
  private var job: ImportJob

  init(_ job: ImportJob) { self.job = job }

  mutating func result() throws -> StoreImporter.Result {
    while true {
      do {
        return try build(skipping: nil, problems: [])
      } catch ImportStop.textKeys(let root) {
        job.textKeyRoots.insert(root)
      } catch ImportStop.problem {
        return try diagnosed(nil)
      } catch let error as PersistentStoreError where Self.mayBeOfRecords(error) {
        return try diagnosed(error)
      }
    }
  }

  /// Whether an error that ended the building of the graph may be that of records, which can all be named.
  private static func mayBeOfRecords(_ error: PersistentStoreError) -> Bool {
    [.danglingReference, .duplicateReference, .malformed, .inverseMismatch].contains(error.code)
  }

  /// Looks for all problems.
  ///
  /// - Parameter cause: What led here; thrown where no record is bad.
  private mutating func diagnosed(_ cause: PersistentStoreError?) throws -> StoreImporter.Result {
    while true {
      let pass = ImportPass(job, diagnosis: ImportDiagnosis(job.importer.maximumProblemCount), skipping: nil)
      do {
        try pass.readAll()
      } catch ImportStop.textKeys(let root) {
        job.textKeyRoots.insert(root)
        continue
      } catch ImportStop.enough {
      }
      guard let diagnosis = pass.diagnosis else { throw ImportStop.problem }
      diagnosis.checkLinks(job)
      let problems = diagnosis.sorted
      guard !problems.isEmpty else { throw cause ?? ImportStop.problem }
      guard job.importer.rejectsBadRecords, !diagnosis.isCut, !problems.contains(where: { $0.line == nil }) else {
        throw ImportError(problems: problems, isCut: diagnosis.isCut)
      }
      var result = try build(skipping: diagnosis, problems: problems)
      for (index, numbers) in diagnosis.rejected.enumerated() where !numbers.isEmpty {
        result.tables[index].rejectedCount = numbers.count
        result.tables[index].rejected = diagnosis.text(of: numbers, table: index, job.texts[index])
      }
      return result
    }
  }

  private func build(skipping: ImportDiagnosis?, problems: [ImportProblem]) throws -> StoreImporter.Result {
    let pass = ImportPass(job, diagnosis: nil, skipping: skipping)
    try pass.readAll()
    let nodes = try pass.finish()
    var tables: [StoreImporter.Table] = []
    for (index, plan) in job.plans.enumerated() {
      tables.append(
        StoreImporter.Table(
          file: plan.name, entityName: plan.entity.name, count: pass.counts[index],
          keyColumns: plan.keyColumns.map { plan.columnNames[$0] }, ignoredColumns: plan.ignoredColumns,
          rejectedCount: 0, rejected: []))
    }
    return StoreImporter.Result(
      nodes: try nodes.canonical(), tables: tables, notes: job.inference + pass.nodes.notes, problems: problems)
  }
}
