/// SHA-256 and SHA-512 (FIPS 180-4), for the version hashes of models and their digests.
///
/// Written here because the hash of an entity is a few hundred bytes: a cryptography package would be built by every user of the
/// kit. Nothing secret is hashed, so that the time may depend on the input's length.
package enum SHA2 {
  /// The 32 bytes of SHA-256.
  package static func sha256(_ message: some Sequence<UInt8>) -> [UInt8] {
    var state = initial.map { UInt32($0 >> 32) }
    // The constants of SHA-256 are the upper halves of the first 64 of SHA-512.
    process(Array(message), &state, constants[..<64].map { UInt32($0 >> 32) }, rotations256)
    return state.flatMap(bytes)
  }

  /// The 64 bytes of SHA-512.
  package static func sha512(_ message: some Sequence<UInt8>) -> [UInt8] {
    var state = initial
    process(Array(message), &state, constants, rotations512)
    return state.flatMap(bytes)
  }

  /// By how many bits the six functions of the standard rotate; the last of the two small ones shifts.
  private struct Rotations {
    var upper0: (Int, Int, Int), upper1: (Int, Int, Int), lower0: (Int, Int, Int), lower1: (Int, Int, Int)
  }
  private static let rotations256 = Rotations(
    upper0: (2, 13, 22), upper1: (6, 11, 25), lower0: (7, 18, 3), lower1: (17, 19, 10))
  private static let rotations512 = Rotations(
    upper0: (28, 34, 39), upper1: (14, 18, 41), lower0: (1, 8, 7), lower1: (19, 61, 6))

  @inline(__always)
  private static func rotated<Word: FixedWidthInteger & UnsignedInteger>(_ word: Word, _ bits: Int) -> Word {
    word &>> Word(truncatingIfNeeded: bits) | word &<< Word(truncatingIfNeeded: Word.bitWidth - bits)
  }

  private static func bytes(_ word: some FixedWidthInteger & UnsignedInteger) -> [UInt8] {
    withUnsafeBytes(of: word.bigEndian) { Array($0) }
  }

  private static func process<Word: FixedWidthInteger & UnsignedInteger>(
    _ message: [UInt8], _ state: inout [Word], _ constants: [Word], _ rotations: Rotations
  ) {
    let wordSize = Word.bitWidth / 8
    let blockSize = wordSize * 16
    var padded = message
    padded.append(0x80)
    // The length in bits is a number of two words.
    while padded.count % blockSize != blockSize - 2 * wordSize { padded.append(0) }
    padded += [UInt8](repeating: 0, count: 2 * wordSize - 8) + bytes(UInt64(message.count) &* 8)
    var schedule = [Word](repeating: 0, count: constants.count)
    for start in stride(from: 0, to: padded.count, by: blockSize) {
      for index in 0..<16 {
        var word: Word = 0
        for byte in padded[(start + index * wordSize)..<(start + (index + 1) * wordSize)] { word = word &<< 8 | Word(byte) }
        schedule[index] = word
      }
      extend(&schedule, rotations)
      compress(&state, schedule, constants, rotations)
    }
  }

  private static func extend<Word: FixedWidthInteger & UnsignedInteger>(_ schedule: inout [Word], _ rotations: Rotations) {
    let (low, high) = (rotations.lower0, rotations.lower1)
    for index in 16..<schedule.count {
      let early = schedule[index - 15]
      let late = schedule[index - 2]
      let first = rotated(early, low.0) ^ rotated(early, low.1) ^ early &>> Word(truncatingIfNeeded: low.2)
      let second = rotated(late, high.0) ^ rotated(late, high.1) ^ late &>> Word(truncatingIfNeeded: high.2)
      schedule[index] = schedule[index - 16] &+ first &+ schedule[index - 7] &+ second
    }
  }

  private static func compress<Word: FixedWidthInteger & UnsignedInteger>(
    _ state: inout [Word], _ schedule: [Word], _ constants: [Word], _ rotations: Rotations
  ) {
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    let (upper0, upper1) = (rotations.upper0, rotations.upper1)
    for index in schedule.indices {
      let sum1 = rotated(e, upper1.0) ^ rotated(e, upper1.1) ^ rotated(e, upper1.2)
      let choice = e & f ^ ~e & g
      let first = h &+ sum1 &+ choice &+ constants[index] &+ schedule[index]
      let sum0 = rotated(a, upper0.0) ^ rotated(a, upper0.1) ^ rotated(a, upper0.2)
      let majority = a & b ^ a & c ^ b & c
      (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ sum0 &+ majority)
    }
    for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] = state[index] &+ word }
  }

  /// The fractions of the square roots of the first eight primes.
  private static let initial: [UInt64] = [
    0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1, 0x510E527FADE682D1,
    0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
  ]
  /// The fractions of the cube roots of the first eighty primes.
  private static let constants: [UInt64] = [
    0x428A2F98D728AE22, 0x7137449123EF65CD, 0xB5C0FBCFEC4D3B2F, 0xE9B5DBA58189DBBC, 0x3956C25BF348B538,
    0x59F111F1B605D019, 0x923F82A4AF194F9B, 0xAB1C5ED5DA6D8118, 0xD807AA98A3030242, 0x12835B0145706FBE,
    0x243185BE4EE4B28C, 0x550C7DC3D5FFB4E2, 0x72BE5D74F27B896F, 0x80DEB1FE3B1696B1, 0x9BDC06A725C71235,
    0xC19BF174CF692694, 0xE49B69C19EF14AD2, 0xEFBE4786384F25E3, 0x0FC19DC68B8CD5B5, 0x240CA1CC77AC9C65,
    0x2DE92C6F592B0275, 0x4A7484AA6EA6E483, 0x5CB0A9DCBD41FBD4, 0x76F988DA831153B5, 0x983E5152EE66DFAB,
    0xA831C66D2DB43210, 0xB00327C898FB213F, 0xBF597FC7BEEF0EE4, 0xC6E00BF33DA88FC2, 0xD5A79147930AA725,
    0x06CA6351E003826F, 0x142929670A0E6E70, 0x27B70A8546D22FFC, 0x2E1B21385C26C926, 0x4D2C6DFC5AC42AED,
    0x53380D139D95B3DF, 0x650A73548BAF63DE, 0x766A0ABB3C77B2A8, 0x81C2C92E47EDAEE6, 0x92722C851482353B,
    0xA2BFE8A14CF10364, 0xA81A664BBC423001, 0xC24B8B70D0F89791, 0xC76C51A30654BE30, 0xD192E819D6EF5218,
    0xD69906245565A910, 0xF40E35855771202A, 0x106AA07032BBD1B8, 0x19A4C116B8D2D0C8, 0x1E376C085141AB53,
    0x2748774CDF8EEB99, 0x34B0BCB5E19B48A8, 0x391C0CB3C5C95A63, 0x4ED8AA4AE3418ACB, 0x5B9CCA4F7763E373,
    0x682E6FF3D6B2B8A3, 0x748F82EE5DEFB2FC, 0x78A5636F43172F60, 0x84C87814A1F0AB72, 0x8CC702081A6439EC,
    0x90BEFFFA23631E28, 0xA4506CEBDE82BDE9, 0xBEF9A3F7B2C67915, 0xC67178F2E372532B, 0xCA273ECEEA26619C,
    0xD186B8C721C0C207, 0xEADA7DD6CDE0EB1E, 0xF57D4F7FEE6ED178, 0x06F067AA72176FBA, 0x0A637DC5A2C898A6,
    0x113F9804BEF90DAE, 0x1B710B35131C471B, 0x28DB77F523047D84, 0x32CAAB7B40C72493, 0x3C9EBE0A15C9BEBC,
    0x431D67C49C100D4C, 0x4CC5D4BECB3E42B6, 0x597F299CFC657E2A, 0x5FCB6FAB3AD6FAEC, 0x6C44198C4A475817,
  ]
}
