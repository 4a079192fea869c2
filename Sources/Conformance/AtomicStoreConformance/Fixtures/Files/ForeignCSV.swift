import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// Files of other programs, and what they mean. Nil records: the file is to be refused. A field that is nil has nothing
/// in it.
struct ForeignCSV: Sendable {
  var text: String
  var header: [String] = []
  var records: [[String?]]?

  static let all: [ForeignCSV] = [
    .init(text: "a,b,c\n1,2,3\n", header: ["a", "b", "c"], records: [["1", "2", "3"]]),
    .init(text: "a,b,c\r\n1,2,3\r\n4,5,6", header: ["a", "b", "c"], records: [["1", "2", "3"], ["4", "5", "6"]]),
    .init(
      text: "a,b\n1,\"ha \"\"ha\"\" ha\"\n3,4\n", header: ["a", "b"], records: [["1", "ha \"ha\" ha"], ["3", "4"]]),
    .init(text: "a,b\n1,\"\"\n\"\",2\n", header: ["a", "b"], records: [["1", ""], ["", "2"]]),
    .init(text: "a,b\n1,\n,2\n", header: ["a", "b"], records: [["1", nil], [nil, "2"]]),
    .init(
      text: "key,val\n1,\"{\"\"type\"\": \"\"Point\"\", \"\"at\"\": [102.0, 0.5]}\"\n", header: ["key", "val"],
      records: [["1", "{\"type\": \"Point\", \"at\": [102.0, 0.5]}"]]),
    .init(
      text: "a,b\n1,\"Once upon\na time\"\n5,6\n", header: ["a", "b"],
      records: [["1", "Once upon\na time"], ["5", "6"]]),
    .init(text: "a,b\r\n1,\"x\r\ny\"\r\n", header: ["a", "b"], records: [["1", "x\r\ny"]]),
    .init(text: "a,b\n1,\"\n\"\"quoted\"\"\n\"\n", header: ["a", "b"], records: [["1", "\n\"quoted\"\n"]]),
    .init(
      text: "first,address\nJohn,\"120 any st., Anytown\"\n", header: ["first", "address"],
      records: [["John", "120 any st., Anytown"]]),
    .init(text: "a,b\nʤ,€𝄞\n", header: ["a", "b"], records: [["ʤ", "€𝄞"]]),
    .init(text: "\u{FEFF}a,b\n1,2\n", header: ["a", "b"], records: [["1", "2"]]),
    .init(text: "a,b\n 1, 2 \n\t3,4\u{A0}\n", header: ["a", "b"], records: [[" 1", " 2 "], ["\t3", "4\u{A0}"]]),
    .init(text: "a,b\n\" 1\",\"2 \"\n", header: ["a", "b"], records: [[" 1", "2 "]]),
    .init(
      text: "a;b;c\n1,5;2;3\n2,5;3;4\n", header: ["a", "b", "c"], records: [["1,5", "2", "3"], ["2,5", "3", "4"]]),
    .init(text: "a\tb\n1\t2\n", header: ["a", "b"], records: [["1", "2"]]),
    .init(text: "a,b\n007,1e5\ntrue,NULL\n", header: ["a", "b"], records: [["007", "1e5"], ["true", "NULL"]]),
    .init(text: "a,b\n\\,\\n\n", header: ["a", "b"], records: [["\\", "\\n"]]),
    .init(text: "a,b\n'x,y'\n", header: ["a", "b"], records: [["'x", "y'"]]),
    .init(text: "\"a,b\",\"c\"\n1,2\n", header: ["a,b", "c"], records: [["1", "2"]]),
    .init(text: "a,b\n#1,//2\n", header: ["a", "b"], records: [["#1", "//2"]]),
    .init(text: "a,b\n", header: ["a", "b"], records: []),
    .init(text: "a,b\n1,\"2\n"), .init(text: "a,b\n1,2\"\n"), .init(text: "a,b\n1,\"2\"x\n"), .init(text: "a,b\n1\n"),
    .init(text: "a,b\n1,2,3\n"), .init(text: "a,a\n1,2\n"), .init(text: "a,\n1,2\n"), .init(text: "a,b\n1,x\"y\"z\n"),
    .init(text: "a,b\n\n1,2\n"),
  ]
}
