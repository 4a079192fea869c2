#if Logging
  public import AtomicStoreKit
  public import Logging
  import Synchronization

  extension PersistentStoreCoordinator {
    /// The logger that gets the coordinator's entries: opened, saved and removed stores, conflicts, slow fetches with
    /// their plan, changes by other processes, errors. Nil, the default: nothing is logged.
    ///
    /// ```swift
    /// container.persistentStoreCoordinator.logger = Logger(label: "org.example.contacts.store")
    /// ```
    ///
    /// It sets ``log``, so that there is one or the other. The logger's level decides what is kept: saves are `debug`,
    /// opened stores `info`, conflicts `notice`, slow fetches `warning`.
    public var logger: Logger? {
      get { attachment { LoggerHolder() }.logger.withLock { $0 } }
      set {
        attachment { LoggerHolder() }.logger.withLock { $0 = newValue }
        guard let logger = newValue else {
          log = nil
          return
        }
        log = { (entry: StoreLogEntry) -> Void in
          let metadata: Logger.Metadata = entry.metadata.mapValues { Logger.MetadataValue.string($0) }
          logger.log(
            level: Logger.Level(entry.level), Logger.Message(stringLiteral: entry.message), metadata: metadata,
            source: "AtomicStoreKit")
        }
      }
    }
  }

  private final class LoggerHolder: Sendable {
    let logger = Mutex<Logger?>(nil)
  }

  extension Logger.Level {
    /// The level of swift-log that corresponds to an entry's.
    init(_ level: StoreLogEntry.Level) {
      switch level {
      case .debug: self = .debug
      case .info: self = .info
      case .notice: self = .notice
      case .warning: self = .warning
      case .error: self = .error
      }
    }
  }
#endif
