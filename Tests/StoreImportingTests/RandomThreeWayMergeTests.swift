import AtomicStoreSPI
import StoreImporting
import StoreMaintenance
import TestSupport
import Testing

@Suite("Merging random changes of two sides to a base") struct RandomThreeWayMergeTests {
  /// A graph, small and in plain values.
  private struct Firm: Equatable {
    struct Emp: Equatable {
      var name: String
      var dept: Int64?
      var skills: Set<Int64>
    }
    var depts: [Int64: String] = [:]
    var emps: [Int64: Emp] = [:]
    var skills: [Int64: String] = [:]

    func emps(withSkill skill: Int64) -> Set<Int64> { Set(emps.filter { $0.value.skills.contains(skill) }.keys) }

    func nodes(isDeptRequired: Bool) throws -> NodeTable {
      var importer = StoreImporter()
      importer.model = try StaffSample.model(required: isDeptRequired ? ["Emp.dept"] : [])
      func rows<Value>(_ values: [Int64: Value], _ text: (Value) -> String) -> String {
        values.sorted { $0.key < $1.key }.map { "\($0.key),\(text($0.value))\n" }.joined()
      }
      return try importer.read(
        StaffSample.tables([
          "Dept": "id,name\n" + rows(depts) { $0 }, "Skill": "id,name\n" + rows(skills) { $0 },
          "Emp": "id,name,dept,skills\n"
            + rows(emps) {
              "\($0.name),\($0.dept.map(\.description) ?? ""),"
                + $0.skills.sorted().map(\.description).joined(separator: " ")
            },
        ])
      ).nodes
    }

    init() {}

    init(_ nodes: NodeTable) throws {
      func references(_ entity: String) throws -> [Int64] {
        let index = try #require(nodes.model.entity(named: entity)).index
        return nodes.handles(of: index).compactMap {
          if case .integer(let number) = nodes.reference(of: $0) { number } else { nil }
        }
      }
      func name(_ entity: String, _ reference: Int64) throws -> String {
        if case .string(let text) = try nodes.value(entity, reference, "name") { text } else { "" }
      }
      for number in try references("Dept") { depts[number] = try name("Dept", number) }
      for number in try references("Skill") { skills[number] = try name("Skill", number) }
      for number in try references("Emp") {
        emps[number] = Emp(
          name: try name("Emp", number), dept: try nodes.references("Emp", number, "dept").first,
          skills: Set(try nodes.references("Emp", number, "skills")))
      }
    }
  }

  // MARK: Changes

  private static func base(_ random: inout SeededGenerator) -> Firm {
    var firm = Firm()
    for number in 1...3 as ClosedRange<Int64> {
      firm.depts[number] = "d"
      firm.skills[number] = "s"
    }
    for number in 1...4 as ClosedRange<Int64> {
      firm.emps[number] = .init(name: "e", dept: .random(in: 1...3, using: &random), skills: skills(firm, &random))
    }
    return firm
  }

  private static func skills(_ firm: Firm, _ random: inout SeededGenerator) -> Set<Int64> {
    Set(firm.skills.keys.sorted().filter { _ in Bool.random(using: &random) })
  }

  /// - Parameter first: The first reference of new objects.
  private static func changed(
    _ base: Firm, new first: Int64, isDeptRequired: Bool, _ random: inout SeededGenerator
  ) -> Firm {
    var firm = base
    func pick<Value>(_ values: [Int64: Value]) -> Int64? { values.keys.sorted().randomElement(using: &random) }
    func otherDept(than dept: Int64) -> Int64? { pick(firm.depts.filter { $0.key != dept }) }
    for number in 0..<Int64.random(in: 0...5, using: &random) {
      switch Int.random(in: 0..<9, using: &random) {
      case 0: pick(firm.depts).map { firm.depts[$0] = "d\(first)" }
      case 1: pick(firm.skills).map { firm.skills[$0] = "s\(first)" }
      case 2: pick(firm.emps).map { firm.emps[$0]?.name = "e\(first)" }
      case 3:
        let dept = isDeptRequired || Int.random(in: 0..<4, using: &random) > 0 ? pick(firm.depts) : nil
        if dept == nil && isDeptRequired { continue }
        pick(firm.emps).map { firm.emps[$0]?.dept = dept }
      case 4:
        let list = skills(firm, &random)
        pick(firm.emps).map { firm.emps[$0]?.skills = list }
      case 5:
        guard let gone = pick(firm.depts) else { continue }
        let isCascade = Bool.random(using: &random)
        let next = isDeptRequired ? otherDept(than: gone) : nil
        if isDeptRequired, !isCascade, next == nil { continue }
        firm.depts[gone] = nil
        for (emp, value) in firm.emps where value.dept == gone {
          if isCascade { firm.emps[emp] = nil } else { firm.emps[emp]?.dept = next }
        }
      case 6:
        guard let gone = pick(firm.skills) else { continue }
        firm.skills[gone] = nil
        for emp in firm.emps.keys { firm.emps[emp]?.skills.remove(gone) }
      case 7: pick(firm.emps).map { firm.emps[$0] = nil }
      default:
        firm.depts[first + number] = "new"
        let dept = pick(firm.depts)
        firm.emps[first + number] = .init(name: "new", dept: dept, skills: skills(firm, &random))
      }
    }
    return firm
  }

  // MARK: What is to be expected

