package import AtomicStoreSPI
import BuiltInStoreFormats
import StorePrograms
package import Synchronization

/// The store types that the command supports: the kit's, those compiled in, and those of plug-ins.
package enum InstalledFormats {
  private struct State {
    var registry = InstalledFormats.tellingRegistry
    /// The origin of each type that is not the kit's.
    var origins: [String: String] = [:]
    var refusals: [PluginSearch.Refusal] = []
    /// Libraries whose formats were asked to recognize content in a separate process, and what became of it.
    var trials: [String: Bool] = [:]
    /// Whether installed plug-ins are found when they are needed; nil before that is decided.
    var searches: Bool?
    var asked: [String] = []
  }
  private static let state = Mutex(State())
  /// Whether plug-ins that were refused are reported. The processes of a conformance run would do so hundreds of times.
  package static let reportsRefusals = Atomic(true)
  /// Whether formats that are programs are kept running between stores. Conformance checks look at what a store leaves.
  package static let keepsPrograms = Atomic(true)

  /// The kit's types. What cannot be read of a store that is opened, by whatever command, is said.
  private static var tellingRegistry: StoreRegistry {
    var registry = StoreRegistry.builtIn
    registry.noteHandler = { Diagnostics.tell($0, of: $1) }
    registry.mayAsk = { mayAsk($0, about: $1) }
    return registry
  }

  /// The types. Installed plug-ins are loaded when one of its lookups needs them.
  package static var registry: StoreRegistry { state.withLock { $0.registry } }
  /// What was refused so far.
  package static var refusals: [PluginSearch.Refusal] { state.withLock { $0.refusals } }
  package static func origin(of type: String) -> String? { state.withLock { $0.origins[type] } }
  /// The command-line arguments that load the same plug-ins again.
  package static var pluginArguments: String { state.withLock { $0.asked.map { " --plugin \($0)" }.joined() } }

  /// What was not loaded, and why: for the error about a type that is not there.
  package static var omissions: [PluginSearch.Refusal] {
    state.withLock { state in
      let ignored = PluginSearch.Refusal(from: "all installed plug-ins", reason: "because of --no-plugins")
      return state.refusals + (state.searches == false ? [ignored] : [])
    }
  }

  /// The types that a command can name. A command ends with its process, and so would stores in memory.
  package static var types: [String] {
    loadAll()
    return registry.allTraits.filter { !$0.traits.isInProcess }.map(\.storeType)
  }

  /// Checks a type that the command line names, if it names one.
  ///
  /// - Throws: A usage error with the name that was probably meant.
  package static func check(type name: String?) throws(PersistentStoreError) {
    guard let name, registry.incrementalType(named: name) == nil else { return }
    do throws(PersistentStoreError) { _ = try registry.storeType(named: name) } catch {
      guard registry.absence(storeType: name) == nil else { throw error }
      throw PersistentStoreError(error.code, Suggestion.unknown("store type", name, among: types))
    }
  }

  /// Adds types that are compiled in.
  package static func addCompiledIn(_ formats: [any AtomicStore.Type], _ databases: [any IncrementalStore.Type]) {
    for type in formats.map({ AnyStoreType.whole($0) }) + databases.map({ .inParts($0) }) {
      add(type, from: "compiled in")
    }
  }

  /// Adds a type that is compiled in.
  package static func add(_ type: AnyStoreType, from origin: String) {
    do throws(PersistentStoreError) { try register(type, from: origin) } catch { refuse(origin, error.message) }
  }

  private static func register(_ type: AnyStoreType, from origin: String) throws(PersistentStoreError) {
    try state.withLock { state throws(PersistentStoreError) in try state.registry.register(type) }
    note(type, from: origin)
  }

  private static func note(_ type: AnyStoreType, from origin: String) {
    guard !isBuiltIn(type) else { return }
    state.withLock { state in
      if state.origins[type.storeType] == nil { state.origins[type.storeType] = origin }
    }
  }

  private static func isBuiltIn(_ type: AnyStoreType) -> Bool {
    StoreRegistry.builtIn.incrementalType(named: type.storeType) != nil
      || (try? StoreRegistry.builtIn.storeType(named: type.storeType)) != nil
  }

  private static func refuse(_ path: String, _ reason: String) {
    state.withLock { $0.refusals.append(PluginSearch.Refusal(from: path, reason: reason)) }
  }

  /// Loads the plug-ins that are specified, for which an error is reported. Those of the search path and the user's
  /// directory are loaded when a type, an extension or content needs them, and ignored if they are invalid.
  ///
  /// - Parameter searches: Whether the search path and the user's directory are searched.
  package static func load(_ paths: [String], searches: Bool = true) throws {
    state.withLock { state in
      guard state.searches == nil else { return }
      state.searches = searches
      if searches { state.registry.findLater { loadInstalled() } }
      StoreProgram.setFailureHandler { path, error in
        refuse(path, error.message)
        Diagnostics.say("atomicstore: \(error.message)")
      }
    }
    for path in paths where !state.withLock({ $0.asked.contains(path) }) {
      for type in try formats(in: path) {
        do throws(PersistentStoreError) { try register(type, from: path) } catch {
          throw error.located(StoreLocation(file: path))
        }
      }
      state.withLock { $0.asked.append(path) }
    }
  }

  /// Loads what a plug-in is: a shared library, or a program.
  private static func formats(in path: String) throws(PersistentStoreError) -> [AnyStoreType] {
    if StoreProgram.isProgram(path) {
      let program = try StoreProgram(loading: path)
      if keepsPrograms.load(ordering: .relaxed) { program.keepProcesses() }
      return [.whole(program.type)]
    }
    // The processes of a conformance run are started by one that has tried it.
    if reportsRefusals.load(ordering: .relaxed), let problem = PluginTrial.problem(of: path) {
      throw problem
    }
    return try StorePlugin(loading: path).types
  }

  /// Whether a format may be asked about content: the first time, a library's are asked in a separate process.
  private static func mayAsk(_ storeType: String, about probe: StoreProbe) -> Bool {
    guard let path = origin(of: storeType), path.hasSuffix(".so"), reportsRefusals.load(ordering: .relaxed)
    else { return true }
    if let known = state.withLock({ $0.trials[path] }) { return known }
    let problem = PluginTrial.problem(of: path, recognizing: probe.name)
    state.withLock { $0.trials[path] = problem == nil }
    if let problem {
      refuse(path, problem.message)
      Diagnostics.say("atomicstore: \(problem.message)")
    }
    return problem == nil
  }

  /// Loads the installed plug-ins, unless that is done or not wanted: for a list of all types.
  package static func loadAll() { registry.findNow() }

  /// Loads the plug-ins of the search path and of the user's directory.
  private static func loadInstalled() -> [AnyStoreType] {
    let search = PluginSearch()
    for refusal in search.refusals {
      refuse(refusal.from, refusal.reason)
      if reportsRefusals.load(ordering: .relaxed) { Diagnostics.say("atomicstore: \(refusal.from): \(refusal.reason)") }
    }
    var types: [AnyStoreType] = []
    // They are not registered but found: whether they were looked for earlier must not change which format comes first.
    var taken = registry
    for path in search.files {
      do throws(PersistentStoreError) {
        for type in try formats(in: path) {
          // One library may be installed under two names.
          if types.contains(where: { $0.identity == type.identity }) { continue }
          try taken.register(type)
          note(type, from: path)
          types.append(type)
        }
      } catch {
        refuse(path, error.message)
      }
    }
    return types
  }
}
