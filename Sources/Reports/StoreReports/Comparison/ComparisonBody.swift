import AtomicStoreSPI
import StoreCodecs
import StoreCoordination

/// What is on a page about two stores.
struct ComparisonBody {
  private let report: ComparisonReport

  init(_ report: ComparisonReport) { self.report = report }

  func write(to writer: ByteWriter) throws(PersistentStoreError) {
    writer.append(
      header + navigation + "<main>\n" + entityTable + models + metadata + "</main>\n<main id=\"objects\">\n")
    for (number, entity) in report.entities.enumerated() where !entity.isEmpty {
      try write(entity, number, to: writer)
    }
    writer.append(
      "</main>\n<footer>Made by atomicstore. Everything is in this file: nothing is loaded.</footer>\n")
  }

  private func shown(_ text: String) -> String {
    Markup.escaped(Markup.shortened(text, to: max(1, report.maximumValueLength)))
  }

  private var isEqual: Bool { report.general.isEmpty && report.entities.allSatisfy(\.isEmpty) }

  // MARK: Both stores

  private var header: String {
    let counts = report.counts
    var facts = [
      ("Before", "\(shown(report.first.name)) <span class=\"soft\">\(shown(report.first.type))</span>"),
      ("After", "\(shown(report.second.name)) <span class=\"soft\">\(shown(report.second.type))</span>"),
      (
        "Objects",
        "\(Markup.grouped(report.first.nodes.count)) before, \(Markup.grouped(report.second.nodes.count)) after"
      ),
    ]
    facts.append(
      (
        "Differences",
        isEqual
          ? "<span class=\"sound\">none</span>"
          : "\(Markup.count(counts.changed, "object")) changed, \(Markup.grouped(counts.added)) added, "
            + "\(Markup.grouped(counts.removed)) removed"
      ))
    let list = facts.map { "<dt>\($0.0)</dt><dd>\($0.1)</dd>" }.joined(separator: "\n")
    return
      "<header>\n<h1>\(shown(report.first.name)) → \(shown(report.second.name))</h1>\n<dl>\n\(list)\n</dl>\n</header>\n"
  }

  private var navigation: String {
    var text = "<nav aria-label=\"Page\"><a href=\"#entities\">Entities</a> <a href=\"#model\">Model</a> "
    text += "<a href=\"#metadata\">Metadata</a>"
    guard report.entities.contains(where: { !$0.isEmpty }) else { return text + "</nav>\n" }
    for (kind, name) in [("changed", "Changed"), ("added", "Added"), ("removed", "Removed")] {
      text += " <label class=\"tool\"><input type=\"checkbox\" data-kind=\"\(kind)\" checked> \(name)</label>"
    }
    text += " <label class=\"tool\">Entity <select id=\"entity\"><option value=\"\">all</option>"
    for (number, entity) in report.entities.enumerated() where !entity.isEmpty {
      text += "<option value=\"\(number)\">\(shown(entity.name))</option>"
    }
    text += "</select></label>"
    let properties = Set(report.entities.flatMap { $0.changed.flatMap { $0.differences.compactMap(\.key) } })
    text += " <label class=\"tool\">Property <select id=\"property\"><option value=\"\">all</option>"
    for name in properties.sorted(by: { ScalarString($0) < ScalarString($1) }) {
      text += "<option value=\"\(Markup.escaped(name))\">\(shown(name))</option>"
    }
    text += "</select></label> <input id=\"filter\" class=\"tool\" type=\"search\" placeholder=\"Filter\" "
    return text
      + "aria-label=\"Filter by text\" autocomplete=\"off\"></nav>\n<p id=\"none\" hidden>Nothing matches.</p>\n"
  }