  /// The changes of both, where the winner decides.
  private static func merged(_ base: Firm, _ winner: Firm, _ loser: Firm) -> Firm {
    func value<Value: Equatable>(_ old: Value, _ mine: Value, _ theirs: Value) -> Value { mine != old ? mine : theirs }
    // What the winner deleted is gone. What the loser deleted is kept where the winner changed or used it.
    var depts = base.depts.filter { number, name in
      guard let mine = winner.depts[number] else { return false }
      return loser.depts[number] != nil || mine != name
        || winner.emps.contains { $0.value.dept == number && base.emps[$0.key]?.dept != number }
    }
    let skills = base.skills.filter { number, name in
      guard let mine = winner.skills[number] else { return false }
      return loser.skills[number] != nil || mine != name
        || winner.emps(withSkill: number) != base.emps(withSkill: number)
    }
    let emps = base.emps.filter { number, old in
      winner.emps[number].map { loser.emps[number] != nil || $0 != old } ?? false
    }
    var result = Firm()
    while true {
      result = Firm()
      for (number, old) in depts { result.depts[number] = value(old, winner.depts[number], loser.depts[number] ?? old) }
      for (number, old) in skills {
        result.skills[number] = value(old, winner.skills[number], loser.skills[number] ?? old)
      }
      for (number, old) in emps {
        guard let mine = winner.emps[number] else { continue }
        var theirs = loser.emps[number] ?? mine
        // The loser's values as they would be without deletions that were not taken, and with those that were.
        if let dept = theirs.dept, base.depts[dept] != nil, winner.depts[dept] == nil { theirs.dept = old.dept }
        if theirs.dept == nil, let dept = old.dept, depts[dept] != nil, loser.depts[dept] == nil { theirs.dept = dept }
        theirs.skills.formUnion(old.skills.filter { skills[$0] != nil && loser.skills[$0] == nil })
        result.emps[number] = .init(
          name: value(old.name, mine.name, theirs.name), dept: value(old.dept, mine.dept, theirs.dept),
          skills: mine.skills.intersection(theirs.skills).union(mine.skills.subtracting(old.skills))
            .union(theirs.skills.subtracting(old.skills)))
      }
      for side in [winner, loser] {
        for (number, name) in side.depts where base.depts[number] == nil { result.depts[number] = name }
        for (number, emp) in side.emps where base.emps[number] == nil {
          result.emps[number] = emp
          if side == loser, let dept = emp.dept, base.depts[dept] != nil, winner.depts[dept] == nil {
            result.emps[number]?.dept = nil
          }
        }
      }
      let missing = result.emps.values.compactMap(\.dept).filter { result.depts[$0] == nil }
      // What a value of the winner needs is kept, too.
      let more = missing.filter { winner.depts[$0] != nil }
      if more.isEmpty { break }
      for dept in more { depts[dept] = base.depts[dept] }
    }
    for number in result.emps.keys {
      if let known = result.emps[number]?.skills {
        result.emps[number]?.skills = known.filter { result.skills[$0] != nil }
      }
    }
    return result
  }

  @Test(
    "each value is that of one side, a mirrored merge has the mirrored result, and required values are never lost",
    arguments: 1...150)
  func threeWay(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for isDeptRequired in [false, true] {
      let base = Self.base(&random)
      let one = Self.changed(base, new: 10, isDeptRequired: isDeptRequired, &random)
      let two = Self.changed(base, new: 20, isDeptRequired: isDeptRequired, &random)
      let graphs = try [base, one, two].map { try $0.nodes(isDeptRequired: isDeptRequired) }
      for isFirst in [true, false] {
        let expected = isFirst ? Self.merged(base, one, two) : Self.merged(base, two, one)
        let cause: Comment = "\(seed), \(isFirst ? "first" : "second") wins\n\(base)\n\(one)\n\(two)"
        let isLost = isDeptRequired && expected.emps.contains { $0.value.dept == nil }
        let direct = try Self.merge(graphs, isFirst ? .first : .last)
        let mirrored = try Self.merge([graphs[0], graphs[2], graphs[1]], isFirst ? .last : .first)
        if isLost {
          #expect(direct == nil && mirrored == nil, cause)
          continue
        }
        let nodes = try #require(direct, cause)
        #expect(try Firm(nodes) == expected, cause)
        #expect(StoreCheck(registry: StoreRegistry()).check(nodes).isSound, cause)
        let other = try #require(mirrored, cause)
        #expect(try Firm(other) == expected, cause)
        for dept in expected.depts.keys {
          #expect(try nodes.references("Dept", dept, "emps") == other.references("Dept", dept, "emps"), cause)
        }
      }
    }
  }

  @Test("an object that many others name is merged in time proportional to their number")
  func hub() throws {
    func seconds(_ count: Int64) throws -> Double {
      var base = Firm()
      base.skills[1] = "s"
      for number in 1...count { base.emps[number] = .init(name: "e", dept: nil, skills: [1]) }
      var (one, two) = (base, base)
      for number in 1...count where number % 10 == 0 { two.emps[number] = nil }
      one.skills[1] = "x"
      let graphs = try [base, one, two].map { try $0.nodes(isDeptRequired: false) }
      return try ProcessorTime.seconds {
        let nodes = try #require(try Self.merge(graphs, .refuse))
        #expect(Int64(nodes.count("Emp")) == count - count / 10)
      }
    }
    _ = try seconds(100)
    // Eight times is linear, sixty-four the square.
    let (small, large) = (try seconds(1_000), try seconds(8_000))
    #expect(large < small * 24, "\(small) \(large)")
  }

  /// - Returns: nil where the result would lack a required value.
  private static func merge(_ graphs: [NodeTable], _ rule: StoreMerge.ConflictRule) throws -> NodeTable? {
    var merge = StoreMerge()
    merge.conflictRule = rule
    do {
      return try merge.merge(base: graphs[0], graphs[1], graphs[2]).nodes
    } catch let error as StoreMerge.ConflictError {
      #expect(error.conflicts.allSatisfy { $0.rule == "an object is needed" }, "\(error)")
      return nil
    }
  }
}
