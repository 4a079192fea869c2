import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

extension CheckContext {
  /// Objects with these references, each leading to the next and all to the first, are read as they were written, and
  /// again after another save.
  func expectReferencesKept(_ references: [ReferenceObject], _ what: String) throws {
    let path = self.path()
    var graph = Graph(Models.nodes)
    let count = references.count
    for (place, reference) in references.enumerated() {
      var object = Graph.Object(
        label: "\(place)", entity: "Node", values: ["name": .string("\(reference)"), "number": .integer(Int64(place))])
      object.links["next"] = ["\((place + 1) % count)"]
      object.links["previous"] = ["\((place + count - 1) % count)"]
      if place > 0 { object.links["parent"] = ["0"] }
      graph.objects.append(object)
    }
    graph.objects[0].links["children"] = (1..<count).map { "\($0)" }
    let whole = graph
    let names = try process("write \(count) objects") { try $0.forge(whole, to: path, references: { references[$0] }) }
    for _ in 0..<2 {
      try expectSame(try process("read them") { try $0.read(path, Models.nodes) }, try graph.text(names), what)
    }
    var other = graph
    for place in 0..<count { other.set("\(place)", "number", .integer(-1)) }
    let next = other
    _ = try process("change all and save") { try $0.edit(path, from: whole, to: next, names: names) }
    try expectSame(
      try process("read them in another process") { try $0.read(path, Models.nodes) }, try next.text(names),
      "\(what), saved again")
  }

  /// The URI of each object leads to that object in another process.
  func expectResolved(_ references: [ReferenceObject]) throws {
    let path = path()
    var graph = Graph(Models.nodes)
    for (place, reference) in references.enumerated() {
      graph.objects.append(
        .init(label: "\(place)", entity: "Node", values: ["name": .string("name of \(reference)")]))
    }
    let whole = graph
    _ = try process("write objects with such references") {
      try $0.forge(whole, to: path, references: { references[$0] })
    }
    let uris = try process("ask for their URIs", opening: path, Models.nodes) { _, open in
      references.map {
        open.store.objectID(for: ObjectReference(entityName: "Node", reference: $0)).uriRepresentation
      }
    }
    let found = try process("resolve them in another process", opening: path, Models.nodes) { _, open in
      uris.map { uri in
        guard let id = open.coordinator.managedObjectID(forURIRepresentation: uri) else { return "the URI is none" }
        guard let object = try? open.context.existingObject(with: id) else { return "the object is missing" }
        guard id.reference == object.objectID.reference, object.objectID.uriRepresentation == uri else {
          return "it has another ID"
        }
        return (try? object.value(forKey: "name") as? String) ?? "it has no name"
      }
    }
    for (place, reference) in references.enumerated() {
      try expect(
        found[place].utf8.elementsEqual("name of \(reference)".utf8),
        "\(uris[place]) leads to “name of \(reference)”", found[place])
    }
  }
}
