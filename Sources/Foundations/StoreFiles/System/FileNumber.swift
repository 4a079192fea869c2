package import Glibc

/// A file's numbers in the system, which another name of the same file has too.
package struct FileNumber: Hashable, Sendable {
  private let device: UInt
  private let inode: UInt

  package init(_ status: stat) { (device, inode) = (UInt(status.st_dev), UInt(status.st_ino)) }

  /// The numbers of the file at a path, links followed. Nil if there is none.
  package init?(_ path: String) {
    var status = stat()
    guard Retried.stat(path, &status) == 0 else { return nil }
    self.init(status)
  }
}
