import AtomicStoreSPI
import StoreCodecs

extension ImportSource {
  /// The tables of sources: those that are compressed with gzip are decompressed, and ZIP archives are opened, which is
  /// found from the content. The members of an archive are tables as the files of a directory are.
  ///
  /// - Returns: The tables, and what was left out of archives.
  /// - Throws: `.malformed` for what is damaged, `.limitExceeded` for what is larger than the limits: as a whole
  ///   `maximumBytes`, and each source `maximumMemory`.
  static func opened(
    _ sources: [ImportSource], _ limits: StoreLimits, hasModel: Bool
  ) throws(PersistentStoreError) -> (tables: [ImportSource], notes: [SelectionNote]) {
    var tables: [ImportSource] = []
    var notes: [SelectionNote] = []
    for source in sources {
      do throws(PersistentStoreError) {
        for table in try source.opened(limits, &notes) { tables.append(try table.withoutArrow(limits, hasModel)) }
      } catch {
        throw error.located(StoreLocation(file: source.name))
      }
    }
    return (tables, notes)
  }

  /// The rows of an Arrow file or stream as JSON; other tables as they are.
  private func withoutArrow(_ limits: StoreLimits, _ hasModel: Bool) throws(PersistentStoreError) -> ImportSource {
    guard ArrowRecords.isArrow(bytes.withUnsafeBytes { Array($0.prefix(8)) }) else { return self }
    let records = try ArrowRecords(
      bytes, limit: min(limits.bytes, limits.memory(forInput: bytes.count)), namesObjects: hasModel)
    var result = ImportSource(bytes: records.text, name: name, entityName: entityName)
    result.archiveName = archiveName
    result.types = records.types
    result.storeUUID = records.storeUUID
    result.isUTF8 = true
    return result
  }

  private func opened(
    _ limits: StoreLimits, _ notes: inout [SelectionNote]
  ) throws(PersistentStoreError) -> [ImportSource] {
    let start = bytes.withUnsafeBytes { Array($0.prefix(4)) }
    guard RawDeflate.isGzip(start) || ZipArchive.isArchive(start) else { return [self] }
    let packed = bytes.withUnsafeBytes { Array($0) }
    let limit = min(limits.bytes, limits.memory(forInput: packed.count), Int(UInt32.max))
    do throws(PersistentStoreError) {
      if RawDeflate.isGzip(start) {
        let table = try RawDeflate.inflate(packed, hasHeader: true, maximumCount: limit)
        return [ImportSource(bytes: table, name: name, entityName: entityName)]
      }
      return try members(of: try ZipArchive(packed), limit, &notes)
    } catch {
      guard error.code == .limitExceeded else { throw error }
      throw PersistentStoreError(
        .limitExceeded,
        error.message + ": the limit 'maximumMemory', by default 32 MB plus 48 times the size of the compressed file",
        at: error.location)
    }
  }

  private func members(
    of archive: ZipArchive, _ limit: Int, _ notes: inout [SelectionNote]
  ) throws(PersistentStoreError) -> [ImportSource] {
    func stem(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }
    // Programs of macOS add such files.
    let members = archive.members.filter { !$0.name.hasPrefix("__MACOSX/") && !stem($0.name).hasPrefix(".") }
    let tables = members.filter { Self.isTable(stem($0.name)) }
    guard !tables.isEmpty else {
      let names = members.prefix(3).map(\.name).joined(separator: ", ")
      let isSheet = members.contains { ["[Content_Types].xml", "mimetype"].contains($0.name) }
      throw PersistentStoreError(
        .foreignFormat,
        isSheet
          ? "this is not a table, but a spreadsheet (.xlsx, .ods): save the sheet as CSV"
          : "the ZIP archive has no CSV or JSON table" + (names.isEmpty ? "" : ", but \(names)"))
    }
    let others = members.filter { !Self.isTable(stem($0.name)) }.map(\.name)
    if !others.isEmpty {
      notes.append(
        SelectionNote(
          subject: name, count: others.count, text: "members that are not tables: \(others.joined(separator: ", "))"))
    }
    var rest = limit
    var result: [ImportSource] = []
    for member in tables {
      let table = try archive.contents(of: member, maximumCount: rest)
      rest -= table.count
      var source = ImportSource(bytes: table, name: "\(name)/\(member.name)", entityName: entityName)
      source.archiveName = name
      result.append(source)
    }
    return result
  }
}
