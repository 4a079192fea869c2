extension NodeTable {
  /// The greatest integer reference of any node, or 0.
  public var greatestIntegerReference: Int64 {
    var greatest: Int64 = 0
    for table in entities {
      let numbers = table.referenceNumbers.header
      for row in 0..<table.count where table.referenceTexts.map({ !$0.header.pointee.isPresent(row) }) ?? true {
        greatest = max(greatest, numbers.pointee.cell(row, as: Int64.self))
      }
    }
    return greatest
  }
}
