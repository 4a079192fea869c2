import FoundationEssentials
import Glibc

/// Searches for plug-ins that are not specified on the command line, and decides which of them may be loaded.
///
/// A plug-in's code runs as soon as it is loaded, with the permissions of the user. So paths that depend on the current
/// directory, and directories or files that another user could have written, are refused.
package struct PluginSearch {
  /// A plug-in, or a directory for plug-ins, that was refused.
  package struct Refusal {
    package var from: String
    package var reason: String
  }

  private(set) var files: [String] = []
  /// What was refused, and why.
  private(set) var refusals: [Refusal] = []

  /// - Parameter user: The user who runs the command.
  init(_ environment: [String: String] = ProcessInfo.processInfo.environment, user: uid_t = geteuid()) {
    for path in (environment["ATOMICSTORE_PLUGIN_PATH"] ?? "").split(separator: ":").map(String.init) {
      look(in: path, of: "ATOMICSTORE_PLUGIN_PATH", user)
    }
    var data = environment["HOME"].map { $0 + "/.local/share" }
    var variable = "HOME"
    if let given = environment["XDG_DATA_HOME"], !given.isEmpty {
      if given.hasPrefix("/") {
        (data, variable) = (given, "XDG_DATA_HOME")
      } else {
        // According to the XDG specification, a relative path is ignored and the default applies.
        refuse(given, "XDG_DATA_HOME is a relative path and is ignored")
      }
    }
    if let data { look(in: data + "/atomicstore/plugins", of: variable, user) }
  }

  private mutating func look(in path: String, of variable: String, _ user: uid_t) {
    guard path.hasPrefix("/") else { return refuse(path, "\(variable) contains a relative path, which is ignored") }
    var isDirectory = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else { return }
    guard isDirectory else {
      if isSafe(PathParts.directory(of: path), user), isSafe(path, user) { files.append(path) }
      return
    }
    // A hidden file may be one that is being copied.
    let names = ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).filter {
      !$0.hasPrefix(".") && ($0.hasSuffix(".so") || Self.isExecutable(path + "/" + $0))
    }.sorted()
    guard !names.isEmpty, isSafe(path, user) else { return }
    for name in names where isSafe(path + "/" + name, user) { files.append(path + "/" + name) }
  }

  /// Whether a file is a program.
  private static func isExecutable(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
  }

  /// Whether only the user and root can have written a directory or file, or replaced it: the path as it is given, and
  /// the one that symbolic links lead to.
  private mutating func isSafe(_ path: String, _ user: uid_t) -> Bool {
    guard isOwn(path, user) else { return false }
    guard let resolved = realpath(path, nil) else { return true }
    defer { free(resolved) }
    return Set([path, String(cString: resolved)]).sorted().allSatisfy { path in
      var directory = path
      while directory != "/" {
        directory = PathParts.directory(of: directory)
        guard isOwn(directory, user, isParent: true, of: path) else { return false }
      }
      return true
    }
  }

  /// - Parameter isParent: Whether it contains what would be loaded. In a directory with the sticky bit, only its owner
  ///   can replace what belongs to others.
  private mutating func isOwn(_ path: String, _ user: uid_t, isParent: Bool = false, of plugin: String = "") -> Bool {
    var status = stat()
    // If it cannot be inspected, the loader reports the reason.
    guard stat(path, &status) == 0 else { return true }
    let isShared = status.st_mode & (S_IWGRP | S_IWOTH) != 0
    if isParent {
      guard !isShared || status.st_mode & S_ISVTX != 0, status.st_uid == 0 || status.st_uid == user else {
        refuse(plugin, "other users may write to \(path), which contains it, so it is not loaded")
        return false
      }
      return true
    }
    if status.st_uid != 0, status.st_uid != user {
      refuse(path, "it belongs to another user (\(status.st_uid)), whose code would run; it is not loaded")
      return false
    }
    if isShared {
      refuse(path, "other users may write to it, so it is not loaded; 'chmod go-w' changes that")
      return false
    }
    return true
  }

  private mutating func refuse(_ path: String, _ reason: String) {
    refusals.append(Refusal(from: path, reason: reason))
  }
}
