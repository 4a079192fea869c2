import Glibc

/// What is in a directory: the files that a store in it may consist of, and the rest.
///
/// Of a store that is a directory, the members are the regular files whose names do not begin with a dot. Where a
/// commit is under way that replaces them one by one (``FolderSwap``), they are those of the new store, wherever each
/// is at the time.
struct FolderListing: Sendable {
  struct Member: Sendable {
    var name: String
    /// Where it is now.
    var path: String
    var status: stat
  }
  let path: String
  /// In the order of the names' bytes.
  let members: [Member]
  /// Hidden files, directories, links and whatever else is not a member.
  let others: [String]

  /// - Throws: `.changedOnDisk` where the directory is replaced again and again while it is looked at.
  init(_ path: String) throws(PersistentStoreError) {
    self.path = path
    for _ in 0..<20 {
      guard let (members, others) = try Self.read(path) else { continue }
      self.members = members
      self.others = others
      return
    }
    throw PersistentStoreError(
      .changedOnDisk, "the directory is changed again and again", at: StoreLocation(file: path))
  }

  /// All names but the kit's own.
  var names: [String] {
    others.isEmpty
      ? members.map(\.name)
      : (members.map { ScalarString($0.name) } + others.map { ScalarString($0) }).sorted().map(\.string)
  }
  /// A member by its name; nil where there is none.
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

  /// Nil where a commit ended meanwhile.
  private static func read(_ path: String) throws(PersistentStoreError) -> (members: [Member], others: [String])? {
    var names = try SystemCall.names(in: path)
    var pending: FolderSwap.Manifest?
    if let index = names.firstIndex(of: FolderSwap.name) {
      names.remove(at: index)
      pending = try FolderSwap.manifest(in: path)
      // Without a manifest it is what was left behind, or one that has just ended.
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
        // What does not exist by this name is not UTF-8, or has just gone.
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
