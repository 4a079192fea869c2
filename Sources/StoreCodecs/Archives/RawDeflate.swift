import CZlib
package import StorePrimitives

/// Bytes compressed with DEFLATE, without a header: the form in which SQLite stores cache their model.
package enum RawDeflate {
  /// Decompresses bytes.
  ///
  /// - Parameters:
  ///   - bytes: The compressed bytes.
  ///   - maximumCount: The maximum size of the result: data may expand a thousandfold.
  /// - Throws: `.malformed` with the offset for data that is not DEFLATE or is truncated, or if bytes follow its end;
  ///   `.limitExceeded` for a result larger than `maximumCount`.
  package static func inflate(_ bytes: [UInt8], maximumCount: Int = 64 << 20) throws(PersistentStoreError) -> [UInt8] {
    guard bytes.count <= UInt32.max >> 1 else {
      throw PersistentStoreError(.limitExceeded, "\(bytes.count) compressed bytes")
    }
    let result: Result<[UInt8], PersistentStoreError> = bytes.withUnsafeBufferPointer { input in
      do throws(PersistentStoreError) { return .success(try inflate(input, maximumCount)) } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  private static func inflate(_ input: UnsafeBufferPointer<UInt8>, _ maximumCount: Int) throws(PersistentStoreError)
    -> [UInt8]
  {
    var stream = z_stream()
    guard inflateRawInitialize(&stream) == Z_OK else {
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
    }
    let offset = input.count - Int(stream.avail_in)
    guard result.count <= maximumCount else {
      throw PersistentStoreError(.limitExceeded, "the decompressed data is larger than \(maximumCount) bytes")
    }
    guard status == Z_STREAM_END else {
      throw PersistentStoreError(
        .malformed,
        status == Z_BUF_ERROR ? "the compressed data is truncated" : "the bytes are not compressed with DEFLATE",
        at: StoreLocation(offset: offset))
    }
    guard stream.avail_in == 0 else {
      throw PersistentStoreError(.malformed, "bytes follow the compressed ones", at: StoreLocation(offset: offset))
    }
    return result
  }
}