  private var entityTable: String {
    var text = "<section id=\"entities\"><h2>Entities</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>Entity</th>"
    for title in ["Before", "After", "Changed", "Added", "Removed"] { text += "<th class=\"number\">\(title)</th>" }
    text += "</tr></thead>\n<tbody>\n"
    for (number, entity) in report.entities.enumerated() {
      let name = shown(entity.name)
      text += "<tr><td>\(entity.isEmpty ? name : "<a href=\"#entity-\(number)\">\(name)</a>")</td>"
      let counts = [
        entity.counts.first, entity.counts.second, entity.changed.count, entity.added.count, entity.removed.count,
      ]
      for (place, count) in counts.enumerated() {
        text += "<td class=\"number\">\(place > 1 && count == 0 ? "" : Markup.grouped(count))</td>"
      }
      text += "</tr>\n"
    }
    return text + "</tbody></table></div></section>\n"
  }

  private var models: String {
    var text = "<section id=\"model\"><h2>Model</h2>\n"
    let differences = report.general.filter { $0.kind == .model }
    if differences.isEmpty, report.remarks.isEmpty {
      return text + "<p class=\"sound\">Both models are the same.</p></section>\n"
    }
    do throws(PersistentStoreError) {
      let picture = try ModelDiagram(from: report.first.model, to: report.second.model).embeddedSVG { index in
        // Behind the boxes of the second model are those of entities that only the first has.
        guard index < report.second.model.entityCount else { return nil }
        let name = ScalarString(report.second.model.entity(at: index).name)
        return report.entities.firstIndex { ScalarString($0.name) == name && !$0.isEmpty }.map { "#entity-\($0)" }
      }
      text += "<p class=\"legend\"><span class=\"added\">+ added</span> <span class=\"removed\">− removed</span> "
      text += "<span class=\"changed\">~ changed</span></p>\n"
      text += "<div class=\"canvas\" tabindex=\"0\" role=\"region\" aria-label=\"Both models\">\(picture)</div>\n"
    } catch {
      text += "<p class=\"soft\">\(Markup.escaped(error.message)).</p>\n"
    }
    if !differences.isEmpty { text += table(of: differences, "Part of the model") }
    for remark in report.remarks { text += "<p class=\"problem warning\">\(shown(remark))</p>\n" }
    return text + "</section>\n"
  }

  private var metadata: String {
    let differences = report.general.filter { $0.kind != .model }
    let text = "<section id=\"metadata\"><h2>Metadata</h2>\n"
    return text
      + (differences.isEmpty
        ? "<p class=\"sound\">Metadata and UUIDs are the same.</p>\n" : table(of: differences, "Key"))
      + "</section>\n"
  }

  private func table(of differences: [GraphDifference], _ title: String) -> String {
    var text =
      "<div class=\"scroll\"><table><thead><tr><th>\(title)</th><th>Before</th><th>After</th></tr></thead>\n<tbody>\n"
    for difference in differences {
      text += "<tr><td>\(shown(difference.kind == .identity ? "UUID" : difference.keyPath))</td>"
      text += values(difference.old, difference.new) + "</tr>\n"
    }
    return text + "</tbody></table></div>\n"
  }

  private func values(_ old: String?, _ new: String?) -> String {
    func cell(_ text: String?, _ kind: String) -> String {
      text.map { "<td class=\"\(kind)\">\(shown($0))</td>" } ?? "<td class=\"null\" aria-label=\"none\">–</td>"
    }
    return cell(old, "old") + cell(new, "new")
  }

  // MARK: Objects

  private func write(
    _ entity: ComparisonReport.EntityChanges, _ number: Int, to writer: ByteWriter
  ) throws(PersistentStoreError) {
    writer.append("<section id=\"entity-\(number)\" tabindex=\"-1\"><h2>\(shown(entity.name))</h2>\n")
    let limit = max(0, report.maximumRowCount)
    if !entity.changed.isEmpty {
      open("changed", entity.changed.count, ["Object", "Property", "Before", "After"], to: writer)
      for (object, differences) in entity.changed.prefix(limit) {
        writer.append("<tbody data-kind=\"changed\">")
        for (place, difference) in differences.enumerated() {
          writer.append("<tr data-property=\"\(Markup.escaped(difference.key ?? ""))\">")
          // The name is in each row, so that it is there whichever rows a filter leaves.
          writer.append(
            "<td class=\"\(place == 0 ? "" : "repeated")\">\(title(of: object, in: report.second.nodes))</td>")
          writer.append("<td>\(shown(difference.key ?? ""))</td>\(cells(difference))</tr>")
        }
        writer.append("</tbody>\n")
        try writer.flushIfNeeded()
      }
      close(entity.changed.count - limit, to: writer)
    }
    for (kind, objects, nodes) in [
      ("added", entity.added, report.second.nodes), ("removed", entity.removed, report.first.nodes),
    ] where !objects.isEmpty {
      open(kind, objects.count, ["Object", "Values"], to: writer)
      for object in objects.prefix(limit) {
        writer.append("<tbody data-kind=\"\(kind)\"><tr><td>\(title(of: object, in: nodes))</td><td>")
        writer.append(content(of: object, in: nodes) + "</td></tr></tbody>\n")
        try writer.flushIfNeeded()
      }
      close(objects.count - limit, to: writer)
    }
    writer.append("</section>\n")
  }

  private func open(_ kind: String, _ count: Int, _ titles: [String], to writer: ByteWriter) {
    writer.append(
      "<div class=\"group\" data-kind=\"\(kind)\"><h3 class=\"\(kind)\">\(Markup.count(count, "object")) \(kind)</h3>")
    writer.append("<div class=\"scroll\"><table><thead><tr>")
    for title in titles { writer.append("<th scope=\"col\">\(title)</th>") }
    writer.append("</tr></thead>\n")
  }

  private func close(_ rest: Int, to writer: ByteWriter) {
    writer.append("</table></div>")
    if rest > 0 { writer.append("<p class=\"soft\">and \(Markup.grouped(rest)) more</p>") }
    writer.append("</div>\n")
  }

  /// The names of attributes that say what an object is.
  private static let labels = [
    "name", "title", "displayname", "fullname", "label", "caption", "subject", "text", "identifier",
  ]

  private func title(of object: ObjectReference, in nodes: NodeTable) -> String {
    var text = "<span class=\"soft\">\(shown(object.description))</span>"
    guard let node = nodes.handle(for: object) else { return text }
    let reader = nodes.reader(of: node.entity)
    let slots = nodes.model.entity(at: node.entity).slots
    for label in Self.labels {
      guard let slot = slots.first(where: { ReportRows.kind($0) == "text" && $0.name.lowercased() == label }),
        case .string(let name) = reader.value(slot: slot.index, row: node.row), !name.isEmpty
      else { continue }
      text += " \(Markup.escaped(Markup.shortened(name, to: 60)))"
      break
    }
    return text
  }

  /// The values of an object that only one store has, those that are not null.
  private func content(of object: ObjectReference, in nodes: NodeTable) -> String {
    guard let node = nodes.handle(for: object) else { return "" }
    let reader = nodes.reader(of: node.entity)
    var lines: [String] = []
    for slot in nodes.model.entity(at: node.entity).slots {
      let text: String?
      switch slot.kind {
      case .toOne:
        text = reader.toOne(slot: slot.index, row: node.row).map { nodes.objectReference(of: $0).description }
      case .toMany:
        let members = reader.toMany(slot: slot.index, row: node.row)
        text = members.isEmpty ? nil : list(members.indices.map { nodes.objectReference(of: members[$0]).description })
      case .attribute:
        let value = reader.value(slot: slot.index, row: node.row)
        text = value == .null ? nil : GraphComparison.text(value)
      }
      if let text { lines.append("<span class=\"soft\">\(shown(slot.name)):</span> \(shown(text))") }
    }
    return lines.joined(separator: "<br>")
  }

  private func list(_ names: [String]) -> String {
    let rest = names.count - report.maximumMemberCount
    return names.prefix(report.maximumMemberCount).joined(separator: ", ")
      + (rest > 0 ? ", and \(Markup.grouped(rest)) more" : "")
  }

  /// Both values; of a to-many without an order the members that it lost and gained.
  private func cells(_ difference: GraphDifference) -> String {
    guard let object = difference.object, let key = difference.key,
      let old = members(of: object, key, in: report.first.nodes),
      let new = members(of: object, key, in: report.second.nodes)
    else { return values(difference.old, difference.new) }
    let (before, after) = (Set(old), Set(new))
    let lost = old.filter { !after.contains($0) }
    let gained = new.filter { !before.contains($0) }
    // Only the order differs, or how often a member is there.
    guard !lost.isEmpty || !gained.isEmpty else { return values(difference.old, difference.new) }
    func sum(_ members: [ObjectReference], _ sign: String, _ all: [ObjectReference]) -> String {
      guard !all.isEmpty else { return "(none)" }
      return (members.isEmpty ? "" : "\(sign) \(list(members.map(\.description))) ")
        + "(\(Markup.count(all.count, "member")))"
    }
    return values(sum(lost, "−", old), sum(gained, "+", new))
  }

  private func members(of object: ObjectReference, _ key: String, in nodes: NodeTable) -> [ObjectReference]? {
    guard let node = nodes.handle(for: object) else { return nil }
    let entity = nodes.model.entity(at: node.entity)
    guard let slot = entity.slot(named: key).map({ entity.slots[$0] }), slot.isToMany else { return nil }
    let members = nodes.reader(of: node.entity).toMany(slot: slot.index, row: node.row)
    return members.indices.map { nodes.objectReference(of: members[$0]) }
  }
}
