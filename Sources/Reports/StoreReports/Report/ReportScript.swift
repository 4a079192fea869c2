/// What finds objects on the page itself: all of them are there, column by column.
enum ReportScript {
  static let text = PageScript.tables(from: objects + questions)

  private static let objects = #"""
      entities.forEach(function (entity) {
        entity.count = entity.references.length;
        entity.content = new Map(entity.contents.map(function (found) { return [found[0] + '/' + found[1], found[2]]; }));
        /* A value in brackets is not whole. */
        entity.partial = entity.values.map(function (values, column) {
          var rows = new Set(), kind = entity.columns[column].kind;
          if (kind !== 'many') values.forEach(function (value, row) { if (Array.isArray(value)) { rows.add(row); values[row] = value[0]; } });
          return rows;
        });
      });
      function place(number) {
        var index = entities.findIndex(function (entity) { return number >= entity.first && number < entity.first + entity.count; });
        return index < 0 ? null : { entity: entities[index], index: index, row: number - entities[index].first };
      }
      /* An object by its number, or what is known of one that is not on the page. */
      function object(value) {
        if (typeof value !== 'number') return { reference: value, label: value };
        var found = place(value), entity = found.entity, reference = entity.title + '/' + entity.references[found.row], label = '';
        for (var i = 0; i < entity.labels.length && !label; i++) label = entity.values[entity.labels[i]][found.row];
        return { number: value, reference: reference, label: label || reference, uri: entity.uri + (entity.ids ? entity.ids[found.row] : entity.references[found.row]) };
      }
      function shownValue(entity, column, row) {
        var value = entity.values[column][row], kind = entity.columns[column].kind;
        if (value === null || kind !== 'one' && kind !== 'many') return value;
        if (kind === 'one') return object(value);
        /* Those that are left out are the last, as a negative number. */
        var rest = value[value.length - 1] < 0 ? -value[value.length - 1] : 0, list = rest ? value.slice(0, -1) : value;
        return { total: list.length + rest, members: list.map(object) };
      }
      function order(kind, one, other) {
        if (one === null || other === null) return one === other ? 0 : one === null ? -1 : 1;
        if (kind === 'date') {
          var time = Date.parse(one) - Date.parse(other);
          if (time) return time;
          /* Equal to the millisecond, or a date that the browser does not read. */
          one = one.replace('Z', '');
          other = other.replace('Z', '');
        }
        if (kind !== 'number' && kind !== 'decimal') return scalars(one, other);
        var left = amount(one), right = amount(other), digits = /^-?\d+$/;
        if (left !== right) return left - right;
        if (one === other) return 0;
        return kind === 'decimal' || digits.test(one) && digits.test(other) ? exactly(one, other) : 0;
      }
      /* Texts by Unicode scalars, as predicates compare: the order of UTF-16 differs. */
      function scalars(one, other) {
        if (typeof one === 'number') return one - other;
        for (var i = 0; i < one.length && i < other.length; i++) {
          var difference = one.codePointAt(i) - other.codePointAt(i);
          if (difference) return difference;
        }
        return one.length - other.length;
      }
      /* The order of two decimals that are equal as doubles. */
      function exactly(one, other) {
        var numbers = scaled([one, other]);
        return !numbers ? 0 : numbers.values[0] < numbers.values[1] ? -1 : numbers.values[0] > numbers.values[1] ? 1 : 0;
      }
      /* Decimals as whole numbers of a common unit, which is ten to the power of `least`; null if they are not decimals of similar size. */
      function scaled(texts) {
        var parts = texts.map(function (text) { return /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(text); });
        if (parts.indexOf(null) >= 0) return null;
        var powers = parts.map(function (part) { return Number(part[4] || 0) - (part[3] || '').length; });
        var least = powers.reduce(function (a, b) { return Math.min(a, b); }, 0), greatest = powers.reduce(function (a, b) { return Math.max(a, b); }, least);
        if (greatest - least > 400) return null;
        return { least: least, values: parts.map(function (part, index) { return BigInt(part[1] + part[2] + (part[3] || '')) * BigInt(10) ** BigInt(powers[index] - least); }) };
      }
      /* A whole number times a power of ten that is not positive, without zeros at the end of the fraction. */
      function decimalText(value, power) {
        var digits = String(value).replace('-', '').padStart(1 - power, '0'), end = digits.length + power;
        return (value < 0 ? '-' : '') + digits.slice(0, end) + ('.' + digits.slice(end)).replace(/\.?0*$/, '');
      }
      /* The sum or average of numbers, to more digits than are shown. */
      function total(texts, column, measure) {
        var exact = column.cast === 'Float' ? null : compared(column) === 'decimal' || texts.every(function (text) { return /^-?\d+$/.test(text); }) ? scaled(texts) : null;
        if (measure === 'average' && !texts.length) return null;
        if (exact) {
          var sum = exact.values.reduce(function (a, b) { return a + b; }, BigInt(0)), count = BigInt(texts.length);
          /* As in predicates, a sum of integers is a double if it does not fit into 64 bits. */
          if (measure === 'sum' && compared(column) !== 'decimal') return BigInt.asIntN(64, sum) === sum ? String(sum) : String(Number(sum));
          /* Divided with thirty more digits. */
          if (measure === 'average') sum = sum * BigInt(10) ** BigInt(30) / count;
          var least = exact.least - (measure === 'average' ? 30 : 0);
          return compared(column) === 'decimal' ? decimalText(sum, least) : String(Number(sum + 'e' + least));
        }
        var numbers = texts.map(amount);
        if (column.cast === 'Float') numbers = numbers.map(Math.fround);
        if (measure === 'average') numbers.sort(function (a, b) { return a - b; });
        return String(numbers.reduce(function (a, b) { return a + b; }, 0) / (measure === 'average' ? numbers.length : 1));
      }
      function compared(column) { return column.cast === 'NSDecimalNumber' ? 'decimal' : column.kind; }
      /* For sorting: NaN, which no range has, comes first. */
      function ranked(kind, one, other) {
        var difference = order(kind, one, other);
        return isNaN(difference) ? isNaN(amount(other)) - isNaN(amount(one)) : difference;
      }
      function test(entity, index, filter) {
        var kind = compared(entity.columns[index]), values = entity.values[index], parts = [];
        if (filter.empty !== undefined) parts.push(function (value) { return (value === null) === filter.empty; });
        if (filter.contains) {
          var wanted = folded(filter.contains);
          /* As in predicates, an accent alone is not found. */
          parts.push(function (value) { return value !== null && wanted && folded(value).indexOf(wanted) >= 0; });
        }
        /* A date without a time is midnight, as in predicates. */
        function bound(text) { return kind === 'date' && /^\d{4}-\d\d-\d\d$/.test(text) ? text + 'T00:00:00Z' : text; }
        if (filter.from) parts.push(function (value) { return value !== null && order(kind, value, bound(filter.from)) >= 0; });
        if (filter.to) parts.push(function (value) { return value !== null && order(kind, value, bound(filter.to)) <= 0; });
        if (filter.below) parts.push(function (value) { return value !== null && order(kind, value, bound(filter.below)) < 0; });
        if (filter.values && filter.values.length) {
          var chosen = new Set(filter.values.map(function (value) { return value.number === undefined ? value.text : value.number; }));
          parts.push(kind === 'many' ? function (value) { return value !== null && value.some(function (member) { return chosen.has(member); }); }
            : function (value) { return chosen.has(value); });
        }
        return function (row) { return parts.every(function (part) { return part(values[row]); }); };
      }
      function matching(asked) {
        var entity = entities[asked.entity], rows = [];
        var tests = Object.keys(asked.filters).map(function (index) { return test(entity, Number(index), asked.filters[index]); });
        for (var row = 0; row < entity.count; row++) if (tests.every(function (part) { return part(row); })) rows.push(row);
        return rows;
      }

