import CStoreFiles
import Glibc

// The system calls of this module, repeated after a signal. Network and user-space file systems return EINTR from calls
// that a local disk never interrupts. These declarations are found before those of Glibc, so that no call is left out.

/// Repeats a call that a signal interrupted.
@inline(__always) private func repeated<Number: SignedInteger>(_ call: () -> Number) -> Number {
  while true {
    let result = call()
    if result != -1 || errno != EINTR { return result }
  }
}

func stat(_ path: UnsafePointer<CChar>!, _ status: UnsafeMutablePointer<stat>!) -> Int32 {
  // Glibc.stat is the structure.
  guard let path, let status else { return -1 }
  return repeated { asf_stat(path, status) }
}
func lstat(_ path: UnsafePointer<CChar>!, _ status: UnsafeMutablePointer<stat>!) -> Int32 {
  repeated { Glibc.lstat(path, status) }
}
func fstat(_ descriptor: Int32, _ status: UnsafeMutablePointer<stat>!) -> Int32 {
  repeated { Glibc.fstat(descriptor, status) }
}
func openFile(_ path: UnsafePointer<CChar>!, _ flags: Int32, _ mode: mode_t = 0) -> Int32 {
  repeated { Glibc.open(path, flags, mode) }
}
func fsync(_ descriptor: Int32) -> Int32 { repeated { Glibc.fsync(descriptor) } }
func rename(_ old: UnsafePointer<CChar>!, _ new: UnsafePointer<CChar>!) -> Int32 {
  repeated { Glibc.rename(old, new) }
}
func renameExclusively(_ old: UnsafePointer<CChar>!, _ new: UnsafePointer<CChar>!) -> Int32 {
  guard let old, let new else { return -1 }
  return repeated { asf_rename_exclusive(old, new) }
}
func exchangePaths(_ one: UnsafePointer<CChar>!, _ other: UnsafePointer<CChar>!) -> Int32 {
  guard let one, let other else { return -1 }
  return repeated { asf_exchange(one, other) }
}
func link(_ old: UnsafePointer<CChar>!, _ new: UnsafePointer<CChar>!) -> Int32 { repeated { Glibc.link(old, new) } }
@discardableResult
func unlink(_ path: UnsafePointer<CChar>!) -> Int32 { repeated { Glibc.unlink(path) } }
@discardableResult
func rmdir(_ path: UnsafePointer<CChar>!) -> Int32 { repeated { Glibc.rmdir(path) } }
func mkdir(_ path: UnsafePointer<CChar>!, _ mode: mode_t) -> Int32 { repeated { Glibc.mkdir(path, mode) } }
func chmod(_ path: UnsafePointer<CChar>!, _ mode: mode_t) -> Int32 { repeated { Glibc.chmod(path, mode) } }
func fchmod(_ descriptor: Int32, _ mode: mode_t) -> Int32 { repeated { Glibc.fchmod(descriptor, mode) } }
func fchown(_ descriptor: Int32, _ user: uid_t, _ group: gid_t) -> Int32 {
  repeated { Glibc.fchown(descriptor, user, group) }
}
func pread(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer!, _ count: Int, _ offset: off_t) -> Int {
  repeated { Glibc.pread(descriptor, buffer, count, offset) }
}
func opendir(_ path: UnsafePointer<CChar>!) -> OpaquePointer? {
  while true {
    if let stream = Glibc.opendir(path) { return stream }
    if errno != EINTR { return nil }
  }
}
