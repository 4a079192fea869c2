/// The conditions of a table as one predicate in Core Data's language.
///
/// A view's `filters` has, by the index of a column, what was chosen there: `contains`, `from`, `to`, `below`, `empty`
/// (true for null) and `values`, a list of `{text, literal}` or of objects. `literal` is null if the page does not have
/// the whole value.
enum PredicateScript {
  static let text = #"""
      function quoted(text) {
        return '"' + text.replace(/["\\]/g, '\\$&').replace(/\n/g, '\\n').replace(/\r/g, '\\r').replace(/\t/g, '\\t') + '"';
      }
      /* The literal of a value that someone typed or that the page shows; null if it is not one. */
      function literal(column, text) {
        if (column.cast) return 'CAST(' + quoted(text) + ', "' + column.cast + '")';
        if (column.kind === 'boolean') return text.toUpperCase();
        if (column.kind === 'number') return /^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(text) ? text : null;
        return quoted(text);
      }
      function objectLiteral(object) { return 'CAST("' + object.uri + '", "NSManagedObjectID")'; }
      /* The predicate of one column; null if it cannot be written. */
      function condition(column, filter) {
        var key = column.key || column.name, parts = [], chosen = filter.values || [];
        function compare(operator, text) {
          var value = literal(column, text);
          parts.push(value && key + ' ' + operator + ' ' + value);
        }
        if (filter.empty !== undefined) {
          parts.push(column.kind === 'many' ? key + '.@count ' + (filter.empty ? '==' : '!=') + ' 0' : key + (filter.empty ? ' == nil' : ' != nil'));
        }
        if (filter.contains) parts.push(key + ' CONTAINS[cd] ' + quoted(filter.contains));
        if (filter.from) compare('>=', filter.from);
        if (filter.to) compare('<=', filter.to);
        if (filter.below) compare('<', filter.below);
        if (chosen.length) {
          var list = chosen.map(function (value) { return value.uri ? objectLiteral(value) : value.literal; });
          if (column.kind === 'many') {
            list = list.map(function (value) { return 'ANY ' + key + ' == ' + value; });
            parts.push(list.length === 1 ? list[0] : '(' + list.join(' OR ') + ')');
          } else if (list.indexOf(null) >= 0) parts.push(null);
          else parts.push(key + (list.length === 1 ? ' == ' + list[0] : ' IN {' + list.join(', ') + '}'));
        }
        return parts.indexOf(null) >= 0 ? null : parts.join(' AND ');
      }
      function isEmpty(filter) {
        return !filter || filter.empty === undefined && !filter.contains && !filter.from && !filter.to && !filter.below && !(filter.values && filter.values.length);
      }
      /* What the rows of a view match: what was typed, and the filters of all columns but one. */
      function predicate(view, without) {
        var parts = [], indexes = Object.keys(view.filters).filter(function (index) { return Number(index) !== without && !isEmpty(view.filters[index]); });
        if (view.typed) parts.push(indexes.length ? '(' + view.typed + ')' : view.typed);
        indexes.forEach(function (index) { parts.push(condition(view.columns[index], view.filters[index])); });
        return parts.indexOf(null) >= 0 ? null : parts.join(' AND ');
      }
      function word(text) { return "'" + text.replace(/'/g, "'\\''") + "'"; }
      /* The command that prints the rows that are shown; null if a name or a filter cannot be written. */
      function command(view, isUnsorted) {
        var wanted = predicate(view), column = isUnsorted ? null : view.columns[view.sort];
        if (wanted === null || !entities[view.index].isNameWhole) return null;
        var store = document.querySelector('h1').textContent;
        var words = ['atomicstore', 'fetch', word(store[0] === '-' ? './' + store : store), '--entity=' + word(view.name), '--no-subentities'];
        if (wanted) words.push('--where=' + word(wanted));
        if (column) words.push('--sort=' + word((view.descends ? '-' : '') + (column.property || column.name)));
        return words.join(' ');
      }

    """#
}
