internal import CStorePlugin
import Glibc

/// The modules of the kit, as plug-ins see them.
///
/// A plug-in is bound to the program's copy of the kit, whose types have no stable layout. The digest of the interface
/// covers the modules of ``interface``; what uses another one could crash with the program's next build, and is
/// refused.
enum PluginModules {
  /// What a plug-in may import.
  static let interface = ["AtomicStoreSPI", "StoreCodecs", "StoreFiles", "StorePrimitives"]

  /// The others that a program may have.
  static let others = [
    "AtomicStoreKit", "StoreCoordination", "StorePredicates", "ModelFiles", "BuiltInStoreFormats", "StoreJSON",
    "StoreImporting", "StoreMaintenance", "StoreMigration", "StoreMutation", "StoreEditing", "CommandSupport",
    "AtomicStoreConformance",
    "AtomicStoreCommand", "AtomicStoreConformCommand", "XMLStoreFormat", "BinaryPropertyListStoreFormat",
    "CSVStoreFormat", "CoreDataSQLiteStoreFormat", "CoreDataBinaryStoreFormat", "ArrowTables",
    "ArrowStoreFormat", "FaultyDesigns", "StoreSQL", "SQLiteGraphStoreFormat", "PostgreSQLStoreFormat", "StoreReports",
    "StoreContainers",
  ]

  /// The first of ``others`` that a symbol belongs to; nil if there is none.
  ///
  /// - Parameter symbols: The symbols that a library takes from others.
  static func uncovered(in symbols: [String]) -> String? {
    for symbol in symbols where symbol.hasPrefix("$s") {
      guard let text = demangled(symbol) else { continue }
      // `Module.Type`, and `(extension in Module):Other.Type`.
      let words = text.split { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == "." || $0 == ")") }
      for word in words {
        guard let end = word.firstIndex(where: { $0 == "." || $0 == ")" }) else { continue }
        if let module = others.first(where: { $0 == word[..<end] }) { return module }
      }
    }
    return nil
  }

  private static func demangled(_ symbol: String) -> String? {
    guard let text = asp_demangled(symbol) else { return nil }
    defer { free(text) }
    return String(cString: text)
  }
}
