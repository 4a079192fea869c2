import AtomicStoreSPI

/// All that is wrong with the records, and what is needed to find it.
final class ImportDiagnosis {
  /// A record with a key.
  struct Owner {
    var table: Int
    var number: Int
    var line: Int
  }
  /// A field, or a record of a join table, that names a record by its key.
  struct Link {
    var table: Int
    /// The record's number; nil for a record of a join table.
    var number: Int?
    var field: ImportField
    var root: Int
    var destination: Int
    var property: String
    var key: ReferenceObject
    /// The join table, its file's name and the record's number, for one of its records.
    var join: (index: Int, file: String, number: Int)?
    /// For a record of a join table: whether this is the object whose relationship it is. It must be one of the
    /// imported records.
    var isOwner = false
    /// Whether the model requires the relationship: a to-one of the record.
    var isMandatory = false
  }
  private let limit: Int?
  private(set) var problems: [(table: Int, problem: ImportProblem)] = []
  private(set) var isCut = false
  /// Whether a dangling key ends the import.
  private(set) var isRefused = false
  /// By root and key.
  private var owners: [Int: [ReferenceObject: Owner]] = [:]
  /// By the object that a record became.
  private var records: [ObjectReference: Owner] = [:]
  /// Links to records that exist.
  private var knownLinks: [(link: Link, owner: Owner)] = []
  var links: [Link] = []
  /// The keys of records, by table and number, for messages.
  private var keys: [[Int: String]] = []
  /// The bad records, by table.
  private(set) var tables: [RejectedRecords] = []
  /// The bad records of join tables: those that cannot be read, and those that lead to no record, or to one that is
  /// left out.
  private(set) var joins: [RejectedRecords] = []

  init(_ limit: Int?) { self.limit = limit }

  func begin(tables: Int, joins: Int) {
    keys = Array(repeating: [:], count: tables)
    self.tables = Array(repeating: RejectedRecords(), count: tables)
    self.joins = Array(repeating: RejectedRecords(), count: joins)
  }

  func setHeader(_ range: Range<Int>, table: Int) { tables[table].header = range }
  func add(_ range: Range<Int>, table: Int) { tables[table].add(range) }
  func setHeader(_ range: Range<Int>, join: Int) { joins[join].header = range }
  func add(_ range: Range<Int>, join: Int) { joins[join].add(range) }

  /// - Parameters:
  ///   - number: The number of the record that has the problem, if it is one of the table.
  ///   - join: The join table and the number of its record, if it is one of those.
  func add(
    _ problem: ImportProblem, table: Int, number: Int?, join: (index: Int, number: Int)? = nil
  ) throws(ImportStop) {
    if let number { tables[table].reject(number) }
    if let join { joins[join.index].reject(join.number) }
    if let limit, problems.count >= limit {
      isCut = true
      throw .enough
    }
    problems.append((table, problem))
  }

  /// Notes a key.
  ///
  /// - Returns: Who has it already.
  func take(_ key: ReferenceObject, root: Int, _ owner: Owner) -> Owner? {
    if let other = owners[root]?[key] { return other }
    owners[root, default: [:]][key] = owner
    keys[owner.table][owner.number] = key.description
    return nil
  }

  /// Notes which object a record became.
  func note(_ object: ObjectReference, _ owner: Owner) { records[object] = owner }

  /// Adds what is wrong with the finished graph, to the records that it is of: of equal ones to all but the first.
  func add(_ list: [GraphProblem], _ job: ImportJob) {
    for problem in list {
      let found = problem.objects.map { ($0, records[$0]) }.sorted {
        // Objects of the store come before records.
        ($0.1?.table ?? -1, $0.1?.number ?? -1) < ($1.1?.table ?? -1, $1.1?.number ?? -1)
      }
      guard let first = found.first else { continue }
      // No record is the cause alone, as of what is derived from several: none can be left out.
      if found.allSatisfy({ $0.1 == nil }), let plan = job.plans.first {
        try? add(
          ImportProblem(
            kind: problem.kind, file: plan.name, entity: first.0.entityName, key: "\(first.0.reference)",
            property: problem.property, value: String(problem.value.prefix(200)),
            message: (problem.message ?? "'\(problem.value.prefix(60))' is not unique") + ", after the import"),
          table: plan.source, number: nil)
      }
      for (_, owner) in problem.message == nil ? found.dropFirst() : found[...] {
        guard let owner, !tables[owner.table].numbers.contains(owner.number) else { continue }
        let plan = job.plans[owner.table]
        let message = problem.message ?? Self.message(problem, first, plan, job)
        try? add(
          ImportProblem(
            kind: problem.kind, file: plan.name, line: owner.line, entity: plan.entity.name,
            key: keys[owner.table][owner.number], property: problem.property,
            value: String(problem.value.prefix(200)), message: message), table: owner.table, number: owner.number)
      }
    }
    if job.importer.rejectsBadRecords, !list.isEmpty { rejectDependents(knownLinks, job) }
  }

