import ArgumentParser
import AtomicStoreKit
import BuiltInStoreFormats
import CommandSupport

struct Formats: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "formats",
    abstract: "List the store types, what each can store, and its options.",
    discussion: """
        atomicstore formats
        atomicstore formats CSV
      """)
  @Argument(help: "A store type; by default all.", completion: Completions.types) var type: String?
  @OptionGroup(title: "Common options") var common: CommonOptions

  func run() throws {
    try guardedWithoutUnusablePlugins(common) { try list() }
  }

  private func list() throws {
    InstalledFormats.loadAll()
    let registry = InstalledFormats.registry
    try InstalledFormats.check(type: type)
    // A command ends with its process, and so would they.
    let types = registry.allTraits.filter { !$0.traits.isInProcess && (type == nil || $0.storeType == type) }
    if common.json {
      for refusal in InstalledFormats.refusals {
        Diagnostics.say("atomicstore: left out: \(refusal.from): \(refusal.reason)")
      }
      return try Diagnostics.put(JSONValue.array(types.map { Self.json($0.storeType, $0.traits) }).text + "\n")
    }
    var text = ""
    for type in types {
      let traits = type.traits
      text += "\(type.storeType): \(traits.summary)\n"
      if let origin = InstalledFormats.origin(of: type.storeType) { text += "  from         \(origin)\n" }
      let isIncremental = registry.incrementalTypes.first { $0.storeType == type.storeType }
      if !traits.fileExtensions.isEmpty {
        text += "  extensions   \(traits.fileExtensions.map { "." + $0 }.joined(separator: " "))\n"
      }
      if let schemes = isIncremental?.urlSchemes, !schemes.isEmpty {
        text += "  URLs         \(schemes.map { $0 + ":" }.joined(separator: " "))\n"
      }
      let layout = isIncremental == nil ? traits.layout.rawValue : "database, read and written in parts"
      text += "  layout       a \(layout)\n"
      text +=
        "  writes       \(traits.writes == .all ? "yes" : traits.writes == .newOnly ? "new stores only" : "no")\n"
      text += "  references   \(traits.references.rawValue)\n"
      text += "  keeps        " + Self.kept(traits).joined(separator: ", ") + "\n"
      if !traits.unsupportedTypes.isEmpty {
        text += "  not          \(traits.unsupportedTypes.joined(separator: ", "))\n"
      }
      for (title, options) in [("--read-option", traits.readOptions), ("--write-option", traits.writeOptions)] {
        for option in options {
          let values = option.values.map { " (" + $0.joined(separator: ", ") + ")" } ?? ""
          text += "  \(title) \(option.name)=…: \(option.help)\(values)\n"
        }
      }
    }
    text += "Every format:\n"
    for option in OptionsOfEveryFormat.all {
      let values = option.values.map { " (" + $0.joined(separator: ", ") + ")" } ?? ""
      text += "  --read-option \(option.name)=…: \(option.help)\(values)\n"
    }
    for refusal in InstalledFormats.refusals { text += "left out: \(refusal.from): \(refusal.reason)\n" }
    try Diagnostics.put(text)
  }

  private static func kept(_ traits: StoreTraits) -> [String] {
    [
      (traits.keepsOrder, "order"), (traits.keepsNilApartFromEmpty, "nil apart from empty"),
      (traits.keepsSpecialFloats, "special floats"), (traits.keepsDecimals, "decimals digit for digit"),
      (traits.keepsMetadata, "metadata"), (traits.keepsIdentity, "the UUID"),
      (traits.isSelfDescribing, "its own model"),
    ].filter(\.0).map(\.1)
  }

  private static func json(_ name: String, _ traits: StoreTraits) -> JSONValue {
    func options(_ list: [StoreOption]) -> JSONValue {
      .array(
        list.map { option in
          .object([
            ("name", .string(option.name)), ("help", .string(option.help)),
            ("values", option.values.map { .array($0.map { .string($0) }) } ?? .null),
          ])
        })
    }
    return .object([
      ("type", .string(name)), ("from", InstalledFormats.origin(of: name).map { .string($0) } ?? .null),
      ("summary", .string(traits.summary)),
      ("extensions", .array(traits.fileExtensions.map { .string($0) })),
      ("layout", .string(traits.layout.rawValue)), ("canWrite", .boolean(traits.canWrite)),
      ("writes", .string(traits.writes.rawValue)),
      ("references", .string(traits.references.rawValue)), ("keepsOrder", .boolean(traits.keepsOrder)),
      ("keepsNilApartFromEmpty", .boolean(traits.keepsNilApartFromEmpty)),
      ("keepsSpecialFloats", .boolean(traits.keepsSpecialFloats)),
      ("keepsMetadata", .boolean(traits.keepsMetadata)), ("keepsIdentity", .boolean(traits.keepsIdentity)),
      ("writesEqualBytes", .boolean(traits.writesEqualBytes)),
      ("isSelfDescribing", .boolean(traits.isSelfDescribing)),
      ("unsupportedTypes", .array(traits.unsupportedTypes.map { .string($0) })),
      ("readOptions", options(traits.readOptions + OptionsOfEveryFormat.all)),
      ("writeOptions", options(traits.writeOptions)),
    ])
  }
}
