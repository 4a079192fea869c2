import ArgumentParser
import AtomicStoreKit
import BuiltInStoreFormats
import Foundation

struct Metadata: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Read or change a store's metadata.", subcommands: [Get.self, Set.self])

  struct Get: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the metadata, or one key's value. No row is decoded.")
    @Argument(help: "The store.") var store: String
    @Argument(help: "The key; all keys without it.") var key: String?
    @Option(help: "The type, where the content should not be asked.") var from: String?
    @OptionGroup var common: CommonOptions

    func run() throws {
      try guarded(common) {
        let metadata = try PersistentStoreCoordinator.metadataForPersistentStore(
          type: from, at: store, registry: Tool.registry)
        var entries = metadata.entries
        entries["NSStoreType"] = .string(metadata.storeType)
        entries["NSStoreUUID"] = .string(metadata.uuid.uuidString)
        if let key {
          guard let value = entries[key] else {
            throw CommandFailure("\(store): the metadata has no key '\(key)'", exitCode: 1, json: common.json)
          }
          return try Talk.put((common.json ? value.json.text : GraphComparison.plain(value)) + "\n")
        }
        if common.json {
          return try Talk.put(JSONValue.object(entries.map { ($0.key, $0.value.json) }).text + "\n")
        }
        try Talk.put(entries.map { "\($0.key): \(GraphComparison.plain($0.value))\n" }.joined())
      }
    }
  }

  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Set a key to a value, or remove it. The store is rewritten whole, objects and UUID kept.")
    @Argument(help: "The store.") var store: String
    @Argument(help: "The key.") var key: String
    @Argument(help: "The value, as text unless --type says otherwise.") var value: String?
    @Option(help: "What the value is: string, integer, real, boolean.") var type = "string"
    @Flag(help: "Remove the key.") var remove = false
    @Option(help: "The store's type, where the content should not be asked.") var from: String?
    @OptionGroup var common: CommonOptions

    func run() throws {
      try guarded(common) {
        guard remove == (value == nil) else {
          throw CommandFailure("give a value, or --remove", exitCode: 64, json: common.json)
        }
        let current = try PersistentStoreCoordinator.metadataForPersistentStore(
          type: from, at: store, registry: Tool.registry)
        var entries = current.entries
        if remove, entries[key] == nil {
          throw CommandFailure("\(store): the metadata has no key '\(key)'", exitCode: 1, json: common.json)
        }
        entries[key] = try value.map { try parsed($0) }
        try PersistentStoreCoordinator.setMetadata(entries, type: from, at: store, registry: Tool.registry)
      }
    }

    private func parsed(_ text: String) throws -> PropertyListValue {
      switch type {
      case "string": return .string(text)
      case "integer": if let number = Int64(text) { return .integer(Int128(number)) }
      case "real": if let number = Double(text) { return .real(number) }
      case "boolean":
        if ["true", "yes", "1"].contains(text.lowercased()) { return true }
        if ["false", "no", "0"].contains(text.lowercased()) { return false }
      default:
        throw CommandFailure("--type takes string, integer, real, boolean, not '\(type)'", exitCode: 64, json: common.json)
      }
      throw CommandFailure("'\(text)' is no \(type)", exitCode: 64, json: common.json)
    }
  }
}
