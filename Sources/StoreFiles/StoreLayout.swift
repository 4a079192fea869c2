/// One file, or a directory of files.
public enum StoreLayout: String, Sendable { case file, folder }
