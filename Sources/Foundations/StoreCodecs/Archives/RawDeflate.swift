import CZlib
package import StorePrimitives

/// Bytes compressed with DEFLATE, without a header, which is the form in which SQLite stores cache their model; or with
/// that of zlib or gzip.
package enum RawDeflate {
  /// What each member of gzip begins with (RFC 1952).
  private static let gzipMagic: [UInt8] = [0x1F, 0x8B]
  /// The first byte of zlib's header for DEFLATE with a window of 32 KB (RFC 1950).
  private static let zlibMethod: UInt8 = 0x78

  /// Whether bytes begin with the header of gzip, for DEFLATE.
  package static func isGzip(_ bytes: [UInt8]) -> Bool { bytes.starts(with: gzipMagic + [UInt8(Z_DEFLATED)]) }

  /// Whether bytes begin with a header of zlib.
  package static func isZlib(_ bytes: [UInt8]) -> Bool {
    bytes.count > 2 && bytes[0] == zlibMethod && (UInt16(bytes[0]) << 8 | UInt16(bytes[1])) % 31 == 0
  }

  /// Decompresses bytes.
  ///
  /// - Parameters:
  ///   - bytes: The compressed bytes. Several members of gzip that follow each other are one result.
  ///   - hasHeader: Whether they have the header of zlib or gzip.
  ///   - maximumCount: The maximum size of the result: data may expand a thousandfold.
  /// - Throws: `.malformed` with the offset for data that is not DEFLATE or is truncated, or if bytes follow its end;
  ///   `.limitExceeded` for a result larger than `maximumCount`.
  package static func inflate(
    _ bytes: [UInt8], hasHeader: Bool = false, maximumCount: Int = 64 << 20
  ) throws(PersistentStoreError) -> [UInt8] {
    guard bytes.count <= UInt32.max >> 1 else {
      throw PersistentStoreError(.limitExceeded, "\(bytes.count) compressed bytes")
    }
    let result: Result<[UInt8], PersistentStoreError> = bytes.withUnsafeBufferPointer { input in
      do throws(PersistentStoreError) { return .success(try inflate(input, hasHeader, maximumCount)) } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  private static func inflate(
    _ input: UnsafeBufferPointer<UInt8>, _ hasHeader: Bool, _ maximumCount: Int
  ) throws(PersistentStoreError) -> [UInt8] {
    var stream = z_stream()
    guard (hasHeader ? inflateWrappedInitialize(&stream) : inflateRawInitialize(&stream)) == Z_OK else {
      throw PersistentStoreError(.limitExceeded, "there is not enough memory to decompress")
    }
    defer { inflateEnd(&stream) }
    // zlib only reads through this pointer, although it is declared mutable.
    stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
    stream.avail_in = UInt32(input.count)
    var result: [UInt8] = []
    var status = Z_OK
    while status == Z_OK {
      let room = min(max(input.count &* 4, 4096), maximumCount + 1 - result.count, 1 << 20)
      guard room > 0 else { break }
      let chunk = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
        stream.next_out = buffer.baseAddress
        stream.avail_out = UInt32(buffer.count)
        status = CZlib.inflate(&stream, Z_NO_FLUSH)
        count = buffer.count - Int(stream.avail_out)
      }
      result += chunk
      // Another member of gzip may follow.
      let next = input.count - Int(stream.avail_in)
      if hasHeader, status == Z_STREAM_END, input[next...].starts(with: gzipMagic) {
        status = inflateReset(&stream)
      }
    }
    let offset = input.count - Int(stream.avail_in)
    guard result.count <= maximumCount else {
      throw PersistentStoreError(.limitExceeded, "the decompressed data is larger than \(maximumCount) bytes")
    }
    // "incorrect data check", "incorrect length check"
    let isOfChecksum =
      stream.msg.map { String(cString: $0).hasPrefix("incorrect") && String(cString: $0).hasSuffix("check") } ?? false
    guard status == Z_STREAM_END else {
      throw PersistentStoreError(
        .malformed,
        status == Z_BUF_ERROR
          ? "the compressed data is truncated"
          : isOfChecksum
            ? "the decompressed data does not have the checksum that is stored with it: it is damaged"
            : "the bytes are not compressed with DEFLATE",
        at: StoreLocation(offset: offset))
    }
    guard stream.avail_in == 0 else {
      throw PersistentStoreError(.malformed, "bytes follow the compressed ones", at: StoreLocation(offset: offset))
    }
    return result
  }
}
