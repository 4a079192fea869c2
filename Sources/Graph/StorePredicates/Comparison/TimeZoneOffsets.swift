import CICU
import FoundationEssentials
import StoreCodecs
import Synchronization

/// The offset of local time from UTC: always the same (`UTC`, `+02:00`), or that of a zone that ICU knows
/// (`Europe/Berlin`).
struct TimeZoneOffsets: Sendable {
  private enum Source {
    case fixed(Int)
    case zone(Zone)
  }
  private let source: Source

  static let utc = TimeZoneOffsets(source: .fixed(0))

  /// A zone of ICU, which one thread at a time may use.
  private final class Zone: Sendable {
    /// Unchecked: only used while the lock is held.
    struct Pointer: @unchecked Sendable { let zone: OpaquePointer }
    let pointer: Mutex<Pointer>
    init(_ zone: OpaquePointer) { pointer = Mutex(Pointer(zone: zone)) }
    deinit { pointer.withLock { cicu_zone_free($0.zone) } }
  }

  /// Zones in use: opening one takes longer than many offsets.
  private static let known = Mutex<[String: TimeZoneOffsets]>([:])

  /// Finds a zone by name.
  ///
  /// - Returns: What is wrong as the error.
  static func named(_ name: String) -> Result<TimeZoneOffsets, Problem> {
    if ["UTC", "Z", "GMT"].contains(name) { return .success(utc) }
    if let offset = ExactText.zoneOffset(name) { return .success(TimeZoneOffsets(source: .fixed(offset))) }
    if let zone = known.withLock({ $0[name] }) { return .success(zone) }
    var problem: UnsafePointer<CChar>?
    // C would read a name up to its first NUL.
    guard !name.utf8.contains(0), let pointer = cicu_zone_open(name, &problem) else {
      guard let problem else {
        return .failure(
          Problem(message: "'\(name)' is not a time zone: write 'Europe/Berlin', '+02:00' or 'UTC'"))
      }
      return .failure(
        Problem(
          message: "time zones other than 'UTC' and '+02:00' need the library ICU: install the package libicu of the "
            + "system (\(String(cString: problem)))"))
    }
    let zone = TimeZoneOffsets(source: .zone(Zone(pointer)))
    known.withLock {
      if $0.count >= 64 { $0.removeAll() }
      $0[name] = zone
    }
    return .success(zone)
  }

  struct Problem: Error { let message: String }

  /// The seconds that local time is ahead of UTC at a moment, in seconds since 2001 in UTC.
  func offset(at seconds: Int) -> Int {
    switch source {
    case .fixed(let offset): offset
    case .zone(let zone):
      // ICU counts milliseconds since 1970.
      zone.pointer.withLock { Int(cicu_zone_offset($0.zone, Double(seconds + 978_307_200) * 1000)) }
    }
  }

  /// The moment at which a local time is; the first one if clocks were put back to it, and if clocks were put forward
  /// past it, the moment of the change.
  func moment(ofLocal local: Int) -> Int {
    let offsets = Set([offset(at: local - 86_400), offset(at: local + 86_400)])
    let moments = offsets.map { local - $0 }.sorted()
    return moments.first { offset(at: $0) == local - $0 } ?? moments.last ?? local
  }
}
