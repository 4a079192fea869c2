internal import CStorePlugin
import FoundationEssentials
import Glibc
import Synchronization

/// Collects the formats of a plug-in.
///
/// ```swift
/// @_cdecl("atomicstore_plugin_register_v1")
/// public func register(_ sink: UnsafeMutableRawPointer) { StorePluginSink.add(MyStore.self, to: sink) }
/// ```
public final class StorePluginSink: Sendable {
  private let types = Mutex<[any AtomicStore.Type]>([])

  init() {}

  /// Adds a format. Call it once for each.
  ///
  /// - Parameters:
  ///   - type: The format.
  ///   - sink: The argument of the register function.
  public static func add(_ type: any AtomicStore.Type, to sink: UnsafeMutableRawPointer) {
    Unmanaged<StorePluginSink>.fromOpaque(sink).takeUnretainedValue().types.withLock { $0.append(type) }
  }

  var all: [any AtomicStore.Type] { types.withLock { $0 } }
}

/// A plug-in: a dynamic library with store formats.
///
/// It must be built with the same compiler, against the same version of the kit, and share the program's copy of the
/// kit: link the dynamic product, and let the program export its symbols. The library declares these properties as
/// plain data, which is checked before its formats are registered. An error names both sides of a mismatch.
///
/// Loading a library runs its constructors (`__attribute__((constructor))`, static initializers of C++), before
/// anything in it can be checked: load only what you would run as a program.
public struct StorePlugin: Sendable {
  /// The version of the kit in this program, such as `0.2.0`.
  public static var kitVersion: String { ASP_KIT_VERSION }

  /// The path that the plug-in was loaded from, as specified.
  public let path: String
  /// The name that the plug-in declares.
  public let name: String
  /// The formats that the plug-in supplied, in the order in which it added them.
  public let types: [any AtomicStore.Type]

  /// Loads a plug-in. It stays loaded while the program runs.
  ///
  /// - Throws: `.notFound`, `.notSupported` with the reason.
  public init(loading path: String) throws(PersistentStoreError) {
    func refused(_ reason: String) -> PersistentStoreError {
      PersistentStoreError(.notSupported, reason, at: StoreLocation(file: path))
    }
    guard let info = try SystemCall.status(path, followLinks: true) else {
      throw PersistentStoreError(.notFound, "the plug-in does not exist", at: StoreLocation(file: path))
    }
    guard info.st_mode & S_IFMT == S_IFREG else { throw refused("a plug-in must be a file") }
    try LibraryFile.check(path)

    // Use the full path: a bare name would be searched for in the system's directories.
    let whole = path.hasPrefix("/") ? path : "./" + path
    guard let library = dlopen(whole, RTLD_NOW | RTLD_LOCAL) else {
      let reason = dlerror().map { String(cString: $0) } ?? "unknown reason"
      if reason.contains("undefined symbol") {
        throw refused(
          "it uses a symbol that this program does not have, so it was built against another version of the kit: \(reason)"
        )
      }
      throw refused("the dynamic loader cannot load it: \(reason)")
    }
    guard let place = dlsym(library, "atomicstore_plugin_info_v1") else {
      throw refused("it is a library, but not a store plug-in: the symbol atomicstore_plugin_info_v1 is missing")
    }
    let plugin: asp_info
    do throws(Mismatch) { plugin = try Self.description(at: place) } catch { throw refused(error.reason) }
    guard let register = dlsym(library, "atomicstore_plugin_register_v1") else {
      throw refused("the symbol atomicstore_plugin_register_v1 is missing")
    }
    let sink = StorePluginSink()
    withExtendedLifetime(sink) {
      unsafeBitCast(register, to: (@convention(c) (UnsafeMutableRawPointer) -> Void).self)(
        Unmanaged.passUnretained(sink).toOpaque())
    }
    guard !sink.all.isEmpty else { throw refused("it registers no format") }
    self.path = path
    name = String(cString: plugin.name)
    types = sink.all
  }

  /// Why a plug-in does not fit this program.
  private struct Mismatch: Error {
    var reason: String
  }

  /// Reads what a plug-in says of itself, and compares it with this program.
  private static func description(at place: UnsafeMutableRawPointer) throws(Mismatch) -> asp_info {
    let host = asp_host()
    // Read the size first: an older interface does not have the later fields.
    let head = place.loadUnaligned(as: UInt32.self)
    let size = place.loadUnaligned(fromByteOffset: 4, as: UInt32.self)
    guard head == host.magic, size >= 12 else {
      throw Mismatch(reason: "its description is not that of a store plug-in")
    }
    let major = place.loadUnaligned(fromByteOffset: 8, as: UInt16.self)
    let minor = place.loadUnaligned(fromByteOffset: 10, as: UInt16.self)
    guard major == host.major, minor <= host.minor, size >= host.size else {
      throw Mismatch(
        reason:
          "it was built for plug-in interface \(major).\(minor), this program has \(host.major).\(host.minor): build it again"
      )
    }
    let plugin = place.loadUnaligned(as: asp_info.self)
    let kit = String(cString: plugin.kit)
    guard kit == String(cString: host.kit) else {
      throw Mismatch(
        reason:
          "it was built against version \(kit) of the kit, this program is \(String(cString: host.kit)): build it again"
      )
    }
    let compiler = String(cString: plugin.compiler)
    guard compiler == String(cString: host.compiler) else {
      throw Mismatch(
        reason:
          "it was built by \(compiler), this program by \(String(cString: host.compiler)): build both with one compiler"
      )
    }
    guard plugin.swiftRuntime == host.swiftRuntime else {
      throw Mismatch(reason: "it runs on a second copy of the Swift runtime: neither may link it statically")
    }
    guard plugin.kitIdentity == host.kitIdentity else {
      throw Mismatch(
        reason:
          "it carries its own copy of the kit: it must link the product AtomicStoreKitDynamic, and the program must export its symbols"
      )
    }
    return plugin
  }
}
