import Glibc

/// How much more memory a process held at its most, by Linux's count of resident pages.
public enum PeakMemory {
  /// The bytes that `body` took beyond what was held before it; 0 where the system does not tell.
  public static func growth(_ body: () throws -> some Any) rethrows -> Int {
    reset()
    let before = read("VmRSS:")
    _ = try body()
    return max(0, read("VmHWM:") - before)
  }

  /// Makes the peak what is held now.
  private static func reset() {
    let descriptor = open("/proc/self/clear_refs", O_WRONLY)
    guard descriptor >= 0 else { return }
    _ = write(descriptor, "5", 1)
    close(descriptor)
  }

  private static func read(_ key: StaticString) -> Int {
    let descriptor = open("/proc/self/status", O_RDONLY)
    guard descriptor >= 0 else { return 0 }
    defer { close(descriptor) }
    return withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
      let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
      let text = buffer.prefix(max(0, count))
      return key.withUTF8Buffer { key in
        guard text.count > key.count,
          let place = (0..<text.count - key.count).first(where: {
            text[$0] == key[0] && text[$0..<$0 + key.count].elementsEqual(key)
          })
        else { return 0 }
        return text[(place + key.count)...].drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.prefix {
          $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9")
        }
        .reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } * 1024
      }
    }
  }
}
