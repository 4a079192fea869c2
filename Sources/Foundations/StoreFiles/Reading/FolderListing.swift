import Glibc

/// The content of a directory: the files that a store in it may consist of, and the rest.
///
/// The members of a store that is a directory are the regular files whose names do not begin with a dot. While a commit
/// replaces them one by one (``FolderSwap``), they are those of the new store, wherever each is at the time.
struct FolderListing: Sendable {
  struct Member: Sendable {
    var name: String
    /// Its current path.
    var path: String
    var status: stat
  }
  let path: String
  /// In the order of the names' bytes.
  let members: [Member]
  /// Hidden files, directories, links and anything else that is not a member.
  let others: [String]

  /// - Throws: `.changedOnDisk` if the directory keeps being replaced while it is read.
  init(_ path: String) throws(PersistentStoreError) {
    self.path = path
    for _ in 0..<20 {
      guard let (members, others) = try Self.read(path) else { continue }
      self.members = members
      self.others = others
      return
    }
    throw PersistentStoreError(
      .changedOnDisk, "the directory keeps changing", at: StoreLocation(file: path))
  }

  /// All names except those of the kit's own files.
  var names: [String] {
    others.isEmpty
      ? members.map(\.name)
      : (members.map { ScalarString($0.name) } + others.map { ScalarString($0) }).sorted().map(\.string)
  }
  /// A member by name; nil if there is none.
  func member(named name: String) -> Member? {
    let wanted = ScalarString(name)
    var range = members.indices
    while let middle = range.isEmpty ? nil : range.lowerBound + range.count / 2 {
      let found = ScalarString(members[middle].name)
      if found == wanted { return members[middle] }
      range = found < wanted ? middle + 1..<range.upperBound : range.lowerBound..<middle
    }
    return nil
  }
  var isEmpty: Bool { members.isEmpty && others.isEmpty }

  /// Returns nil if a commit ended meanwhile.
  private static func read(_ path: String) throws(PersistentStoreError) -> (members: [Member], others: [String])? {
    var names = try SystemCall.names(in: path)
    var pending: FolderSwap.Manifest?
    if let index = names.firstIndex(of: FolderSwap.name) {
      names.remove(at: index)
      pending = try FolderSwap.manifest(in: path)
      // Without a manifest, it is a leftover, or a commit has just ended.
      if pending == nil, try SystemCall.status(path + "/" + FolderSwap.name, followLinks: false) == nil { return nil }
    }
    if let pending { names = pending.names(over: names) }
    let added = Set((pending?.members ?? []).map { ScalarString($0) })
    var members: [Member] = []
    members.reserveCapacity(names.count)
    var others: [String] = []
    for name in names {
      guard !name.utf8.starts(with: [UInt8(ascii: ".")]) else {
        others.append(name)
        continue
      }
      var place = added.contains(ScalarString(name)) ? path + "/" + FolderSwap.name + "/" + name : path + "/" + name
      var status = try SystemCall.status(place, followLinks: false)
      if status == nil, added.contains(ScalarString(name)) {
        place = path + "/" + name
        status = try SystemCall.status(place, followLinks: false)
      }
      guard let status else {
        // The name is not UTF-8, or the file has just been removed.
        if name.unicodeScalars.contains("\u{FFFD}") { others.append(name) }
        continue
      }
      if status.st_mode & S_IFMT == S_IFREG {
        members.append(Member(name: name, path: place, status: status))
      } else {
        others.append(name)
      }
    }
    return (members, others)
  }
}
