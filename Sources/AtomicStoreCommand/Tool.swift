public import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
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

  /// Loads plug-ins: those asked for, which must be good, and those that lie where plug-ins lie, which are left out where they
  /// are not.
  static func load(_ paths: [String]) throws {
    let isFirst = state.withLock { state in
      defer { state.hasLooked = true }
      return !state.hasLooked
    }
    if isFirst {
      for path in standing() {
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

  /// The plug-ins of the search path, then those of the user's folder.
  private static func standing() -> [String] {
    let environment = ProcessInfo.processInfo.environment
    var places = (environment["ATOMICSTORE_PLUGIN_PATH"] ?? "").split(separator: ":").map(String.init)
    let data = environment["XDG_DATA_HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? environment["HOME"].map { $0 + "/.local/share" }
    if let data { places.append(data + "/atomicstore/plugins") }
    var found: [String] = []
    for place in places {
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: place, isDirectory: &isFolder) else { continue }
      if isFolder.boolValue {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []
        found += names.filter { $0.hasSuffix(".so") }.sorted().map { place + "/" + $0 }
      } else {
        found.append(place)
      }
    }
    return found
  }
}
