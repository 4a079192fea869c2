/// One file, or a directory of files.
public enum StoreLayout: String, Sendable {
  /// One file.
  case file
  /// A directory whose files belong to the store.
  case folder
}
