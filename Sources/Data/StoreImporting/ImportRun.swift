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
        return try build(nil)
      } catch ImportStop.textKeys(let root) {
        job.textKeyRoots.insert(root)
      } catch ImportStop.problem {
        return try diagnosed(nil)
      } catch ImportStop.graph(let problems) {
        return try diagnosed(nil, problems)
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
  /// - Parameters:
  ///   - cause: What led here; thrown where no record is bad.
  ///   - graph: What is wrong with the finished graph, if it could be finished.
  private mutating func diagnosed(
    _ cause: PersistentStoreError?, _ graph: [GraphProblem] = []
  ) throws -> StoreImporter.Result {
    while true {
      let pass = ImportPass(job, diagnosis: ImportDiagnosis(job.maximumProblemCount), skipping: nil)
      do {
        try pass.readAll()
      } catch ImportStop.textKeys(let root) {
        job.textKeyRoots.insert(root)
        continue
      } catch ImportStop.enough {
      }
      guard let diagnosis = pass.diagnosis else { throw ImportStop.problem }
      diagnosis.checkLinks(job)
      diagnosis.add(graph, job)
      let mayReject = job.importer.rejectsBadRecords
      // The other records may be wrong together. If they cannot be read without the bad ones, that is not known.
      if !mayReject, graph.isEmpty,
        case .failure(ImportStop.graph(let more)) = Result(catching: { try build(diagnosis) })
      {
        diagnosis.add(more, job)
      }
      while true {
        let problems = diagnosis.sorted
        guard !problems.isEmpty else {
          throw cause
            ?? PersistentStoreError(.internalInconsistency, "the tables cannot be imported, and no problem was found")
        }
        guard mayReject, !diagnosis.isCut, !diagnosis.isRefused, !problems.contains(where: { $0.line == nil }) else {
          throw ImportError(problems: problems, isCut: diagnosis.isCut)
        }
        do {
          var result = try build(diagnosis, problems: problems)
          keepRejected(diagnosis, &result)
          return result
        } catch ImportStop.graph(let more) {
          let count = problems.count
          diagnosis.add(more, job)
          guard diagnosis.problems.count > count || diagnosis.isCut else { throw ImportStop.graph(more) }
        }
      }
    }
  }

  /// Puts the records that were left out into the result.
  private func keepRejected(_ diagnosis: ImportDiagnosis, _ result: inout StoreImporter.Result) {
    let conventions = job.importer.conventions
    for (index, records) in diagnosis.tables.enumerated() where !records.numbers.isEmpty {
      result.tables[index].rejectedCount = records.numbers.count
      result.tables[index].rejected = records.text(job.texts[index], of: job.sources[index], conventions)
    }
    for (index, records) in diagnosis.joins.enumerated() where !records.numbers.isEmpty {
      result.joinTables[index].rejectedCount = records.numbers.count
      result.joinTables[index].rejected = records.text(
        job.joinTexts[index], of: job.importer.joinTables[index].source, conventions)
    }
  }

  /// The graph of a pass. Of ends that contradict each other all are found.
  private func graph(_ pass: ImportPass, _ skipping: ImportDiagnosis?) throws -> NodeTable {
    if pass.needsReconciliation { return try pass.reconciled(pass.finish()) }
    let nodes = try finished(pass, skipping)
    pass.reconciliationNotes += try RelationshipRuleCheck(nodes, pass.stated, since: nil).run()
    return nodes
  }

  private func finished(_ pass: ImportPass, _ skipping: ImportDiagnosis?) throws -> NodeTable {
    do throws(PersistentStoreError) {
      return try pass.finish()
    } catch {
      guard error.code == .inverseMismatch else { throw error }
      let again = ImportPass(job, diagnosis: nil, skipping: skipping)
      try again.readAll()
      let problems = try again.finish(.asStored).inverseDisagreements().map { disagreement in
        GraphProblem.disagreement(
          of: disagreement.object, disagreement.property, with: disagreement.other, disagreement.inverse)
      }
      guard !problems.isEmpty else { throw error }
      throw ImportStop.graph(problems)
    }
  }

  private func build(_ skipping: ImportDiagnosis?, problems: [ImportProblem] = []) throws -> StoreImporter.Result {
    let pass = ImportPass(job, diagnosis: nil, skipping: skipping)
    try pass.readAll()
    var check = ImportGraphCheck(job, try graph(pass, skipping).canonical())
    let nodes = try check.run()
    var tables: [StoreImporter.Table] = []
    for (index, plan) in job.plans.enumerated() {
      tables.append(
        StoreImporter.Table(
          file: plan.name, entityName: plan.entity.name, count: pass.counts[index],
          keyColumns: plan.keyColumns.map { plan.columnNames[$0] }, ignoredColumns: plan.ignoredColumns,
          rejectedCount: 0, rejected: []))
    }
    let joins = zip(job.importer.joinTables, pass.joinCounts).map { join, count in
      StoreImporter.Table(
        file: join.source.name, entityName: join.entityName, count: count,
        keyColumns: join.columns, ignoredColumns: [], rejectedCount: 0, rejected: [])
    }
    return StoreImporter.Result(
      nodes: nodes, tables: tables, joinTables: joins,
      notes: job.inference + job.missingColumns(counts: pass.counts) + pass.nodes.notes + pass.reconciliationNotes,
      problems: problems,
      danglingReferences: pass.danglingReferences.merging(pass.nodes.keptReferences) { $0 + $1 })
  }
}
