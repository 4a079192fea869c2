import Glibc

/// Keeps the commits of a folder's stores apart, those of other processes too. It lies on the folder itself, so that it leaves nothing
/// behind, and goes with the process that holds it.
struct FolderLock {
  private let descriptor: Int32

  /// Waits for whoever holds it, for ten seconds at most. Where there is none to be had (a file system without locks), commits go
  /// on: what they replace is looked at once more afterwards.
  init(_ folder: String) {
    descriptor = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    for _ in 0..<5_000 {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR) { return }
      usleep(2_000)
    }
  }

  /// Closing lets go of it.
  func release() { if descriptor >= 0 { Glibc.close(descriptor) } }
}
