import AtomicStoreSPI
import Testing

@testable import PostgreSQLStoreFormat

/// What the URL of a PostgreSQL store says.
@Suite struct AddressTests {
  @Test(
    "the name of the schema is taken out of the URL, and its escapes are decoded",
    arguments: [
      ("postgresql://h/d", "postgresql://h/d", "public"), ("postgresql://h/d?schema=s", "postgresql://h/d", "s"),
      ("postgresql://h/d?a=1&schema=my%20%C3%BC%22&b=2", "postgresql://h/d?a=1&b=2", "my ü\""),
      ("postgresql:///d?host=/run/pg&schema=%41", "postgresql:///d?host=/run/pg", "A"),
      ("postgresql://u:p%40w@[::1]:5/d?schema=s", "postgresql://u:p%40w@[::1]:5/d", "s"),
      ("postgresql://h/d?user=u@x&schema=s", "postgresql://h/d?user=u@x", "s"),
      ("postgresql://u:a?b@h/d?schema=s", "postgresql://u:a?b@h/d", "s"), ("postgresql:", "postgresql:", "public"),
    ])
  func schemas(_ url: String, _ rest: String, _ schema: String) throws {
    let parts = try PostgreSQLDatabase.parts(of: url)
    #expect(parts.url == rest)
    #expect(parts.schema == schema)
  }

  @Test(
    "a URL that libpq would read differently, and a name that a server would cut off, are refused without showing them",
    arguments: [
      "postgresql://u:secret@secret@h/d", "postgresql://u:secret/secret@h/d", "postgresql://u:secret/@h/d",
      "postgresql://@secret@h/d", "postgresql://u:a@\u{301}secret@h/d", "postgresql://h/d?schema=",
      "postgresql://h/d?schema=%00",
      "postgresql://h/d?schema=%4", "postgresql://h/d?schema=%+1", "postgresql://h/d?schema=%FF",
      "postgresql://h/d?schema=" + String(repeating: "s", count: 64),
    ])
  func refused(_ url: String) throws {
    #expect {
      try PostgreSQLDatabase(url: url, isReadOnly: false)
    } throws: { error in
      let error = error as? PersistentStoreError
      return error?.code == .invalidOption && error?.message.contains("secret") == false
    }
  }
}
