/// Changes of records, fields, quotes and headers; for folders, of which file they stand in.
enum CSVMutation {
  static func apply(to bytes: inout [UInt8], _ other: [UInt8], _ random: inout MutationRandom) {
    // Good to look at, and near enough: quoted line ends are cut as well.
    var records = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { Array($0) }
    let place = random.below(records.count)
    switch random.below(16) {
    case 0: records.remove(at: place)
    case 1: records.insert(records[place], at: random.below(records.count + 1))
    case 2: records.swapAt(place, random.below(records.count))
    case 3: for _ in 0..<(random.pick([2, 30, 300]) ?? 2) { records.insert(records[place], at: place) }
    case 4:
      let foreign = other.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      if let record = foreign.randomElement(using: &random) { records.insert(Array(record), at: place) }
    case 5: header(&records, &random)
    case 6: delimiters(&records, &random)
    case 7:
      let ending = random.pick(["\r", "\r\r", " ", "\0", ",", "\""]) ?? ""
      for index in records.indices where random.once(in: 2) { records[index] += ending.utf8 }
    case 8: records[place].insert(UInt8(ascii: "\""), at: random.below(records[place].count + 1))
    case 9: records.insert(Array("\u{1F}\(options(&random))".utf8), at: 0)
    case 10: records.insert(Array("\u{1E}\(random.pick(members) ?? "")".utf8), at: place)
    default: fields(of: &records[place], &random)
    }
    bytes = Array(records.joined(separator: [UInt8(ascii: "\n")]))
  }

  private static let members = [
    "Person.csv", "metadata.plist", "Employee.csv", "../Person.csv", "", ".", "..", "a/b.csv", "Person.CSV", "\u{0}",
  ]

  private static func options(_ random: inout MutationRandom) -> String {
    let all = [
      "entity=Person", "entity=", "key=id", "key=a,b", "key=name", "columns=a=b", "columns=", "types=age=Integer 16",
      "types=a=Date,b=Decimal",
      "dateFormat=dd.MM.yyyy", "dateFormat=yyyy-MM-dd HH:mm:ss", "dateFormat=", "delimiter=comma",
      "delimiter=semicolon", "delimiter=tab", "delimiter=bar",
      "header=yes", "header=no", "layout=file", "layout=folder", "edited=accept",
    ]
    return (0...random.below(3)).compactMap { _ in random.pick(all) }.joined(separator: "\t")
  }

  private static let columns = [
    "id:Reference", "name:String", "age:Integer 16", "age:Integer 64", "on:Boolean", "at:Date", "x:Double", "y:Float",
    "d:Decimal", "b:Binary", "u:UUID", "w:URI",
    "t:Transformable", "v:Undefined", "friend->Person", "friends->>Person", "list->>Person (ordered)", "a:b:c", "->",
    "a->", ":", "%3A:String", "a%:String",
    "id", "name", "", "\"\"", "id:Reference", "n\u{0}:String", "x:Nothing",
  ]

  private static func header(_ records: inout [[UInt8]], _ random: inout MutationRandom) {
    // Of the file, or of a member.
    let heads = records.indices.filter { $0 == 0 || records[$0 - 1].first == PackedCSV.memberMark }
    guard let head = random.pick(heads) else { return }
    var fields = records[head].split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { Array($0) }
    let place = random.below(fields.count)
    switch random.below(5) {
    case 0: fields.remove(at: place)
    case 1: fields.insert(fields[place], at: random.below(fields.count + 1))
    case 2: fields.swapAt(place, random.below(fields.count))
    case 3: fields.insert(Array((random.pick(columns) ?? "").utf8), at: place)
    default: fields[place] = Array((random.pick(columns) ?? "").utf8)
    }
    records[head] = Array(fields.joined(separator: [UInt8(ascii: ",")]))
  }

  private static func delimiters(_ records: inout [[UInt8]], _ random: inout MutationRandom) {
    guard let new = random.pick(Array(",;\t| ".utf8)) else { return }
    for index in records.indices {
      for place in records[index].indices where records[index][place] == UInt8(ascii: ",") {
        records[index][place] = new
      }
    }
  }

  private static func fields(of record: inout [UInt8], _ random: inout MutationRandom) {
    var fields = record.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { Array($0) }
    let place = random.below(fields.count)
    switch random.below(8) {
    case 0: fields.remove(at: place)
    case 1: fields.insert(fields[place], at: random.below(fields.count + 1))
    case 2: fields.swapAt(place, random.below(fields.count))
    case 3: fields[place] = [UInt8(ascii: "\"")] + fields[place] + [UInt8(ascii: "\"")]
    case 4: fields[place] = [UInt8(ascii: "\"")] + Edges.text(&random) + [UInt8(ascii: "\"")]
    default: fields[place] = Edges.text(&random)
    }
    record = Array(fields.joined(separator: [UInt8(ascii: ",")]))
  }
}
