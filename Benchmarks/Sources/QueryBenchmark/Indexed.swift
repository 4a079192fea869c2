import AtomicStoreKit
import Foundation

/// What an index changes: the same questions while the column is looked through, once there is an index, and after a
/// save that carried it on.
enum Indexed {
  static func run(_ staff: [Employee], _ folder: String) throws {
    let context = try Staff.makeContext(staff, folder, isIndexed: true)
    let questions = [
      ("one number", { (n: Int) in "badge == \(staff[n * 7919 % staff.count].badge)" }),
      ("100 numbers", { (n: Int) in "badge >= \(n * 997) AND badge < \(n * 997 + 100)" }),
      ("one text", { (n: Int) in "name == \"\(staff[n * 7919 % staff.count].name)\"" }),
      (
        "a beginning and a flag",
        { (n: Int) in "name BEGINSWITH \"\(staff[n * 7919 % staff.count].name.dropLast(1))\" AND active == YES" }
      ),
    ]
    func time(_ format: String) throws -> Double {
      let request = FetchRequest<ManagedObject>(entityName: "Employee", predicate: try FetchPredicate(format: format))
      let start = ContinuousClock.now
      _ = try context.count(for: request)
      let spent = ContinuousClock.now - start
      return Double(spent.components.attoseconds) * 1e-12 + Double(spent.components.seconds) * 1e6
    }
    func best(_ make: (Int) -> String, _ numbers: Range<Int>) throws -> Double {
      try numbers.map { try time(make($0)) }.min() ?? 0
    }
    print("microseconds, minimum                        scan    building     with it   after a save")
    var lines: [String] = []
    var later: [(Int) -> String] = []
    for (name, make) in questions {
      let before = try best(make, 0..<7)
      // The ninth asks too often.
      let making = try (7..<12).map { try time(make($0)) }.max() ?? 0
      let after = try best(make, 12..<112)
      lines.append(
        "\(name.padding(toLength: 30, withPad: " ", startingAt: 0)) \(shown(before)) \(shown(making)) \(shown(after))")
      later.append(make)
    }
    let request = FetchRequest<ManagedObject>(
      entityName: "Employee", predicate: try FetchPredicate(format: "badge < 1000"))
    for object in try context.fetch(request) { object["badge"] = 5 }
    let start = ContinuousClock.now
    try context.save()
    let save = ContinuousClock.now - start
    for (line, make) in zip(lines, later) { print(line, shown(try best(make, 200..<240))) }
    print("the save, of a thousand changed objects, index and all: \(save)")
  }

  private static func shown(_ number: Double) -> String {
    let text = number < 100 ? "\((number * 10).rounded() / 10)" : "\(Int(number))"
    return String(repeating: " ", count: max(0, 12 - text.count)) + text
  }
}
