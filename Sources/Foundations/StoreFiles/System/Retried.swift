import CStoreFiles
import Glibc

/// System calls that are repeated after a signal. Network and user-space file systems return EINTR from calls that a
/// local disk never interrupts.
enum Retried {
  static func stat(_ path: UnsafePointer<CChar>!, _ status: UnsafeMutablePointer<stat>!) -> Int32 {
    // Glibc.stat is the structure.
    guard let path, let status else { return -1 }
    return repeated { asf_stat(path, status) }
  }
  static func lstat(_ path: UnsafePointer<CChar>!, _ status: UnsafeMutablePointer<stat>!) -> Int32 {
    repeated { Glibc.lstat(path, status) }
  }
  static func fstat(_ descriptor: Int32, _ status: UnsafeMutablePointer<stat>!) -> Int32 {
    repeated { Glibc.fstat(descriptor, status) }
  }
  static func open(_ path: UnsafePointer<CChar>!, _ flags: Int32, _ mode: mode_t = 0) -> Int32 {
    repeated { Glibc.open(path, flags, mode) }
  }
  static func fsync(_ descriptor: Int32) -> Int32 { repeated { Glibc.fsync(descriptor) } }
  static func rename(_ old: UnsafePointer<CChar>!, _ new: UnsafePointer<CChar>!) -> Int32 {
    repeated { Glibc.rename(old, new) }
  }
  static func renameExclusively(_ old: UnsafePointer<CChar>!, _ new: UnsafePointer<CChar>!) -> Int32 {
    guard let old, let new else { return -1 }
    return repeated { asf_rename_exclusive(old, new) }
  }
  static func exchange(_ one: UnsafePointer<CChar>!, _ other: UnsafePointer<CChar>!) -> Int32 {
    guard let one, let other else { return -1 }
    return repeated { asf_exchange(one, other) }
  }
  static func link(_ old: UnsafePointer<CChar>!, _ new: UnsafePointer<CChar>!) -> Int32 {
    repeated { Glibc.link(old, new) }
  }
  @discardableResult
  static func unlink(_ path: UnsafePointer<CChar>!) -> Int32 { repeated { Glibc.unlink(path) } }
  @discardableResult
  static func rmdir(_ path: UnsafePointer<CChar>!) -> Int32 { repeated { Glibc.rmdir(path) } }
  static func mkdir(_ path: UnsafePointer<CChar>!, _ mode: mode_t) -> Int32 { repeated { Glibc.mkdir(path, mode) } }
  static func chmod(_ path: UnsafePointer<CChar>!, _ mode: mode_t) -> Int32 { repeated { Glibc.chmod(path, mode) } }
  static func fchmod(_ descriptor: Int32, _ mode: mode_t) -> Int32 { repeated { Glibc.fchmod(descriptor, mode) } }
  static func fchown(_ descriptor: Int32, _ user: uid_t, _ group: gid_t) -> Int32 {
    repeated { Glibc.fchown(descriptor, user, group) }
  }
  static func pread(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer!, _ count: Int, _ offset: off_t) -> Int {
    repeated { Glibc.pread(descriptor, buffer, count, offset) }
  }
  static func opendir(_ path: UnsafePointer<CChar>!) -> OpaquePointer? {
    while true {
      if let stream = Glibc.opendir(path) { return stream }
      if errno != EINTR { return nil }
    }
  }
}

/// Repeats a call that a signal interrupted.
@inline(__always) private func repeated<Number: SignedInteger>(_ call: () -> Number) -> Number {
  while true {
    let result = call()
    if result != -1 || errno != EINTR { return result }
  }
}
