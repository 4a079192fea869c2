import Glibc

/// Functions of the C library that FoundationEssentials does not export.
enum MathFunctions {
  static func power(_ x: Double, _ y: Double) -> Double { pow(x, y) }
  static func log10(_ x: Double) -> Double { Glibc.log10(x) }
  static func ln(_ x: Double) -> Double { log(x) }
  static func exp(_ x: Double) -> Double { Glibc.exp(x) }
}
