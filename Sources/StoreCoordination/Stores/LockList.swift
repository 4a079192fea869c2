import Glibc

/// The system's list of locks on files, `/proc/locks` (proc_locks(5)).
enum LockList {
  /// Whether this process has a lock on a file that does not belong to a descriptor. False where the system has no
  /// list.
  ///
  /// A line is `1: POSIX ADVISORY READ 123 08:02:1234 0 EOF`, with the process, and the device and number of the file.
  /// File systems that are made of others name another device than `stat` does: there the number decides.
  static func hasOwnLock(on path: String) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0, let list = fopen("/proc/locks", "re") else { return false }
    defer { fclose(list) }
    var line: UnsafeMutablePointer<CChar>?
    var room = 0
    defer { free(line) }
    while getline(&line, &room, list) > 0 {
      guard let line else { break }
      if isOwn(String(cString: line), status) { return true }
    }
    return false
  }

  static func isOwn(_ line: String, _ status: stat) -> Bool {
    let words = line.split { $0 == " " || $0 == "\n" }
    // A process that waits for a lock is listed with an arrow.
    guard words.count >= 6, words[1] == "POSIX", words[4] == "\(getpid())" else { return false }
    let numbers = words[5].split(separator: ":")
    guard numbers.count == 3, numbers[2] == "\(status.st_ino)", let major = Int(numbers[0], radix: 16) else {
      return false
    }
    // As glibc packs them (makedev(3)).
    let device = UInt64(status.st_dev)
    let ownMajor = Int(device >> 8 & 0xFFF | device >> 32 & 0xFFFF_F000)
    let ownMinor = Int(device & 0xFF | device >> 12 & 0xFFFF_FF00)
    return major == 0 || ownMajor == 0 || (major == ownMajor && Int(numbers[1], radix: 16) == ownMinor)
  }
}
