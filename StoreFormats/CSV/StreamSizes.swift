/// Numbers of bytes for reading a file in pieces.
struct StreamSizes: Sendable {
  /// Smaller files are read at once.
  var leastFile = 1 << 20
  var head = 64 * 1024
  /// In the second-level cache of most processors, with what is written.
  var piece = 256 * 1024
}