    """#

  private static let questions = #"""
      var orders = {};
      var source = {
        isEditable: false,
        rows: function (asked) {
          var entity = entities[asked.entity], values = entity.values[asked.sort];
          var key = JSON.stringify([asked.entity, asked.filters, asked.sort, asked.descends]);
          if (!orders[key]) {
            orders = {};
            var rows = orders[key] = matching(asked), kind = values && compared(entity.columns[asked.sort]);
            if (values) rows.sort(function (a, b) { return (asked.descends ? -1 : 1) * ranked(kind, values[a], values[b]) || a - b; });
          }
          var part = orders[key].slice(asked.offset, asked.offset + asked.limit).map(function (row) {
            return {
              number: entity.first + row, reference: entity.references[row],
              values: entity.columns.map(function (_, column) { return shownValue(entity, column, row); })
            };
          });
          return Promise.resolve({ total: orders[key].length, offset: asked.offset, rows: part });
        },
        facet: function (asked) {
          var entity = entities[asked.entity], index = asked.column, column = entity.columns[index], values = entity.values[index];
          var counts = new Map(), none = 0, numbers = [], partial = new Set();
          function add(value) { counts.set(value, (counts.get(value) || 0) + 1); }
          matching(asked).forEach(function (row) {
            var value = values[row];
            if (value === null) return none++;
            if (column.kind === 'many') return value.forEach(function (member) { if (typeof member === 'number' && member >= 0) add(member); });
            /* No predicate finds not-a-number by its value. */
            if (column.kind === 'bytes' || column.kind === 'number' && isNaN(amount(value))) return;
            add(value);
            if (entity.partial[index].has(row)) partial.add(value);
            if (column.kind === 'number') numbers.push(amount(value));
            if (column.kind === 'date') numbers.push(Date.parse(value) / 1000);
          });
          var list = Array.from(counts).filter(function (pair) { return column.kind !== 'one' || typeof pair[0] === 'number'; });
          list.sort(function (a, b) { return b[1] - a[1] || ranked(typeof a[0] === 'number' ? null : compared(column), a[0], b[0]); });
          var shown = list.slice(0, 20).map(function (pair) {
            if (typeof pair[0] === 'number') return Object.assign(object(pair[0]), { count: pair[1] });
            return { text: pair[0], literal: partial.has(pair[0]) ? null : literal(column, pair[0]), count: pair[1] };
          });
          return Promise.resolve({ values: shown, rest: list.length - shown.length, none: none, numbers: numbers.filter(isFinite) });
        },
        groups: function (asked) {
          var entity = entities[asked.entity], column = entity.columns[asked.by], values = entity.values[asked.by], of = asked.of === null ? null : entity.columns[asked.of];
          var groups = new Map(), isPartial = false, problem = null;
          matching(asked).forEach(function (row) {
            var value = values[row], key = value;
            if (value !== null && asked.unit) {
              var date = new Date(value), year = date.getUTCFullYear();
              if (!(year >= 0 && year <= 9999)) problem = 'A date of this column is not in the years 0 to 9999.';
              else key = value = new Date(new Date(0).setUTCFullYear(year, asked.unit === 'year' ? 0 : date.getUTCMonth(), asked.unit === 'day' ? date.getUTCDate() : 1)).toISOString().replace('.000Z', 'Z');
            } else if (value !== null && column.kind === 'number') {
              /* Not-a-number equals nothing; a zero has no sign; decimals have any number of zeros. */
              if (isNaN(amount(value))) key = {};
              else if (amount(value) === 0) key = '0';
              else if (compared(column) === 'decimal' && scaled([value])) { var one = scaled([value]), digits = String(one.values[0]); key = digits.replace(/0+$/, '') + 'e' + (one.least + digits.length - digits.replace(/0+$/, '').length); }
            }
            if (entity.partial[asked.by].has(row)) isPartial = true;
            if (!groups.has(key)) groups.set(key, { value: value, rows: [] });
            groups.get(key).rows.push(row);
          });
          var list = Array.from(groups.values()).map(function (group) {
            var numbers = of ? group.rows.map(function (row) { return entity.values[asked.of][row]; }).filter(function (value) { return value !== null; }) : null;
            var shown = column.kind === 'one' && group.value !== null ? object(group.value) : { text: group.value };
            return Object.assign(shown, { value: of ? total(numbers, of, asked.measure) : String(group.rows.length) });
          });
          list.sort(function (a, b) { return asked.unit ? order('date', a.text, b.text) : -ranked('number', a.value, b.value); });
          if (problem) return Promise.resolve({ problem: problem });
          return Promise.resolve({ groups: list.slice(0, 50), total: list.length, note: isPartial ? 'Texts are shortened on this page: those that begin alike are in one group.' : '' });
        },
        object: function (number) {
          var found = place(number);
          if (!found) return Promise.resolve({ problem: 'This object is not on the page.' });
          var incoming = [];
          entities.forEach(function (entity, index) {
            entity.columns.forEach(function (column, slot) {
              if (column.inverse || column.kind !== 'one' && column.kind !== 'many') return;
              var count = entity.values[slot].filter(function (value) { return column.kind === 'one' ? value === number : value && value.indexOf(number) >= 0; }).length;
              if (count) incoming.push({ entity: index, column: slot, count: count });
            });
          });
          return Promise.resolve({
            entity: found.index, object: object(number), incoming: incoming,
            values: found.entity.columns.map(function (_, column) { return shownValue(found.entity, column, found.row); }),
            contents: found.entity.columns.map(function (_, column) { var key = column + '/' + found.row; return found.entity.content.has(key) ? found.entity.content.get(key) : null; })
          });
        },
        search: function (text) {
          var wanted = folded(text), limit = 200, list = [];
          if (!wanted) return Promise.resolve({ hits: list, isComplete: true });
          for (var index = 0; index < entities.length && list.length < limit; index++) {
            var entity = entities[index];
            for (var row = 0; row < entity.count && list.length < limit; row++) {
              for (var column = -1; column < entity.columns.length; column++) {
                var value = column < 0 ? entity.title + '/' + entity.references[row] : entity.values[column][row];
                if (typeof value !== 'string' || column >= 0 && entity.columns[column].kind === 'one') continue;
                var at = folded(value).indexOf(wanted);
                if (at < 0) continue;
                list.push({
                  object: object(entity.first + row), property: column < 0 ? null : entity.columns[column].name,
                  value: column < 0 ? null : (at > 30 ? '…' : '') + value.slice(Math.max(0, at - 30))
                });
                break;
              }
            }
          }
          return Promise.resolve({ hits: list, isComplete: list.length < limit });
        }
      };

    """#
}
