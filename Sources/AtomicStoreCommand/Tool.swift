import AtomicStoreConformance
public import AtomicStoreSPI
import BuiltInStoreFormats
import Synchronization

/// The whole command, for programs that have formats of their own compiled in:
///
/// ```swift
/// import AtomicStoreCommand
/// import MyFormat
///
/// AtomicStoreTool.main(formats: [MyStore.self])
/// ```
public enum AtomicStoreTool {
  /// Runs the command with the program's arguments, and ends the program where it fails.
  ///
  /// - Parameter formats: Formats beside those of the kit. One whose name is taken is left out, and `formats` says so.
  public static func main(formats: [any AtomicStore.Type] = []) {
    for format in formats { Tool.add(format, from: "compiled in") }
    AtomicStoreCommand.run()
  }
}

/// The store types that the command knows: the kit's, those compiled in, those of plug-ins.
enum Tool {
  struct Refusal {
    var from: String
    var reason: String
  }
  private struct State {
    var registry = StoreRegistry.builtIn
    /// Where each type came from that is not the kit's.
    var origins: [String: String] = [:]
    var refusals: [Refusal] = []
    var hasLooked = false
    var asked: [String] = []
  }
  private static let state = Mutex(State())

  static var registry: StoreRegistry { state.withLock { $0.registry } }
  static var refusals: [Refusal] { state.withLock { $0.refusals } }
  static func origin(of type: String) -> String? { state.withLock { $0.origins[type] } }
  /// What takes the same plug-ins again, for a command line.
  static var pluginArguments: String { state.withLock { $0.asked.map { " --plugin \($0)" }.joined() } }

  static func add(_ type: any AtomicStore.Type, from origin: String) {
    state.withLock { state in
      do throws(PersistentStoreError) {
        try state.registry.register(type)
        state.origins[type.storeType] = origin
      } catch {
        state.refusals.append(Refusal(from: origin, reason: error.message))
      }
    }
  }

  /// Loads plug-ins: those asked for, which must be good, and those of the search path and the user's directory, which are left out
  /// where they are not.
  static func load(_ paths: [String]) throws {
    let isFirst = state.withLock { state in
      defer { state.hasLooked = true }
      return !state.hasLooked
    }
    if isFirst {
      let search = PluginSearch()
      state.withLock { $0.refusals += search.refusals }
      // The processes of a conformance run would say it hundreds of times.
      if !ConformanceRun.isWorker { for refusal in search.refusals { Talk.say("atomicstore: \(refusal.from): \(refusal.reason)") } }
      for path in search.files {
        do throws(PersistentStoreError) {
          let plugin = try StorePlugin(loading: path)
          for type in plugin.types { add(type, from: path) }
        } catch {
          state.withLock { $0.refusals.append(Refusal(from: path, reason: error.message)) }
        }
      }
    }
    for path in paths where !state.withLock({ $0.asked.contains(path) }) {
      let plugin = try StorePlugin(loading: path)
      for type in plugin.types {
        // The same one may stand in the folder as well.
        if let known = try? registry.storeType(named: type.storeType) {
          if ObjectIdentifier(known) == ObjectIdentifier(type) { continue }
          throw CommandFailure("\(path): its type '\(type.storeType)' is taken by \(String(reflecting: known)): a plug-in shadows no other format", exitCode: 65)
        }
        add(type, from: path)
      }
      state.withLock { $0.asked.append(path) }
    }
  }
}
