import AtomicStoreSPI
import FoundationEssentials
import Glibc
import Synchronization

/// Handles signals so that they leave no partial output: staged files are removed, then the command ends with 128 plus
/// the signal's number.
package enum Interrupt {
  private static let files = Mutex<[String]>([])
  private static let isEnding = Atomic<Bool>(false)
  /// The descriptor to which the handler reports a signal.
  nonisolated(unsafe) private static var bell: Int32 = -1  // Written once, before there is a handler that reads it.

  /// Registers a file to be removed when the program ends, also by a signal.
  package static func remember(_ path: String) { files.withLock { $0.append(path) } }

  /// - Parameters:
  ///   - listens: Whether signals end this process. False for a process that another one ends and that has nothing to
  ///     clean up.
  ///   - tidying: Called before the process ends because of a signal.
  package static func watch(listens: Bool = true, tidying: @escaping @Sendable () -> Void = {}) {
    signal(SIGPIPE, SIG_IGN)
    // Exceeding the file size limit is then an error of the write, and staged files are removed.
    signal(SIGXFSZ, SIG_IGN)
    guard listens else { return }
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    bell = ends[1]
    var watched: [Int32] = []
    for number in [SIGINT, SIGTERM, SIGHUP] {
      // A signal that the parent process ignores remains ignored, as with `nohup`.
      let before = signal(number, SIG_IGN)
      guard unsafeBitCast(before, to: Int.self) != unsafeBitCast(SIG_IGN, to: Int.self) else { continue }
      watched.append(number)
      // A handler may do almost nothing; unlike an ignored signal, it is not inherited by child processes.
      signal(number) { number in
        let saved = errno
        var told = UInt8(truncatingIfNeeded: number)
        _ = Glibc.write(Interrupt.bell, &told, 1)
        errno = saved
      }
    }
    let (listener, numbers) = (ends[0], watched)
    let isListening = SystemThread.detach {
      // The parent may have started the command from a thread with blocked signals, which is inherited. Unblock them
      // here.
      var mask = sigset_t()
      sigemptyset(&mask)
      for number in numbers { sigaddset(&mask, number) }
      pthread_sigmask(SIG_UNBLOCK, &mask, nil)
      var number: UInt8 = 0
      while Glibc.read(listener, &number, 1) != 1 { if errno != EINTR { return } }
      isEnding.store(true, ordering: .sequentiallyConsistent)
      tidying()
      end(Int32(number))
    }
    // Without a thread, a signal ends the program at once, as by default.
    if !isListening { for number in watched { signal(number, SIG_DFL) } }
  }

  /// Waits for the program to end if a signal is ending it. Otherwise the command would report the missing staged files
  /// as an error.
  package static func waitForEnd() {
    while isEnding.load(ordering: .sequentiallyConsistent) { pause() }
  }

  /// Removes the registered files.
  package static func removeFiles() { for path in files.withLock({ $0 }) { unlink(path) } }

  private static func end(_ number: Int32) -> Never {
    StagedStore.discardAllPending {
      removeFiles()
      _exit(128 + number)
    }
  }
}
