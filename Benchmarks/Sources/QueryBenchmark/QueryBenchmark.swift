import AtomicStoreKit
import AtomicStoreSPI
import Foundation

// One process, all sides in turn within a round: what counts is the ratio within a round. Each answer is compared
// with the others' first.

/// What every side is asked, in its own words.
struct Query {
  var name: String
  var format: String?
  var sort: [SortKey] = []
  /// After `FROM employee`.
  var sql: String
  /// How many, or the numbers in order.
  var closure: ([Employee]) -> Answer
  var foundation: ([Employee]) throws -> Answer
}

enum Answer: Equatable {
  case count(Int)
  /// Sums up which people stand where.
  case order(UInt64, Int)

  init(ordered numbers: some Sequence<Int>) {
    var sum: UInt64 = 14_695_981_039_346_656_037
    var count = 0
    for number in numbers {
      sum = (sum ^ UInt64(number)) &* 1_099_511_628_211
      count += 1
    }
    self = .order(sum, count)
  }
}

/// A person with a number, so that `SortDescriptor` and closures give back what was sorted.
struct Ranked {
  var number: Int
  var name: String
  var rating: Double
}

func makeQueries() -> [Query] {
  func counted(
    _ name: String, _ format: String, _ sql: String, _ predicate: Predicate<Employee>,
    _ closure: @escaping ([Employee]) -> Int
  ) -> Query {
    Query(
      name: name, format: format, sql: sql, closure: { .count(closure($0)) },
      foundation: { staff in
        var count = 0
        for employee in staff where try predicate.evaluate(employee) { count += 1 }
        return .count(count)
      })
  }
  func sorted(
    _ name: String, _ format: String?, _ sort: [SortKey], _ sql: String, _ predicate: Predicate<Employee>?,
    _ descriptors: [SortDescriptor<Ranked>], where test: @escaping (Employee) -> Bool,
    by before: @escaping (Ranked, Ranked) -> Bool
  ) -> Query {
    Query(
      name: name, format: format, sort: sort, sql: sql,
      closure: { staff in
        var found: [Ranked] = []
        for (number, employee) in staff.enumerated() where test(employee) {
          found.append(Ranked(number: number, name: employee.name, rating: employee.rating))
        }
        found.sort(by: before)
        return Answer(ordered: found.lazy.map(\.number))
      },
      foundation: { staff in
        var found: [Ranked] = []
        for (number, employee) in staff.enumerated() where try predicate?.evaluate(employee) ?? true {
          found.append(Ranked(number: number, name: employee.name, rating: employee.rating))
        }
        return Answer(ordered: found.sorted(using: descriptors).lazy.map(\.number))
      })
  }
  let engineers = #Predicate<Employee> { $0.rating > 2.5 && $0.title == "Engineer" && $0.active }
  let ranges = #Predicate<Employee> { $0.badge >= 100_000 && $0.badge <= 700_000 && $0.rating <= 4 && !$0.active }
  let byName = [SortDescriptor(\Ranked.name, comparator: .lexical)]
  let byRating = [SortDescriptor(\Ranked.rating, order: .reverse), SortDescriptor(\Ranked.name, comparator: .lexical)]
  let ratingThenName: (Ranked, Ranked) -> Bool = { $0.rating != $1.rating ? $0.rating > $1.rating : $0.name < $1.name }
  return [
    counted(
      "count: number, text and flag", "rating > 2.5 AND title == 'Engineer' AND active == YES",
      "WHERE rating > 2.5 AND title = 'Engineer' AND active = 1", engineers
    ) { $0.count { $0.rating > 2.5 && $0.title == "Engineer" && $0.active } },
    counted(
      "count: ranges of numbers", "badge BETWEEN {100000, 700000} AND rating <= 4 AND active == NO",
      "WHERE badge BETWEEN 100000 AND 700000 AND rating <= 4 AND active = 0", ranges
    ) { $0.count { $0.badge >= 100_000 && $0.badge <= 700_000 && $0.rating <= 4 && !$0.active } },
    counted(
      "count: CONTAINS and a number", "name CONTAINS 'Garcia 1' AND rating > 2.5",
      "WHERE instr(name, 'Garcia 1') > 0 AND rating > 2.5",
      #Predicate<Employee> { $0.name.contains("Garcia 1") && $0.rating > 2.5 }
    ) { $0.count { $0.name.contains("Garcia 1") && $0.rating > 2.5 } },
    counted(
      "count: OR, NOT and BEGINSWITH", "(title BEGINSWITH 'Director' OR rating < 0.5) AND NOT (active == YES)",
      "WHERE (substr(title, 1, 8) = 'Director' OR rating < 0.5) AND NOT (active = 1)",
      #Predicate<Employee> { ($0.title.starts(with: "Director") || $0.rating < 0.5) && !$0.active }
    ) { $0.count { ($0.title.hasPrefix("Director") || $0.rating < 0.5) && !$0.active } },
    counted(
      "count: equality of a string", "office == 'Department 7'", "WHERE office = 'Department 7'",
      #Predicate<Employee> { $0.office == "Department 7" }
    ) { $0.count { $0.office == "Department 7" } },
    counted(
      "count: the same, of the department's name", "department.name == 'Department 7'",
      "JOIN department ON department.id = employee.department WHERE department.name = 'Department 7'",
      #Predicate<Employee> { $0.department.name == "Department 7" }
    ) { $0.count { $0.department.name == "Department 7" } },
    sorted(
      "filtered, sorted by name", "rating > 2.5 AND title == 'Engineer' AND active == YES", [SortKey("name")],
      "WHERE rating > 2.5 AND title = 'Engineer' AND active = 1 ORDER BY name", engineers, byName,
      where: { $0.rating > 2.5 && $0.title == "Engineer" && $0.active }, by: { $0.name < $1.name }),
    sorted(
      "filtered, by rating down, then name", "badge BETWEEN {100000, 700000} AND rating <= 4 AND active == NO",
      [SortKey("rating", isAscending: false), SortKey("name")],
      "WHERE badge BETWEEN 100000 AND 700000 AND rating <= 4 AND active = 0 ORDER BY rating DESC, name", ranges,
      byRating,
      where: { $0.badge >= 100_000 && $0.badge <= 700_000 && $0.rating <= 4 && !$0.active }, by: ratingThenName),
    sorted(
      "all, sorted by name", nil, [SortKey("name")], "ORDER BY name", nil, byName, where: { _ in true },
      by: { $0.name < $1.name }),
    sorted(
      "all, by rating down, then name", nil, [SortKey("rating", isAscending: false), SortKey("name")],
      "ORDER BY rating DESC, name",
      nil, byRating, where: { _ in true }, by: ratingThenName),
  ]
}

