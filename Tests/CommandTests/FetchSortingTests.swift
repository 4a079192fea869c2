import Foundation
import Testing

@Suite("atomicstore fetch: the order of rows, and objects by reference") struct FetchSortingTests {
  private static func rows(_ arguments: String...) throws -> [Substring] {
    let result = try Command.run(
      arguments: ["fetch", Command.company, "--entity", "Employee", "--format", "csv"] + arguments)
    #expect(result.code == 0, "\(result.errors)")
    return result.output.split(separator: "\n").dropFirst().map { $0 }
  }

  @Test("rows are sorted by a computed column's name, with or without AS, and cut after that")
  func computed() throws {
    let columns = "department.name,@count AS members,max:(badge)"
    let all = try Self.rows("--group", "department.name", "--columns", columns)
    #expect(all.count > 1)
    func members(_ row: Substring) -> Int { Int(row.split(separator: ",", omittingEmptySubsequences: false)[1]) ?? -1 }
    func badge(_ row: Substring) -> Int { Int(row.split(separator: ",", omittingEmptySubsequences: false)[2]) ?? -1 }
    let up = try Self.rows("--group", "department.name", "--columns", columns, "--sort", "members")
    #expect(up.map(members) == all.map(members).sorted() && Set(up) == Set(all))
    let down = try Self.rows("--group", "department.name", "--columns", columns, "--sort", "-max:(badge)")
    #expect(down.map(badge) == all.map(badge).sorted().reversed())
    #expect(
      try Self.rows("--group", "department.name", "--columns", columns, "--sort", "-max:(badge)", "--limit", "1")
        == Array(down.prefix(1)))
    #expect(
      try Self.rows("--group", "department.name", "--columns", columns, "--sort", "-max:(badge)", "--offset", "1")
        == Array(down.dropFirst()))
    let own = try Self.rows("--group", "department.name", "--columns", "department.name,@count", "--sort", "-@count")
    #expect(own.map { Int($0.split(separator: ",")[1]) ?? -1 } == all.map(members).sorted().reversed())
    let counted = try Self.rows("--group", "department.name", "--sort", "-count,department.name")
    #expect(counted.map { Int($0.split(separator: ",").last ?? "") ?? -1 } == all.map(members).sorted().reversed())
    let objects = try Self.rows("--columns", "badge,0 - badge AS negative", "--sort", "negative")
    #expect(
      objects.map { Int($0.split(separator: ",")[0]) ?? 0 } == objects.map { -(Int($0.split(separator: ",")[1]) ?? 0) })
    #expect(objects.map { Int($0.split(separator: ",")[1]) ?? 0 }.isAscending && objects.count == 6)
  }

  @Test("a quote after a backslash does not end a text, nor does a comma or AS in it end a column")
  func escapedQuotes() throws {
    let rows = try Self.rows(
      "--where", "badge == 1001", "--columns", #"TERNARY(name == 'a\', b', 1, 2) AS one,badge,'it\'s AS is' AS two"#)
    #expect(rows == ["2,1001,it's AS is"])
  }

  @Test(
    "no rows are asked of one store or of several: what is wrong with the request is reported",
    arguments: [true, false])
  func noRows(_ isFleet: Bool) throws {
    let request = ["--entity", "Employee", "--limit", "0", "--sort", "projects"]
    let result =
      isFleet
      ? try Command.run(
        arguments: ["fetch", "--files-from", "-"] + request, input: Data((Command.company + "\n").utf8))
      : try Command.run(arguments: ["fetch", Command.company] + request)
    #expect(result.code == (isFleet ? 1 : 64))
    #expect((isFleet ? result.output : result.errors).contains("several values"), "\(result.output) \(result.errors)")
  }

  @Test("a count is refused with a key that has no order, as the rows are", arguments: ["projects", "projects.title"])
  func countInNoOrder(_ key: String) throws {
    for more in [[], ["--count"], ["--count", "--where", "badge == 0"]] {
      let result = try Command.run(
        arguments: ["fetch", Command.company, "--entity", "Employee", "--sort", key] + more)
      #expect(
        result.code == 64 && result.output.isEmpty && result.errors.contains("it leads to several values"),
        "\(more) \(result.errors)")
    }
    let ordered = try Command.run(
      "fetch", Command.company, "--entity", "Employee", "--sort", "projects.@count,department.name", "--count")
    #expect(ordered.output == "6\n", "\(ordered.errors)")
  }

  @Test("rows are sorted by an expression and key paths together, of which none need be a column")
  func expressionsAndPaths() throws {
    let keys = ["length:(name)", "-department.name", "badge"]
    let rows = try Self.rows("--columns", "badge", "--sort", keys.joined(separator: ","))
    #expect(rows.count == 6)
    for order in [["badge", "-department.name"], ["department.name", "-badge"]] {
      let one = try Self.rows("--columns", "name", "--sort", "1 + 0," + order.joined(separator: ","))
      #expect(try one == Self.rows("--columns", "name", "--sort", order.joined(separator: ",")))
    }
    #expect(Set(rows) == Set(try Self.rows("--columns", "badge")))
    let group = ["fetch", Command.company, "--entity", "Employee", "--group", "department.name", "--columns", "@count"]
    let grouped = try Command.run(arguments: group + ["--sort", "@count,department.name"])
    #expect(grouped.code == 0, "\(grouped.errors)")
    let refused = try Command.run(arguments: group + ["--sort", "@count,badge"])
    #expect(refused.code == 64 && refused.errors.contains("'badge' is not one value in a group"), "\(refused.errors)")
  }

  @Test("a key that is neither a property nor a column is refused")
  func refused() throws {
    let object = "cannot sort by 'list': it leads to an object"
    for (sort, message) in [("total,badge_", "badge_"), ("totl", "totl"), ("list", object)] {
      let result = try Command.run(
        "fetch", Command.company, "--entity", "Employee", "--columns", "name,badge * 2 AS total,SELF AS list", "--sort",
        sort)
      #expect(result.code != 0 && result.output.isEmpty && result.errors.contains(message), "\(sort): \(result.errors)")
    }
  }

  @Test("objects are found by the references that are printed")
  func references() throws {
    let printed = try Self.rows("--columns", "SELF,badge")
    let first = try #require(printed.first)
    let text = try #require(first.split(separator: ",").first)
    let number = try #require(text.split(separator: "/").last)
    #expect(try Self.rows("--columns", "SELF,badge", "--reference", String(text)) == [first])
    #expect(try Self.rows("--columns", "SELF,badge", "--reference", String(number)).contains(first))
    #expect(try Self.rows("--columns", "SELF,badge", "--reference", "987654") == [])
    #expect(try Self.rows("--columns", "SELF,badge", "--reference", String(text), "--where", "badge < 0") == [])
    let wrong = try Command.run(
      "fetch", Command.company, "--entity", "Employee", "--reference", "Employe/1")
    #expect(wrong.code == 64 && wrong.errors.contains("did you mean 'Employee'?"))
  }
}

extension [Int] {
  fileprivate var isAscending: Bool { zip(self, dropFirst()).allSatisfy { $0 <= $1 } }
}
