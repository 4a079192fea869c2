import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StoreMaintenance

/// The part of a page that is there without scripts: everything but the objects.
struct ReportBody {
  private let report: StoreReport
  private let rows: ReportRows
  private let nodes: NodeTable
  private let statistics: [ScalarString: [PropertyStatistics]]
  private let footer: String
  private let hasAllContents: Bool

  init(
    _ report: StoreReport, _ rows: ReportRows, hasAllContents: Bool = true,
    footer: String = "Made by atomicstore. Everything is in this file: nothing is loaded."
  ) {
    self.report = report
    self.footer = footer
    self.hasAllContents = hasAllContents
    self.rows = rows
    nodes = report.nodes
    statistics = Dictionary(grouping: StoreStatistics(report.nodes).properties) { ScalarString($0.entityName) }
  }

  var text: String {
    var text = header + navigation + "<main>\n"
    text += "<section id=\"hits\" class=\"hits\" hidden aria-live=\"polite\"></section>\n"
    text += entityTable + "<div id=\"objects\">\n"
    for entity in nodes.model.entities where !entity.isAbstract { text += section(entity) }
    text += "</div>\n" + diagram + problems + metadata
    return text + "</main>\n<footer>\(footer)</footer>\n"
  }

  private func shown(_ text: String) -> String {
    Markup.escaped(Markup.shortened(text, to: max(1, report.maximumValueLength)))
  }

  // MARK: The store

  private var header: String {
    let model = nodes.model.description
    var facts = [("Type", "\(shown(report.type)) store")]
    if let size = report.byteCount { facts.append(("Size", Markup.count(size, "byte"))) }
    facts.append(("Objects", Markup.grouped(nodes.count)))
    facts.append(("UUID", report.metadata.uuid.uuidString))
    let versions = model.versionIdentifiers.filter { !$0.isEmpty }.joined(separator: ", ")
    facts.append(
      (
        "Model",
        model.isInferred
          ? "inferred from the data"
          : Markup.count(nodes.model.entityCount, "entity") + (versions.isEmpty ? "" : ", version \(shown(versions))")
      ))
    if !rows.isComplete {
      facts.append(
        ("On this page", "\(Markup.grouped(rows.counts.reduce(0, +))) of \(Markup.count(nodes.count, "object"))"))
    }
    if !hasAllContents {
      facts.append(("Not on this page", "pictures, lists in data and long texts of some objects"))
    }
    let list = facts.map { "<dt>\($0.0)</dt><dd>\($0.1)</dd>" }.joined(separator: "\n")
    return "<header>\n<h1>\(shown(report.name))</h1>\n<dl>\n\(list)\n</dl>\n</header>\n"
  }

  private var navigation: String {
    """
    <nav aria-label="Page"><a href="#entities">Entities</a> <a href="#objects">Objects</a> <a href="#model">Model</a> <a href="#problems">Problems</a> \
    <a href="#metadata">Metadata</a> <input id="search" type="search" placeholder="Search objects" \
    aria-label="Search objects" autocomplete="off"></nav>
    <noscript><p class="noscript">Objects and search need JavaScript; nothing is loaded from elsewhere.</p></noscript>

    """
  }

  private var entityTable: String {
    var text = "<section id=\"entities\"><h2>Entities</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>Entity</th>"
    text +=
      "<th class=\"number\">Objects</th><th class=\"number\">Properties</th><th class=\"wide\">Super-entity</th></tr></thead>\n<tbody>\n"
    for entity in nodes.model.entities {
      let name = shown(entity.name)
      let link = entity.isAbstract ? name : "<a href=\"#entity-\(entity.index)\">\(name)</a>"
      let count = entity.isAbstract ? "abstract" : Markup.grouped(nodes.count(of: entity.index))
      text +=
        "<tr><td>\(link)</td><td class=\"number\">\(count)</td><td class=\"number\">\(entity.properties.count)</td>"
      text += "<td class=\"wide\">\(entity.superentity.map { shown($0.name) } ?? "")</td></tr>\n"
    }
    return text + "</tbody></table></div></section>\n"
  }

