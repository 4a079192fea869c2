// As `import CoreData` does, importing the names imports Foundation: a file that imported Foundation beside them would
// have two types called NSPredicate.
@_exported public import Foundation
@_exported public import StoreContainers
