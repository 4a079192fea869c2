import Foundation
import Testing

@Suite("Passwords in the URLs of databases are never printed") struct PasswordTests {
  private static let secret = "S3cr\"et"

  private static let commands = [
    "inspect URL", "inspect URL --json", "check URL", "check URL --json", "dump URL", "dump URL --json",
    "fetch URL --entity Tag", "fetch URL --entity Tag --json", "metadata get URL", "metadata get URL nokey",
    "metadata get URL nokey --json", "metadata set URL NSStoreUUID x", "metadata set URL nokey --remove",
    "diff URL t.xml", "diff URL t.xml --ignore-model", "diff t.xml URL --ignore-model --json",
    "model diff URL T.xcdatamodel",
    "model diff t.xml URL", "model lint URL", "merge URL t.xml -o m.xml", "merge --base URL t.xml t.xml -o n.xml",
    "merge --base=URL t.xml t.xml -o n.xml --json", "patch URL p.json", "patch URL p.json --dry-run --json",
    "set URL --entity Tag --all name:=x --dry-run", "insert URL --entity Tag name:=y --dry-run --json",
    "delete URL --entity Tag --all --dry-run", "convert URL c.xml --json", "convert URL d.xml --verbose",
    "convert t.xml URL --json", "convert t.xml URL --force --dry-run",
    "migrate URL --model T.xcdatamodel -o e.xml --json",
    "migrate URL --model T.xcdatamodel --in-place --dry-run", "anonymize URL Tag.name=mask -o f.xml --json",
    "import Tag.csv --into URL --json", "import Tag.csv -o URL --model T.xcdatamodel", "report URL -o r.html --json",
    "unknown URL", "inspect URL --from Nothing", "fetch URL --entity None",
  ]

  /// The addresses of a server that refuses, and of the server for tests, if there is one with a password.
  private static func addresses() throws -> [(url: String, secret: String, answers: Bool)] {
    let password = secret.replacing("\"", with: "%22")
    var result = [
      (url: "postgresql://someone:\(password)@127.0.0.1:1/postgres?schema=x", secret: "S3cr", answers: false),
      (url: "postgresql://127.0.0.1:1/postgres?password=\(password)&schema=x", secret: "S3cr", answers: false),
    ]
    if let server = ProcessInfo.processInfo.environment["ATOMICSTORE_POSTGRES_URL"],
      let found = server.firstMatch(of: #/^([^?]*:\/\/[^@:]*:([^@]{6,})@[^?]*)/#)
    {
      let schema = "password\(UUID().uuidString.prefix(8))".lowercased()
      result.append((url: "\(found.1)?schema=\(schema)", secret: String(found.2), answers: true))
    }
    return result
  }

  @Test("in no output of any command, whether the server answers or not")
  func allCommands() throws {
    let folder = try Folder()
    try NodeStore.make(in: folder)
    try NodeStore.shell(
      """
      "$0" set t.xml --entity Tag --where "name == 'red'" name:=blue -o u.xml
      "$0" diff t.xml u.xml --patch > p.json || true
      """, in: folder)
    for (url, secret, answers) in try Self.addresses() {
      if answers {
        let made = try Command.run("convert", "t.xml", url, in: folder.path)
        #expect(made.code == 0, "\(made.errors)")
      }
      for command in Self.commands {
        let words = command.split(separator: " ").map { String($0).replacing("URL", with: url) }
        let result = try Command.run(arguments: words, in: folder.path)
        for text in [result.output, result.errors] {
          #expect(!text.contains(secret), "\(command): \(text)")
        }
      }
      try (url + "\n").write(toFile: folder("list"), atomically: false, encoding: .utf8)
      for command in ["inspect", "check", "fetch --entity Tag", "convert --to XML -o out"] {
        let words = command.split(separator: " ").map(String.init) + ["--files-from", "list"]
        let result = try Command.run(arguments: words, in: folder.path)
        #expect(!result.output.contains(secret) && !result.errors.contains(secret), "\(command): \(result.errors)")
        #expect(result.code != 0 || answers)
      }
    }
  }

  @Test(
    "nor where the password has characters that a URL writes as escapes",
    arguments: [
      "postgresql://someone:S3cr/S3cr@127.0.0.1:1/d?schema=x", "postgresql://someone:S3cr?S3cr@127.0.0.1:1/d?schema=x",
      "postgresql://someone:S3cr@S3cr@127.0.0.1:1/d?schema=x", "postgresql://someone:S3cr?S3=S3cr@127.0.0.1:1/d",
      "postgresql://127.0.0.1:1/d?password=S3cr&S3cr&schema=x", "postgresql:someone:S3cr@127.0.0.1:1/d",
    ])
  func unescaped(_ url: String) throws {
    let folder = try Folder()
    for arguments in [["inspect", url], ["inspect", url, "--json"], ["convert", Command.company, url]] {
      let result = try Command.run(arguments: arguments, in: folder.path)
      // Some are valid, but nothing listens there.
      #expect([64, 69].contains(result.code), "\(result.errors)")
      #expect(!result.output.contains("S3c") && !result.errors.contains("S3c"), "\(result.output)\(result.errors)")
    }
  }
}
