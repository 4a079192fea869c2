import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// Random numbers that a seed repeats.
package struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64
  package init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 0x1234_5678_9ABC_DEF1 }
  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
  package mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<max(bound, 1), using: &self) }
}
