import ArgumentParser
import AtomicStoreKit
import BuiltInStoreFormats
import CommandSupport
import FoundationEssentials
import Glibc

/// A page of `atomicstore help` that is not about one command.
struct HelpTopic: Sendable {
  var name: String
  var abstract: String
  var text: @Sendable () -> String

  static let all = [
    HelpTopic(name: "topics", abstract: "The list of these pages.", text: list),
    HelpTopic(name: "formats", abstract: "Store types, and how the type of a file is found.", text: formats),
    HelpTopic(name: "options", abstract: "The options of each format, for reading and writing.", text: options),
    HelpTopic(name: "common", abstract: "The options that all commands have.", text: common),
    HelpTopic(
      name: "predicates", abstract: "The language of --where, --columns, --group and --sort.", text: { predicates }),
    HelpTopic(name: "exit-codes", abstract: "What exit codes mean.", text: { exitCodes }),
  ]
  static let names = all.map(\.name)

  /// Prints a page and ends the program, if this program was started as `… help TOPIC` or `… help --web`.
  static func showIfAsked() {
    let words = CommandLine.arguments.dropFirst()
    guard words.count == 2, words.first == "help" else { return }
    let topic = all.first { $0.name == words.last }
    guard topic != nil || words.last == "--web" else { return }
    do {
      let text = try topic?.text() ?? KitFiles.documentation()
      try Diagnostics.put(HelpText.laidOut(text, width: Diagnostics.helpWidth) + "\n")
    } catch let failure as CommandFailure {
      Diagnostics.error(failure)
      Glibc.exit(failure.exitCode)
    } catch {}
    Glibc.exit(0)
  }

  private static func list() -> String {
    "Pages that 'atomicstore help TOPIC' prints:\n\n"
      + all.map { "  " + $0.name.padded(to: 12) + $0.abstract }
      .joined(separator: "\n")
      + "\n\nEach command has a page too: 'atomicstore help COMMAND'. The documentation has guides: 'Recipes for the "
      + "command', 'Reading files that you do not trust', 'An application from an empty folder', 'A format in fifteen "
      + "minutes'; 'atomicstore help --web' says where it is."
  }

  private static var types: [any AtomicStore.Type] {
    InstalledFormats.loadAll()
    let registry = InstalledFormats.registry
    return registry.storeTypes.compactMap { try? registry.storeType(named: $0) }.filter { !$0.traits.isInProcess }
  }

  private static func formats() -> String {
    var text = """
      The type of a store that is read is found by its content, whatever its name; --from overrides it. The type of a \
      result is the one that its file name extension names; --to overrides it, and is needed for standard output.


      """
    let databases = InstalledFormats.registry.incrementalTypes.map { ($0.storeType, $0.traits, $0.urlSchemes) }
    for (name, traits, schemes) in types.map({ ($0.storeType, $0.traits, [String]()) }) + databases {
      let places = traits.fileExtensions.map { "." + $0 } + schemes.map { $0 + "://…" }
      text += "  \(name) (\(places.joined(separator: ", ")))\n    \(traits.summary)\n"
    }
    return text + """

      'atomicstore formats' lists what each type can store; 'atomicstore help options' lists their options. Types of \
      plug-ins are loaded with --plugin, from the directories in ATOMICSTORE_PLUGIN_PATH, and from \
      ~/.local/share/atomicstore/plugins.
      """
  }

  private static func common() -> String {
    let help = CommonOptions.helpMessage(columns: 100_000)
    let options = help.firstRange(of: "OPTIONS:\n").map { help[$0.lowerBound...] } ?? ""
    return "All commands have these options.\n\n" + options.trimmed + "\n"
  }

  private static func options() -> String {
    var text = """
      Options of formats are given as --read-option name=value and --write-option name=value.


      """
    for type in types {
      for (title, options) in [("read", type.traits.readOptions), ("write", type.traits.writeOptions)]
      where !options.isEmpty {
        text += "\(type.storeType), to \(title):\n\n" + lines(options) + "\n"
      }
    }
    return text + "All types, to read:\n\n" + lines(OptionsOfEveryFormat.all)
  }

