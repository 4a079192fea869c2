import CZlib
public import StorePrimitives

/// Bytes compressed with DEFLATE, without a header: how SQLite stores keep the model they were written with.
public enum RawDeflate {
  /// Decompresses bytes.
  ///
  /// - Parameter maximumCount: The most bytes that may come of it: a few bytes can stand for a thousand times as many.
  /// - Throws: `.malformed` with the offset for what is not DEFLATE or is cut short, or where bytes follow its end;
  ///   `.limitExceeded` for more than `maximumCount`.
  public static func inflate(_ bytes: [UInt8], maximumCount: Int = 64 << 20) throws(PersistentStoreError) -> [UInt8] {
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
    guard inflateRawInitialise(&stream) == Z_OK else {
      throw PersistentStoreError(.limitExceeded, "there is no memory to decompress with")
    }
    defer { inflateEnd(&stream) }
    // zlib only reads through this pointer; that it is declared mutable is C.
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
      throw PersistentStoreError(.limitExceeded, "the compressed bytes stand for more than \(maximumCount)")
    }
    guard status == Z_STREAM_END else {
      throw PersistentStoreError(
        .malformed,
        status == Z_BUF_ERROR ? "the compressed bytes are cut short" : "the bytes are not compressed with DEFLATE",
        at: StoreLocation(offset: offset))
    }
    guard stream.avail_in == 0 else {
      throw PersistentStoreError(.malformed, "bytes follow the compressed ones", at: StoreLocation(offset: offset))
    }
    return result
  }
}
