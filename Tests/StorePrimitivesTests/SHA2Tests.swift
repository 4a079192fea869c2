import StorePrimitives
import Testing

@Suite("SHA-256 and SHA-512")
struct SHA2Tests {
  private static func text(_ hash: [UInt8]) -> String {
    hash.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  @Test(
    "the examples of the standard come out",
    arguments: [
      (
        "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
      ),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        "204a8fc6dda82f0a0ced7beb8e08a41657c16ef468b228a8279be331a703c33596fd15c13b1b07f9aa1d3bea57789ca031ad85c7a71dd70354ec631238ca3445"
      ),
      (
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
        "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1",
        "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909"
      ),
    ])
  func examples(_ message: String, _ short: String, _ long: String) {
    #expect(Self.text(SHA2.sha256(message.utf8)) == short)
    #expect(Self.text(SHA2.sha512(message.utf8)) == long)
  }

  // The bytes are (7 i + n) mod 256; the hashes are another implementation's.
  @Test(
    "messages that end around the end of a block are padded as the standard says",
    arguments: [
      (
        0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"
      ),
      (
        1, "4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a",
        "7b54b66836c1fbdd13d2441d9e1434dc62ca677fb68f5fe66a464baadecdbd00576f8d6b5ac3bcc80844b7d50b1cc6603444bbe7cfcf8fc0aa1ee3c636d9e339"
      ),
      (
        55, "81afe5b788dc2ce138ff83d9b20164db75a94d75d2b2432eea4a0ef605088c72",
        "19910fbb344bf57448fff9ee9a58106f31e23a8a339aa91f8c31e8efd180595f6aea94cf4abb7262b5d93e3d70efc38703ccc204e3a3b95faa54c503aceb3f62"
      ),
      (
        56, "2aba54f0ac632420a2b502431408866e40e1d5e430df4cd822642c78ab2eb9c1",
        "87fffcf68777e021d6068baeb18a877d98dd19c758435d1964f96d26865a00060a0f4493381d59414f483f38e72aaa8fc364fd0605a2aea92c709861e28b43c9"
      ),
      (
        63, "733d3d4ee79ee67145bf73da13588f6f235d37414fc64b14a2f00f1762792f5e",
        "a2df1363c3caa5f2744cb66cd03885632cd6fe8e8c9272976761c7eb2b0f438247a201902914ec616b3b38352efe6c3457a0e90b8e62ebf8ab99f9d92b8fb4db"
      ),
      (
        64, "79322907b3e9d013d7dc2c2f256674dbf733045cde01df3539271c6f5605feb8",
        "afba2b1a4441b2333a7f48688f7a6e3839312024bad590da5237c383821c3a9ea75ffba852ccf5b85d87726128501dbd6b8073cbc85c091f293f683542c3ed9d"
      ),
      (
        65, "d85c007c6eb440f085afa2b84f6f2bce4658b240e9f62cb1364bf0485a57e720",
        "2cbdc26833af6d9d8d4175d4cf30278d4184810bfc30110fa796fb26b1fcded85f58847aabce07308851e81bdf4c7bd40a08a7f81a3570235e61175591bd4539"
      ),
      (
        111, "b41ae5233b9ec35d8576a032034d2857b667a618c7038714d727d4dae3aa2525",
        "df79e18538ec82120d0eb59f92ade93fc786e47b5c622121a065503708882f7801fa4b115197504b74feb420ee58fb85718ab98a5bf461bf7f8897472c26be4d"
      ),
      (
        112, "0949563bc78e5ccd85603fa20368a33ed3d2da0141c8284a3b1515fe4683cdd7",
        "d7377bc7047400daa33483946a6e2ec47609bc5f64b8309effd8d38b764b6ef250086511cc4cc9b4e5806613ecdf2a7b86ffcf0b9c88a571b869b32dfeca4b0a"
      ),
      (
        119, "6c87eedf096b345de205b702e5223b73b447a3207791ded3ea007ba15ed6736e",
        "1efae71e30c3bdc6cde724788736a10053fe52f4ae1841dc25003aa000a35c1be915429404dc73719cee9945f55b816cc3390936885bd78ce11ec56721f12957"
      ),
      (
        120, "42500cf6a1e3936d6b9e0bcfe296d654b63255e525487d3634d0b15fde591c4d",
        "ad2a8e4e76a1d9eeca549852ed03e8bda1590120cd1fabe7f7d6f0b211be0b1d58b833091ead363c5c9564938efd45ec95830411e4a5c19de4d613dd10aad2e5"
      ),
      (
        127, "68f6ff710276900c0ffbbc57426f67e00c2e01f0750c7edc25ac06b8ce7a8095",
        "82b7fc0e1e5d1bb8e56e25cef83ba1205d3b3b44c9efacb33b11b13ffc47d1502beb4b9cc885239d9a03a255757c582ee9aaa270c742f8bfd959228443704bf5"
      ),
      (
        128, "489d55fea9a73af36b6dd0be7b4117d8e5683386d39544e8a44c99a87f368707",
        "eb5119a4c3e176a3e0cb2bf8a6237bdc1e474f9f501f27c84284d2289b1ade3a5a1913236a2b771e0f435f2a9b17792eb23eb92248a199f991228ff65de55d09"
      ),
      (
        129, "4e1556b2e9a50a3cc9478f3254727b01065f9ac5d2c3a8b4cd538ae7240bb87d",
        "06e68bf71185b1fda1d64bc8dc221aeaa9040b40d202d6030f840940ff2e530056550e68bd5d7a68d6fcf910077cd5b6c0befa877a436ddae766dd278592d2b6"
      ),
      (
        1000, "6b0df76627243d095b0c4400cb658b7e804dd03461cc03aee8fc8fe0bcada168",
        "5c9833a6b6d14cabd5256ae50e9217163760d44bafa40d2e0e64ee13a2b74ec3f10d965a04c7381d12383c59ee449c75241303eb3806dcf1d8ca0c566fe1ed6a"
      ),
    ])
  func lengths(_ count: Int, _ short: String, _ long: String) {
    let message = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7 + count) }
    #expect(Self.text(SHA2.sha256(message)) == short)
    #expect(Self.text(SHA2.sha512(message)) == long)
  }

  /// Padding and length take another block from some lengths on.
  @Test("messages of all lengths up to several blocks")
  func lengths() {
    let messages = (0..<300).map { count in (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7 + count) } }
    #expect(
      Self.text(SHA2.sha256(messages.flatMap { SHA2.sha256($0) }))
        == "d5238871a46ac4a1a75ac3fb19d645b0b3b9e5f35f5f720e2b240d605c6b694e")
    #expect(
      Self.text(SHA2.sha512(messages.flatMap { SHA2.sha512($0) }))
        == "30d6c78a55e1f152f00703601a37b39b96c6c8fa2b3e66fb9c8182466b108d39d5dd84827c69cadb4376853da7ec31ea83a0a7a0e5a713bac426e0f0ceea8424"
    )
  }
}