  private var diagram: String {
    var text = "<section id=\"model\"><h2>Model</h2>\n"
    do throws(PersistentStoreError) {
      let picture = try ModelDiagram(nodes.model).embeddedSVG { index in
        nodes.model.entity(at: index).isAbstract ? nil : "#entity-\(index)"
      }
      text += "<p><button id=\"smaller\" aria-label=\"Smaller\">−</button> "
      text += "<button id=\"larger\" aria-label=\"Larger\">+</button> "
      text += "<span class=\"soft\">Click an entity to see its objects.</span></p>\n"
      text +=
        "<div class=\"canvas\" tabindex=\"0\" role=\"region\" aria-label=\"Diagram of the model\">\(picture)</div>"
    } catch {
      text += "<p class=\"soft\">\(Markup.escaped(error.message)).</p>"
    }
    return text + "</section>\n"
  }

  private var problems: String {
    let findings = report.findings.findings
    let total = report.findings.counts.values.reduce(0, +)
    var text = "<section id=\"problems\"><h2>Problems</h2>\n"
    if findings.isEmpty { text += "<p class=\"sound\">The check found nothing.</p>\n" }
    for finding in findings { text += problem(finding) }
    if total > findings.count { text += "<p>and \(Markup.grouped(total - findings.count)) more</p>\n" }
    if !report.notes.isEmpty {
      text += "<h3>Notes from reading</h3>\n"
      for note in report.notes { text += "<p class=\"problem warning\">\(shown(note))</p>\n" }
    }
    return text + "</section>\n"
  }

  private func problem(_ finding: CheckFinding) -> String {
    var subject =
      (finding.object.map(\.description) ?? "") + (finding.property.map { finding.object == nil ? $0 : ".\($0)" } ?? "")
    subject = shown(subject)
    if let object = finding.object, let node = nodes.handle(for: object), node.row < rows.counts[node.entity] {
      subject = "<a href=\"#object-\(rows.firsts[node.entity] + node.row)\">\(subject)</a>"
    }
    return "<p class=\"problem\(finding.isWarning ? " warning" : "")\">\(finding.isWarning ? "Warning: " : "")"
      + "\(subject)\(subject.isEmpty ? "" : ": ")\(shown(finding.message))</p>\n"
  }

  private var metadata: String {
    var text = "<section id=\"metadata\"><h2>Metadata</h2>\n<dl>\n"
    for entry in report.metadata.entries {
      text += "<dt>\(shown(entry.key))</dt><dd>\(shown(GraphComparison.text(entry.value)))</dd>\n"
    }
    if report.metadata.entries.isEmpty { text += "<dt>none</dt>\n" }
    return text + "</dl></section>\n"
  }

  // MARK: Entities

  private func section(_ entity: Entity) -> String {
    let count = nodes.count(of: entity.index)
    var text = "<section id=\"entity-\(entity.index)\" tabindex=\"-1\"><h2>\(shown(entity.name)) "
    text += "<span class=\"soft\">\(Markup.count(count, "object"))</span></h2>\n"
    guard count > 0 else { return text + "</section>\n" }
    text += "<details><summary>Columns</summary><div class=\"scroll\"><table><thead><tr><th>Property</th><th>Type</th>"
    text += "<th class=\"number\">Filled</th><th>Distribution</th><th class=\"number\">Distinct</th>"
    text += "<th>Least</th><th>Greatest</th></tr></thead>\n<tbody>\n"
    let reader = nodes.reader(of: entity.index)
    for (slot, property) in zip(entity.slots, statistics[ScalarString(entity.name)] ?? []) {
      let share = property.valueCount == count ? "all" : "\(percent(property.valueCount, count))"
      text +=
        "<tr><td>\(shown(property.propertyName))</td><td>\(shown(property.type))</td><td class=\"number\">\(share)</td>"
      text += "<td>\(ColumnProfile(reader, slot).svg)</td>"
      text += "<td class=\"number\">\(property.distinctCount.map { Markup.grouped($0) } ?? "")</td>"
      text += "<td>\(extreme(property.minimum))</td><td>\(extreme(property.maximum))</td></tr>\n"
    }
    text += "</tbody></table></div></details>\n"
    // Where the script puts the objects.
    return text + "<div class=\"rows\" data-entity=\"\(entity.index)\"></div></section>\n"
  }

  /// Never 0 % if there is one, never 100 % if one is missing.
  private func percent(_ part: Int, _ whole: Int) -> String {
    guard part > 0 else { return "none" }
    return "\(min(99, max(1, part * 100 / whole))) %"
  }

  private func extreme(_ value: StoredValue?) -> String {
    switch value {
    case nil, .null: ""
    case .string(let text), .uri(let text): Markup.escaped(Markup.shortened(text, to: 40))
    case let value?: Markup.escaped(GraphComparison.text(value))
    }
  }
}
