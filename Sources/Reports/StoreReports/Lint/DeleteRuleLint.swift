import AtomicStoreSPI

/// Delete rules that delete more than is meant, or make a save fail.
struct DeleteRuleLint {
  private let model: ManagedObjectModel

  init(_ model: ManagedObjectModel) { self.model = model }

  /// A relationship with the entity that declares it.
  private struct Rule {
    var owner: Entity
    var relationship: RelationshipDescription
    var destination: Entity
    var title: String { "\(owner.name).\(relationship.name)" }
  }

  func run(_ list: inout LintList) {
    var cascades: [Rule] = []
    for entity in model.entities {
      for case .relationship(let relationship) in entity.declaration.properties {
        guard let destination = model.entity(named: relationship.destinationEntityName) else { continue }
        let rule = Rule(owner: entity, relationship: relationship, destination: destination)
        if relationship.deleteRule == .cascade { cascades.append(rule) }
        checkOtherEnd(rule, &list)
      }
    }
    checkCycles(cascades, &list)
  }

  private func checkOtherEnd(_ rule: Rule, _ list: inout LintList) {
    guard
      let (owner, inverse) = DiagramBuilder.inverse(
        of: rule.relationship, declaredIn: rule.owner, at: rule.destination)
    else { return }
    let other = "\(owner.name).\(inverse.name)"
    switch rule.relationship.deleteRule {
    case .cascade where inverse.isToMany:
      list.add(
        "cascade-to-shared", rule.owner.name, rule.relationship.name,
        "deleting one object deletes its \(rule.destination.name), which \(other) shares with others")
    case .nullify where !inverse.isOptional && !inverse.isToMany:
      list.add(
        "nullify-required", rule.owner.name, rule.relationship.name,
        "deleting an object empties \(other), which is required: cascade or deny")
    default: break
    }
  }

  // MARK: Cycles

  /// A graph in which each entity is two nodes: an object of it is reached by a relationship (2n), and it deletes
  /// others (2n + 1). An object that is reached may be of a sub-entity, and deletes by the rules of its super-entities
  /// too. So no circle comes from inheritance alone.
  private func checkCycles(_ rules: [Rule], _ list: inout LintList) {
    var next = Array(repeating: [Int](), count: 2 * model.entityCount)
    for entity in model.entities {
      next[2 * entity.index] = [2 * entity.index + 1] + entity.subentities.map { 2 * $0.index }
      if let parent = entity.superentity { next[2 * entity.index + 1].append(2 * parent.index + 1) }
    }
    for rule in rules { next[2 * rule.owner.index + 1].append(2 * rule.destination.index) }
    let component = StrongComponents.numbers(next)
    var members: [Int: [Rule]] = [:]
    for rule in rules where component[2 * rule.owner.index + 1] == component[2 * rule.destination.index] {
      members[component[2 * rule.destination.index], default: []].append(rule)
    }
    for number in members.keys.sorted() {
      // A single rule that leads to its own entity makes a tree, which is deleted as a whole.
      guard let rules = members[number], rules.count > 1 || Self.isItsOwnInverse(rules[0]) else { continue }
      let names = rules.map(\.title)
      for rule in rules {
        let others = names.filter { ScalarString($0) != ScalarString(rule.title) }
        list.add(
          "cascade-cycle", rule.owner.name, rule.relationship.name,
          others.isEmpty
            ? "the relationship is its own inverse: deleting one object deletes all that are connected"
            : "deleting an object comes back to \(rule.owner.name) through \(others.joined(separator: ", "))")
      }
    }
  }

  private static func isItsOwnInverse(_ rule: Rule) -> Bool {
    rule.relationship.inverseName.map { ScalarString($0) == ScalarString(rule.relationship.name) } ?? false
  }
}

/// The strongly connected components of a graph (Tarjan), without recursion.
enum StrongComponents {
  /// The number of the component of each node.
  static func numbers(_ next: [[Int]]) -> [Int] {
    var component = Array(repeating: Int.max, count: next.count)
    var index = Array(repeating: Int.max, count: next.count)
    var low = index
    var (counter, count) = (0, 0)
    var open: [Int] = []
    for start in next.indices where index[start] == .max {
      var trail: [(node: Int, edge: Int)] = [(start, 0)]
      while let (node, edge) = trail.last {
        if edge == 0 {
          index[node] = counter
          low[node] = counter
          counter += 1
          open.append(node)
        }
        guard edge < next[node].count else {
          trail.removeLast()
          if let parent = trail.last?.node { low[parent] = min(low[parent], low[node]) }
          guard low[node] == index[node] else { continue }
          while let member = open.popLast() {
            component[member] = count
            if member == node { break }
          }
          count += 1
          continue
        }
        trail[trail.count - 1].edge += 1
        let other = next[node][edge]
        if index[other] == .max {
          trail.append((other, 0))
        } else if component[other] == .max {
          low[node] = min(low[node], index[other])
        }
      }
    }
    return component
  }
}