  private static func message(
    _ problem: GraphProblem, _ first: (ObjectReference, Owner?), _ plan: TablePlan, _ job: ImportJob
  ) -> String {
    let start = "'\(problem.value.prefix(60))' is not unique, as the model requires: "
    guard let owner = first.1 else { return start + "\(first.0) in the store has it already" }
    let file = owner.table == plan.source ? "" : job.plans[owner.table].name + ", "
    return start + "\(file)line \(owner.line) has it as well"
  }

  func key(of number: Int, table: Int) -> String? { keys[table][number] }

  /// The records that links name must exist; where bad ones are left out, they must not be among those.
  func checkLinks(_ job: ImportJob) {
    // What names a record that does not exist is bad, unless it is imported without the key.
    let removesKeys = job.importer.danglingKeys.removesKeys
    let roots = Set(job.plans.map(\.entity.root.index))
    var reported: Set<String> = []
    for link in links {
      if let owner = owners[link.root]?[link.key] {
        let entity = job.plans[owner.table].entity
        let destination = job.model.entity(at: link.destination)
        if entity.isKindOf(entity: destination) {
          knownLinks.append((link, owner))
        } else if !removesKeys || link.isMandatory {
          note(link, "\(link.key) is a \(entity.name), not a \(destination.name)", job)
        }
      } else if !link.isOwner, job.exists(link.key, destination: link.destination) {
        continue
      } else if removesKeys, !link.isMandatory {
        continue
      } else if job.importer.existing == nil, !roots.contains(link.root) {
        let name = job.model.entity(at: link.destination).name
        // One problem for all of them, unless each of them is to be left out.
        guard reported.insert("\(link.table) \(link.property)").inserted || job.importer.rejectsBadRecords else {
          continue
        }
        isRefused = job.importer.danglingKeys == .refuse
        note(link, "no table provides \(name), although keys refer to it", job)
      } else {
        isRefused = job.importer.danglingKeys == .refuse
        note(link, "there is no \(job.model.entity(at: link.destination).name) with the key '\(link.key)'", job)
      }
    }
    if job.importer.rejectsBadRecords { rejectDependents(knownLinks, job) }
  }

  /// Rejects what names a record that is left out, what names that, and so on. Each link is visited once: records may
  /// form a long chain.
  private func rejectDependents(_ links: [(link: Link, owner: Owner)], _ job: ImportJob) {
    var byOwner: [[Int: [Int]]] = Array(repeating: [:], count: tables.count)
    for (index, entry) in links.enumerated() {
      byOwner[entry.owner.table][entry.owner.number, default: []].append(index)
    }
    var waiting: [(table: Int, number: Int)] = []
    for table in tables.indices { waiting += tables[table].numbers.sorted().map { (table, $0) } }
    var next = 0
    while next < waiting.count {
      let (table, number) = waiting[next]
      next += 1
      for index in byOwner[table][number] ?? [] {
        let (link, owner) = links[index]
        if isRejected(link) || job.importer.danglingKeys.removesKeys && !link.isMandatory { continue }
        isRefused = job.importer.danglingKeys == .refuse
        note(
          link,
          "\(job.plans[owner.table].entity.name)/\(link.key), which is named here, is left out: line \(owner.line)",
          job)
        if let number = link.number { waiting.append((link.table, number)) }
      }
    }
  }

  private func isRejected(_ link: Link) -> Bool {
    if let join = link.join { return joins[join.index].numbers.contains(join.number) }
    return link.number.map { tables[link.table].numbers.contains($0) } ?? false
  }

  private func note(_ link: Link, _ message: String, _ job: ImportJob) {
    let plan = job.plans[link.table]
    let problem = ImportProblem(
      kind: .reference, file: link.join?.file ?? plan.name, line: link.field.line, column: link.field.column,
      entity: plan.entity.name,
      key: link.number.flatMap { keys[link.table][$0] }, property: link.property, value: link.key.description,
      message: message
        + (link.isMandatory && job.importer.danglingKeys.removesKeys
          ? ", and the model requires a value of '\(link.property)'" : ""))
    try? add(problem, table: link.table, number: link.number, join: link.join.map { ($0.index, $0.number) })
  }

  /// The problems in the order of tables and lines.
  var sorted: [ImportProblem] {
    problems.enumerated().sorted {
      let (one, other) = ($0.element, $1.element)
      return (one.table, one.problem.line ?? 0, one.problem.column ?? 0, $0.offset)
        < (other.table, other.problem.line ?? 0, other.problem.column ?? 0, $1.offset)
    }.map(\.element.problem)
  }
}
