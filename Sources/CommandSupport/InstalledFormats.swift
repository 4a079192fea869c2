package import AtomicStoreSPI
import BuiltInStoreFormats
package import Synchronization

/// The store types that the command supports: the kit's, those compiled in, and those of plug-ins.
package enum InstalledFormats {
  private struct State {
    var registry = StoreRegistry.builtIn
    /// The origin of each type that is not the kit's.
    var origins: [String: String] = [:]
    var refusals: [PluginSearch.Refusal] = []
    var hasLooked = false
    var asked: [String] = []
  }
  private static let state = Mutex(State())
  /// Whether plug-ins that were refused are reported. The processes of a conformance run would do so hundreds of times.
  package static let reportsRefusals = Atomic(true)

  package static var registry: StoreRegistry { state.withLock { $0.registry } }
  package static var refusals: [PluginSearch.Refusal] { state.withLock { $0.refusals } }
  package static func origin(of type: String) -> String? { state.withLock { $0.origins[type] } }
  /// The command-line arguments that load the same plug-ins again.
  package static var pluginArguments: String { state.withLock { $0.asked.map { " --plugin \($0)" }.joined() } }

  package static func add(_ type: any AtomicStore.Type, from origin: String) {
    state.withLock { state in
      if let near = nearName(of: type.storeType, in: state.registry) {
        let reason = "its type '\(type.storeType)' differs from '\(near)' in case only"
        state.refusals.append(PluginSearch.Refusal(from: origin, reason: reason))
        return
      }
      do throws(PersistentStoreError) {
        try state.registry.register(type)
        state.origins[type.storeType] = origin
      } catch {
        state.refusals.append(PluginSearch.Refusal(from: origin, reason: error.message))
      }
    }
  }

  /// The registered type whose name differs from another in case only: one would be taken for the other.
  private static func nearName(of name: String, in registry: StoreRegistry) -> String? {
    registry.storeTypes.first { $0 != name && $0.lowercased() == name.lowercased() }
  }

  /// Loads plug-ins: those specified, for which an error is reported, and those of the search path and the user's
  /// directory, which are ignored if they are invalid.
  ///
  /// - Parameter searches: Whether the search path and the user's directory are searched.
  package static func load(_ paths: [String], searches: Bool = true) throws {
    if searches, isFirstSearch() { search() }
    try loadAsked(paths)
  }

  private static func isFirstSearch() -> Bool {
    state.withLock { state in
      defer { state.hasLooked = true }
      return !state.hasLooked
    }
  }

  /// Loads the plug-ins of the search path and of the user's directory.
  private static func search() {
    let search = PluginSearch()
    state.withLock { $0.refusals += search.refusals }
    if reportsRefusals.load(ordering: .relaxed) {
      for refusal in search.refusals { Diagnostics.say("atomicstore: \(refusal.from): \(refusal.reason)") }
    }
    for path in search.files {
      do throws(PersistentStoreError) {
        let plugin = try StorePlugin(loading: path)
        for type in plugin.types { add(type, from: path) }
      } catch {
        state.withLock { $0.refusals.append(PluginSearch.Refusal(from: path, reason: error.message)) }
      }
    }
  }

  private static func loadAsked(_ paths: [String]) throws {
    for path in paths where !state.withLock({ $0.asked.contains(path) }) {
      let plugin = try StorePlugin(loading: path)
      for type in plugin.types {
        if let near = nearName(of: type.storeType, in: registry) {
          throw CommandFailure(
            "\(path): its type '\(type.storeType)' differs from '\(near)' in case only", exitCode: 65)
        }
        // The same plug-in may also be in the directory.
        if let known = try? registry.storeType(named: type.storeType) {
          if ObjectIdentifier(known) == ObjectIdentifier(type) { continue }
          throw CommandFailure(
            "\(path): its type '\(type.storeType)' is already used by \(String(reflecting: known)): a plug-in cannot replace another format",
            exitCode: 65)
        }
        add(type, from: path)
      }
      state.withLock { $0.asked.append(path) }
    }
  }
}
