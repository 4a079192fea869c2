import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

extension CheckContext {
  /// Saves, and is killed at once.
  func expectSavedWhenReturned(_ saving: SaveCase) throws {
    saving.reset()
    let end = try attempt("save, and be killed") { session in
      let done = try saving.save(session)
      kill(getpid(), SIGKILL)
      return done
    }
    guard case .crashed(SIGKILL) = end else { throw ExpectationFailure(expected: "the save returns", actual: "\(end)") }
    let found = try verdict(saving)
    record.mark(found.word)
    try expect(found == .new, "the new store is there", "there is \(found.text)")
  }

  /// The files that were written and not synced when the last of these calls had been made.
  static func unsynced(_ calls: [FaultPlan.Call]) -> [String] {
    var dirty: [String: Bool] = [:]
    func moved(_ path: String, _ from: String, _ to: String) -> String? {
      path == from ? to : path.hasPrefix(from + "/") ? to + path.dropFirst(from.count) : nil
    }
    for call in calls {
      switch call.what {
      case "create", "truncate", "open or create", "write": dirty[call.path] = true
      case "sync": dirty[call.path] = false
      case "unlink": dirty[call.path] = nil
      case "rename", "exchange":
        guard let other = call.other else { continue }
        var next: [String: Bool] = [:]
        for (path, isDirty) in dirty {
          let back = call.what == "exchange" ? moved(path, other, call.path) : nil
          next[moved(path, call.path, other) ?? back ?? path] = isDirty
        }
        dirty = next
      default: break
      }
    }
    return dirty.filter(\.value).keys.sorted()
  }

  func expectFolderSynced(_ calls: [FaultPlan.Call], _ path: String, _ home: String, _ what: String) throws {
    guard
      let place = calls.lastIndex(where: {
        ($0.what == "rename" || $0.what == "exchange") && ($0.other == path || $0.path == path)
      })
    else {
      throw ExpectationFailure(
        expected: "\(what): the store gets its name by a rename", actual: calls.map(\.what).joined(separator: ", "))
    }
    let rest = calls[(place + 1)...]
    let sync = rest.firstIndex { $0.what == "sync folder" && $0.path == home }
    let removal = rest.firstIndex { $0.what == "unlink" || $0.what == "remove folder" }
    try expect(
      sync.map { $0 < removal ?? .max } ?? false,
      "\(what): the folder is synced after the rename, and before anything goes",
      rest.isEmpty ? "nothing follows the rename" : rest.map(\.what).joined(separator: ", "))
  }

  func expectGoodWorkingFiles(_ saving: SaveCase) throws {
    // The calls of two processes.
    var shapes: [[String]] = []
    for process in 1...2 {
      let plan = try FaultPlan(CSF_COUNT)
      saving.reset()
      guard
        case .value(let number) = try attempt(
          "save in process \(process)", faults: plan,
          { session in try saving.save(session) ? Int(getpid()) : 0 })
      else { throw ExpectationFailure(expected: "the save succeeds", actual: "it does not") }
      var made: [String] = []
      var folders: Set<String> = []
      for call in plan.changes {
        // What comes out of such a directory is a file of the save's own.
        if call.what == "rename", let target = call.other, target != saving.path,
          folders.contains(Self.folder(of: call.path))
        {
          made.append(target)
        }
        guard ["create", "truncate", "open or create", "open to write", "make folder"].contains(call.what),
          !made.contains(call.path)
        else { continue }
        // In a directory that the save itself made, a library may open files as it likes: nothing else is there.
        let isInside = folders.contains(Self.folder(of: call.path))
        if call.what == "make folder" { folders.insert(call.path) }
        if isInside { continue }
        try expect(
          call.what == "create" || call.what == "make folder", "each file that is written is a new one",
          "\(call.what) \(shortened(call.path, saving))")
        try expect(
          Self.folder(of: call.path) == saving.home, "each file that is written is beside the store", call.path)
        made.append(call.path)
      }
      shapes.append(made.map { Self.without(number, in: $0) })
    }
    if !shapes[0].isEmpty {
      try expect(
        shapes[0] != shapes[1], "two processes take names that neither can foresee", shapes[0].joined(separator: ", "))
    }
    try expectPrivateWorkingFiles(saving)
  }

  /// Working files of a private store are private, and none remains after an error.
  private func expectPrivateWorkingFiles(_ saving: SaveCase) throws {
    let count = try calls(of: saving).calls
    for place in 1...count {
      saving.reset()
      protect(saving.path, folder: 0o700, file: 0o600)
      _ = try attempt("be killed at call \(place)", faults: try FaultPlan(CSF_KILL, at: place)) { try saving.save($0) }
      for name in saving.left {
        let mode = (Files.status(saving.home + "/" + name)?.st_mode ?? 0) & 0o777
        try expect(
          mode & 0o077 == 0, "a working file of a store with mode 0600 is its owner's alone",
          "\(name) has mode 0\(String(mode, radix: 8))")
      }
    }
    for place in 1...count {
      let plan = try FaultPlan(CSF_FAIL, at: place, error: ENOSPC)
      let end = try save(saving, "a full disk at call \(place)", plan)
      guard case .refused = end else { continue }
      try expect(
        saving.left.isEmpty, "nothing is beside the store after an error at call \(place)",
        saving.left.joined(separator: ", "))
    }
  }