@main
enum QueryBenchmark {
  static func value(_ name: String) -> String? {
    let arguments = CommandLine.arguments
    return arguments.firstIndex(of: name).flatMap { arguments.indices.contains($0 + 1) ? arguments[$0 + 1] : nil }
  }

  static func timed(_ body: () throws -> Answer) rethrows -> (seconds: Double, answer: Answer) {
    let start = ContinuousClock.now
    let answer = try body()
    let parts = (ContinuousClock.now - start).components
    return (Double(parts.seconds) + Double(parts.attoseconds) * 1e-18, answer)
  }

  static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

  static func main() throws {
    let count = value("--objects").flatMap { Int($0) } ?? 1_000_000
    let rounds = max(1, value("--rounds").flatMap { Int($0) } ?? 5)
    // `--only TEXT` for the queries whose name has it, `--side kit` for one side: to look at with a profiler.
    let only = value("--only")
    let chosen = value("--side")
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("query-benchmark-\(UUID().uuidString)")
      .path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let staff = Staff.make(count)
    // What an index changes, by itself.
    if CommandLine.arguments.contains("--indexed") { return try Indexed.run(staff, folder) }
    let context = try Staff.makeContext(staff, folder)
    let database = try Database(staff, folder)
    let asked = makeQueries().filter { only == nil || $0.name.contains(only ?? "") }

    let sides: [String] = ["kit", "SQLite", "closure", "Foundation"].filter { chosen == nil || $0 == chosen }
    var seconds = [[String: [Double]]](repeating: [:], count: asked.count)
    for _ in 0..<rounds {
      for (place, query) in asked.enumerated() {
        var answers: [String: Answer] = [:]
        for side in sides {
          func run() throws -> (seconds: Double, answer: Answer) {
            try timed {
              switch side {
              case "kit": try kit(query, context)
              case "SQLite": try sqlite(query, database)
              case "closure": query.closure(staff)
              default: try query.foundation(staff)
              }
            }
          }
          let (first, answer) = try run()
          var time = first
          // What takes a few milliseconds is at the mercy of what else the machine does: the best of several tries
          // counts.
          if time < 0.05 { for _ in 0..<9 { time = min(time, try run().seconds) } }
          seconds[place][side, default: []].append(time)
          answers[side] = answer
        }
        guard Set(answers.values.map { "\($0)" }).count == 1 else {
          throw Failure(message: "\(query.name): \(answers)")
        }
      }
    }

    print(
      "\(count) objects, \(rounds) rounds: median (minimum) in ms; ratios of the kit to the others, median over the rounds\n"
    )
    print("| | kit | SQLite | closure | Foundation | kit : SQLite | kit : closure | Foundation : kit |")
    print("|---|---|---|---|---|---|---|---|")
    for (query, times) in zip(asked, seconds) {
      func cell(_ side: String) -> String {
        guard let all = times[side], let least = all.min() else { return "" }
        return String(format: "%.1f (%.1f)", median(all) * 1000, least * 1000)
      }
      func ratio(_ one: String, _ other: String) -> String {
        guard let a = times[one], let b = times[other] else { return "" }
        return String(format: "%.2f", median(zip(a, b).map { $0 / $1 }))
      }
      print(
        "| \(query.name) | \(cell("kit")) | \(cell("SQLite")) | \(cell("closure")) | \(cell("Foundation")) "
          + "| \(ratio("kit", "SQLite")) | \(ratio("kit", "closure")) | \(ratio("Foundation", "kit")) |")
    }
    if let plain = asked.firstIndex(where: { $0.name.hasSuffix("plain") }), asked.indices.contains(plain + 1),
      let a = seconds[plain + 1]["kit"], let b = seconds[plain]["kit"]
    {
      print(String(format: "\nthrough the relationship : plain %.2f", median(zip(a, b).map { $0 / $1 })))
    }
  }

  static func kit(_ query: Query, _ context: ManagedObjectContext) throws -> Answer {
    let request = FetchRequest<ManagedObject>(
      entityName: "Employee", predicate: try query.format.map { try FetchPredicate(format: $0) }, sortKeys: query.sort)
    if query.sort.isEmpty { return .count(try context.count(for: request)) }
    return Answer(
      ordered: try context.fetchObjectIDs(request).lazy.map { id in
        if case .integer(let number)? = id.reference { Int(number) - Staff.departments - 1 } else { -1 }
      })
  }

  static func sqlite(_ query: Query, _ database: Database) throws -> Answer {
    if query.sort.isEmpty {
      return .count(Int(try database.integers("SELECT COUNT(*) FROM employee " + query.sql).first ?? -1))
    }
    return Answer(
      ordered: try database.integers("SELECT id FROM employee " + query.sql).lazy.map {
        Int($0) - Staff.departments - 1
      })
  }
}
