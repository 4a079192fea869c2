import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import StoreMaintenance
import Testing

@Suite("Random ends that contradict each other: what check names can be read and repaired") struct InverseRepairTests {
  typealias Links = [String: [Int: [Int]]]
  private struct Link: Hashable {
    var property: String
    var source: Int
    var target: Int
  }
  private static let inverses = [
    "team": "members", "members": "team", "queue": "waiting", "waiting": "queue", "desk": "owner", "owner": "desk",
    "tags": "tagged", "tagged": "tags", "friends": "friends", "spouse": "spouse",
  ]
  private static let toManys: Set<String> = ["members", "waiting", "tags", "tagged", "friends"]
  private static let people = [1, 2, 3]
  private static func owners(_ property: String) -> [Int] {
    switch property {
    case "members", "waiting": [4, 5]
    case "owner": [6]
    case "tagged": [7]
    default: people
    }
  }

  /// The sound links, with a few ends changed.
  private static func damaged(_ seed: UInt64) -> Links {
    var random = SeededGenerator(state: seed &* 0x9E37_79B9_7F4A_7C15 &+ 0x1234_5678)
    var links = InverseTests.sound
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let property = inverses.keys.sorted()[Int.random(in: 0..<inverses.count, using: &random)]
      let owner = owners(property)[Int.random(in: 0..<owners(property).count, using: &random)]
      let targets = owners(inverses[property] ?? "").filter { _ in Bool.random(using: &random) }
      let new = toManys.contains(property) ? targets : Array(targets.prefix(1))
      links[property]?[owner] = new.isEmpty ? nil : new
    }
    return links.filter { !$0.value.isEmpty }
  }

  private static func all(_ links: Links) -> Set<Link> {
    var result: Set<Link> = []
    for (property, owners) in links {
      for (source, targets) in owners {
        for target in targets { result.insert(Link(property: property, source: source, target: target)) }
      }
    }
    return result
  }

  private static func mirrored(_ link: Link) -> Link {
    Link(property: inverses[link.property] ?? "", source: link.target, target: link.source)
  }

  private static func comparable(_ links: Links) -> Links { links.mapValues { $0.mapValues { $0.sorted() } } }

  @Test(
    "each is named, read as stored, converted as stored, and repaired without inventing a link",
    arguments: 0..<24 as Range<UInt64>)
  func random(_ seed: UInt64) throws {
    let folder = try UnknownOrderTests.Folder()
    let links = Self.damaged(seed)
    let type = InverseTests.types[Int(seed) % InverseTests.types.count]
    let path = try InverseTests.write(links, type, in: folder)
    let (stated, wrong) = (Self.all(links), Self.all(links).filter { !Self.all(links).contains(Self.mirrored($0)) })
    let report = StoreCheck(registry: .builtIn).check(path)
    #expect(report.findings.count(where: { $0.kind == .inverse }) == wrong.count, "\(report.findings)")

    let asStored = try InverseTests.open(path, ["inverses": "as-stored"])
    #expect(Self.comparable(try InverseTests.links(asStored)) == Self.comparable(links))
    var converter = StoreConverter(registry: .builtIn)
    converter.readOptions = ["inverses": "as-stored"]
    for target in ["copy.xml", "copy.plist", "copy.csvstore", "copy.arrowstore"] {
      _ = try converter.convert(from: path, to: folder.path + "/" + target)
      let copy = try InverseTests.open(folder.path + "/" + target, ["inverses": "as-stored"])
      #expect(Self.comparable(try InverseTests.links(copy)) == Self.comparable(links), "\(target)")
    }
    for rule in ["from-to-one", "from-to-many"] {
      let repaired = try InverseTests.open(path, ["inverses": rule])
      #expect(repaired.nodes.inverseDisagreements().isEmpty, "\(rule)")
      let found = Self.all(try InverseTests.links(repaired))
      for link in found { #expect(stated.contains(link) || stated.contains(Self.mirrored(link)), "\(rule): \(link)") }
      // What both ends have stays, and so does what the correct end has, if it can.
      for link in stated where stated.contains(Self.mirrored(link)) {
        #expect(found.contains(link), "\(rule): \(link)")
      }
      if rule == "from-to-one" {
        for link in stated where ["team", "queue"].contains(link.property) { #expect(found.contains(link), "\(link)") }
      }
    }
  }

  @Test(
    "a target that has one end of a relationship gets what the to-one end says, as a loss",
    arguments: 0..<12 as Range<UInt64>)
  func oneEnd(_ seed: UInt64) throws {
    let folder = try UnknownOrderTests.Folder()
    let links = Self.damaged(seed)
    let path = try InverseTests.write(links, "XML", in: folder)
    var converter = StoreConverter(registry: .builtIn)
    converter.readOptions = ["inverses": "as-stored"]
    for target in ["copy.sqlite", "copy.sqlgraph", "copy.binary"] {
      converter.allowsLoss = true
      let report = try converter.convert(from: path, to: folder.path + "/" + target)
      let copy = try InverseTests.open(folder.path + "/" + target, ["inverses": "as-stored"])
      let found = try InverseTests.links(copy)
      #expect(found["team"] == links["team"] && found["queue"] == links["queue"], "\(target)")
      let isChanged = Self.comparable(found) != Self.comparable(links)
      #expect(report.losses.contains { $0.kind == .endsReconciled } == isChanged, "\(target): \(report.losses)")
      #expect(report.selections.isEmpty)
      converter.allowsLoss = false
      if isChanged {
        #expect(throws: StoreConverter.LossError.self) {
          try converter.convert(from: path, to: folder.path + "/again-" + target)
        }
      }
    }
  }
}