  /// Each error of a save names the store, has a code and says what the system said.
  func expectTellingErrors(_ saving: SaveCase) throws {
    let plan = try calls(of: saving)
    for place in 1...plan.calls {
      let end = try save(saving, "a disk error at call \(place)", try FaultPlan(CSF_FAIL, at: place, error: EIO))
      guard case .refused(let error) = end else { continue }
      // A library that writes into its own directory may try again, and report the error that it got then.
      let path = place <= plan.changes.count ? plan.changes[place - 1].path : ""
      let isLibrary = traits.layout == .file && saving.isWithinDirectory(path)
      let said = (isLibrary ? 1...ETIMEDOUT : EIO...EIO).map { String(cString: strerror($0)) }
      try expect(error.code != nil, "a store error", error.text)
      try expect(error.hasFile && error.text.contains(saving.path), "the error names \(saving.path)", error.text)
      try expect(said.contains { error.text.contains($0) }, "the error says what the system said", error.text)
    }
  }

  private static func folder(of path: String) -> String {
    path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
  }

  private static func without(_ number: Int, in path: String) -> String {
    path.split(separator: "-", omittingEmptySubsequences: false).map { $0 == "\(number)" ? "PID" : String($0) }.joined(
      separator: "-")
  }

  private func protect(_ path: String, folder: mode_t, file: mode_t) {
    if Files.isFolder(path) {
      chmod(path, folder)
      for name in Files.names(in: path) { chmod(path + "/" + name, file) }
    } else {
      chmod(path, file)
    }
  }

  func expectAttributesKept(_ saving: SaveCase) throws {
    let attribute = "user.conformance"
    let isFolder = saving.oldFiles[""] == nil
    for (file, directory) in [(mode_t(0o600), mode_t(0o700)), (0o640, 0o750), (0o664, 0o775)] {
      saving.reset()
      protect(saving.path, folder: directory, file: file)
      let owner: uid_t = geteuid() == 0 ? 4242 : geteuid()
      if geteuid() == 0 { chown(saving.path, owner, owner) } else { note("owners cannot be changed here") }
      let hasAttributes = csf_set_attribute(saving.path, attribute, "kept") == 0
      if !hasAttributes { note("this file system has no attributes of users") }
      _ = try process("save") { try saving.save($0) }
      let paths = [saving.path] + (isFolder ? saving.oldFiles.keys.sorted().map { saving.path + "/" + $0 } : [])
      for path in paths where Files.exists(path) {
        let wanted = Files.isFolder(path) ? directory : file
        let mode = (Files.status(path)?.st_mode ?? 0) & 0o7777
        try expect(
          mode == wanted, "\(shortened(path, saving)) keeps mode 0\(String(wanted, radix: 8))",
          "it has 0\(String(mode, radix: 8))")
      }
      try expect(
        Files.status(saving.path)?.st_uid == owner, "the owner stays", "it is \(Files.status(saving.path)?.st_uid ?? 0)"
      )
      if hasAttributes {
        try expect(
          csf_has_attribute(saving.path, attribute, "kept") != 0, "the attribute \(attribute) stays", "it is gone")
      }
    }
  }

  /// Makes a store be written twice without changing what it holds.
  func rewrite(_ path: String, _ model: ModelDescription) throws {
    _ = try process("change it, save, change it back, save", opening: path, model) { _, open in
      guard
        let entity = open.store.model.entities.first(where: { entity in
          !entity.isAbstract && open.store.nodes.count(of: entity.index) > 0
            && entity.slots.contains { $0.name == "name" }
        }), let node = open.store.nodes.handles(of: entity.index).first
      else { return false }
      let object = try open.context.existingObject(
        with: open.store.objectID(for: open.store.nodes.objectReference(of: node)))
      let before: Any? = try object.value(forKey: "name")
      try object.setValue("something else", forKey: "name")
      try open.context.save()
      try object.setValue(before, forKey: "name")
      try open.context.save()
      return true
    }
  }

  /// How many bytes lie in pieces of the second that are not, in that order, in the first. Pieces end where the content
  /// says so: an insertion changes those round it alone.
  static func changedBytes(_ one: [UInt8], _ other: [UInt8]) -> Int {
    func pieces(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
      var all: [ArraySlice<UInt8>] = []
      var start = 0
      for place in bytes.indices {
        var mix: UInt32 = 0
        for back in 0..<4 where place >= back { mix = (mix ^ UInt32(bytes[place - back])) &* 0x0100_0193 }
        if (mix >> 7) % 24 == 0 || place - start >= 256 {
          all.append(bytes[start...place])
          start = place + 1
        }
      }
      if start < bytes.count { all.append(bytes[start...]) }
      return all
    }
    return pieces(other).difference(from: pieces(one)).insertions.reduce(0) { sum, change in
      if case .insert(_, let piece, _) = change { sum + piece.count } else { sum }
    }
  }

  /// Runs a part of this check in a new process, with its own hash seed. Gives back what it
  /// noted.
  func elsewhere(_ id: String) throws -> [String] {
    record.did("run \(id) in a new process")
    return try runElsewhere(id)
  }
}