  private static func lines(_ options: [StoreOption]) -> String {
    options.map { option in
      let values = option.values.map { " (" + $0.joined(separator: ", ") + ")" } ?? ""
      return "  \(option.name)=…\n" + indented(option.help + values) + "\n"
    }.joined()
  }

  /// A sentence in its own lines. They are laid out here, since lines with an indent are not laid out later.
  private static func indented(_ text: String) -> String {
    HelpText.laidOut(text, width: Diagnostics.helpWidth - 6).split(separator: "\n").map { "      " + $0 }
      .joined(separator: "\n")
  }

  private static let predicates = """
    Predicates are texts in the format language of Core Data's predicates.

      name == 'Ada'    salary > 5000    salary BETWEEN {1000, 2000}    name IN {'Ada', 'Zoë'}
      name BEGINSWITH[c] 'a'    CONTAINS    ENDSWITH    LIKE 'A?a*'    MATCHES '[A-Z].*'
      a AND b    a OR b    NOT a    TRUEPREDICATE
      department == NULL    born > CAST('1980-01-31', 'NSDate')

    [c] ignores case and [d] accents, [cd] both. A key path follows relationships: department.name == 'Sales'. Paths \
    through relationships to many need a quantifier or an aggregate:

      ANY employees.salary > 5000    ALL    NONE
      employees.@count > 3    employees.@sum.salary    @min    @max    @avg
      SUBQUERY(employees, $e, $e.salary > 5000 AND $e.name != 'Ada').@count > 1

    A key that is a keyword, or not a word, has a number sign: #no    #"first name"    #"x.y". Where a text may be a key \
    alone, as in --columns, --group, --sort and 'set', a property's name needs none.

    Expressions calculate, in predicates, --columns, --group, --sort and the values of 'set':

      salary * 12    round:(x, 2)    TERNARY(a > b, a, b)    coalesce:(nickname, name, 'none')
      sum:(salary)    average:    min:    max:    median:    stddev:    percentile:(salary, 0.9)    join:(name, ', ')
      first + ' ' + last    uppercase:    lowercase:    trim:    replace:(name, 'a', 'b')    substring:(name, 0, 3)
      year:(hired)    month:    week:    day:    weekday:    hour:    startOf:(hired, 'month', 'Europe/Berlin')

    They look into binary data, too:

      kind:(photo)    size:(photo)    hex:    text:    gunzip:    plist:(data, 'items.0.name')    archive:    decoded:
      protobuf:(gunzip:(data), '2.3.2')

    The article 'The predicate language' has the table of all functions.

    'atomicstore predicate TEXT --model M --entity E' checks a predicate: it prints how it is understood, or where it is \
    wrong and which key was probably meant.
    """

  private static let exitCodes = """
    The exit codes of all commands. With --json, errors are JSON on standard error, with their exit code.

      0    success
      1    differences found; 'check' or 'model lint' found something; 'merge' found conflicts;
           a patch does not fit, or would break the model's rules; the key does not exist
      2    'diff' or 'model diff' failed
      64   usage: an invalid option, an unknown type or entity, an argument that is not UTF-8
      65   bad data, empty input, a store that was edited by hand, a loss that was not allowed
      66   the input does not exist
      69   not available: a database server cannot be reached or refuses the connection, or a program is
           missing ('conform' cannot find atomicstore-conform, or 'browse' atomicstore-browse)
      70   internal error: please report it; or a plug-in, which is named, ended the command
      73   cannot create: the target exists, or its directory is missing
      74   input or output error; another program changed the store meanwhile, so that nothing was saved
      77   permission denied
      129, 130, 143   stopped by SIGHUP, SIGINT, SIGTERM; no partial output is left
    """
}
