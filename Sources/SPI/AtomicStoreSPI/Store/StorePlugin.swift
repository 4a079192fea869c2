internal import CStorePlugin
import FoundationEssentials
import Glibc
import Synchronization

/// Collects the store types of a plug-in: formats, whose stores are loaded whole, and incremental stores.
///
/// ```swift
/// @_cdecl("atomicstore_plugin_register_v1")
/// public func register(_ sink: UnsafeMutableRawPointer) { StorePluginSink.add(MyStore.self, to: sink) }
/// ```
public final class StorePluginSink: Sendable {
  private let types = Mutex<[AnyStoreType]>([])

  init() {}

  /// Adds a format. Call it once for each.
  ///
  /// - Parameters:
  ///   - type: The format.
  ///   - sink: The argument of the register function.
  public static func add(_ type: any AtomicStore.Type, to sink: UnsafeMutableRawPointer) { add(.whole(type), to: sink) }

  /// Adds an incremental store. Call it once for each.
  ///
  /// - Parameters:
  ///   - type: The type of store.
  ///   - sink: The argument of the register function.
  public static func add(_ type: any IncrementalStore.Type, to sink: UnsafeMutableRawPointer) {
    add(.inParts(type), to: sink)
  }

  private static func add(_ type: AnyStoreType, to sink: UnsafeMutableRawPointer) {
    Unmanaged<StorePluginSink>.fromOpaque(sink).takeUnretainedValue().types.withLock { $0.append(type) }
  }

  var all: [AnyStoreType] { types.withLock { $0 } }
}

/// A plug-in: a dynamic library with store formats.
///
/// It must be built with the same compiler, against the same sources of the kit, and share the program's copy of the
/// kit: link the dynamic product, and let the program export its symbols. The library declares what it was built with
/// in a note of its file, which is read and checked before the library is loaded, so that a plug-in that does not fit
/// runs no code. An error names both sides of a mismatch.
///
/// Loading a library runs its constructors (`__attribute__((constructor))`, static initializers of C++) and the
/// function that registers its formats. Once a plug-in is loaded, the handlers of deadly signals are replaced: a
/// message on standard error names the plug-in whose code ends the program.
package struct StorePlugin: Sendable {
  /// The version of the kit in this program, such as `0.3.0`.
  package static var kitVersion: String { ASP_KIT_VERSION }
  /// The digest of the sources that formats are compiled against, of the kit in this program: a plug-in must have the
  /// same one.
  package static var interfaceDigest: String { String(cString: asp_host().interface) }
  /// The compiler that this program was built by.
  package static var compiler: String { String(cString: asp_host().compiler) }

  /// The path that the plug-in was loaded from, as specified.
  let path: String
  /// The name that the plug-in declares.
  let name: String
  /// The types that the plug-in supplied, in the order in which it added them.
  package let types: [AnyStoreType]

  /// Loads a plug-in. It stays loaded while the program runs.
  ///
  /// - Throws: `.notFound`, `.notSupported` with the reason.
  package init(loading path: String) throws(PersistentStoreError) {
    guard let info = try SystemCall.status(path, followLinks: true) else {
      throw PersistentStoreError(.notFound, "the plug-in does not exist", at: StoreLocation(file: path))
    }
    guard info.st_mode & S_IFMT == S_IFREG else { throw Self.refused(path, "a plug-in must be a file") }
    name = try PluginNote.read(path).name
    self.path = path
    types = try Self.register(try Self.load(path), path)
  }

  private static func refused(_ path: String, _ reason: String) -> PersistentStoreError {
    PersistentStoreError(.notSupported, reason, at: StoreLocation(file: path))
  }

  /// The symbol that the dynamic loader did not find. Those of the kit are Swift's, with the names of its modules.
  private static func missingSymbol(_ reason: String) -> String? {
    let parts = reason.split(separator: "undefined symbol: ", maxSplits: 1)
    return parts.count == 2 ? String(parts[1].prefix { $0 != " " && $0 != "," && $0 != ")" }) : nil
  }

  /// Loads the library and checks what it was bound to.
  private static func load(_ path: String) throws(PersistentStoreError) -> UnsafeMutableRawPointer {
    // Use the full path: a bare name would be searched for in the system's directories.
    guard let library = dlopen(path.hasPrefix("/") ? path : "./" + path, RTLD_NOW | RTLD_LOCAL) else {
      let reason = dlerror().map { String(cString: $0) } ?? "unknown reason"
      let symbol = missingSymbol(reason)
      if let symbol, symbol.hasPrefix("$s"), symbol.contains("Store") {
        throw refused(
          path,
          "it uses a symbol that this program does not have, so it was built against another version of the kit: \(reason)"
        )
      }
      if symbol != nil {
        throw refused(path, "neither this program nor a library that it links has a symbol that it uses: \(reason)")
      }
      let isFoundation = reason.contains("libFoundation")
      let advice = isFoundation ? "; Swift's Foundation is not installed (package atomicstore-foundation)" : ""
      throw refused(path, "the dynamic loader cannot load it: \(reason)\(advice)")
    }
    guard let place = dlsym(library, "atomicstore_plugin_binding_v1") else {
      throw refused(path, "the symbol atomicstore_plugin_binding_v1 is missing")
    }
    asp_guard(path, place)
    let (plugin, host) = (place.loadUnaligned(as: asp_binding.self), asp_host().binding)
    guard plugin.swiftRuntime == host.swiftRuntime else {
      throw refused(path, "it runs on a second copy of the Swift runtime: neither may link it statically")
    }
    guard plugin.kitIdentity == host.kitIdentity else {
      throw refused(
        path,
        "it carries its own copy of the kit: it must link the product AtomicStoreKitDynamic, and the program must export its symbols"
      )
    }
    return library
  }

  /// Lets the plug-in add its formats.
  private static func register(
    _ library: UnsafeMutableRawPointer, _ path: String
  ) throws(PersistentStoreError) -> [AnyStoreType] {
    guard let register = dlsym(library, "atomicstore_plugin_register_v1") else {
      throw refused(path, "the symbol atomicstore_plugin_register_v1 is missing")
    }
    let sink = StorePluginSink()
    withExtendedLifetime(sink) {
      unsafeBitCast(register, to: (@convention(c) (UnsafeMutableRawPointer) -> Void).self)(
        Unmanaged.passUnretained(sink).toOpaque())
    }
    guard !sink.all.isEmpty else { throw refused(path, "it registers no format") }
    for type in sink.all {
      guard isTypeName(type.storeType) else {
        throw refused(
          path, "the store type of \(type.fullName) is empty, has control characters or more than 255 bytes")
      }
    }
    return sink.all
  }

  /// Whether a plug-in may name a store type like that: names are options, and are printed.
  package static func isTypeName(_ name: String) -> Bool {
    let hasControls = name.unicodeScalars.contains { $0.properties.generalCategory == .control }
    return !name.isEmpty && name.utf8.count <= 255 && !hasControls
  }
}
