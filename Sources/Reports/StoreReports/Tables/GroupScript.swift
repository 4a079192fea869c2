/// The rows of a table in groups, with their numbers as bars: what `fetch --group` prints.
enum GroupScript {
  static let text = questions + chart

  private static let questions = #"""
      var units = ['month', 'year', 'day'];
      function isGroupable(column) { return isSortable(column) || column.kind === 'one'; }
      /* The expressions of a view's groups and of their numbers; null for a name that a list of columns cannot have. */
      function groupTexts(view) {
        var chosen = view.grouping, column = view.columns[chosen.by], name = column.property || column.name, of = view.columns[chosen.of];
        var key = column.key || column.name;
        if (/[,()[\]{}'"\\\s]/.test(name) || of && /[,()[\]{}'"\\\s]/.test(of.property || of.name) || column.key && name.indexOf('.') >= 0) return null;
        var by = column.kind === 'date' ? 'startOf:(' + key + ', "' + chosen.unit + '")' : null;
        return { group: by || name, column: by || key, value: of ? chosen.measure + ':(' + (of.key || of.name) + ')' : '@count' };
      }
      function groupCommand(view) {
        var texts = groupTexts(view), rows = command(view, true);
        if (!texts || rows === null) return null;
        return rows + ' --group=' + word(texts.group) + ' --columns=' + word(texts.column + ' AS group,' + texts.value + ' AS value')
          + ' --sort=' + (view.columns[view.grouping.by].kind === 'date' ? 'group' : '-value');
      }
      /* What is asked of a source. */
      function groupQuestion(view) {
        var chosen = view.grouping, asked = question(view);
        asked.by = chosen.by;
        asked.unit = view.columns[chosen.by].kind === 'date' ? chosen.unit : '';
        asked.measure = chosen.measure;
        asked.of = chosen.of;
        return asked;
      }
      /* A grouping that an address names; null if it is not one. */
      function groupingOf(view, text) {
        var match = /^(\d+)\.(month|year|day)\.(count|sum|average)\.(\d*)$/.exec(text || '');
        if (!match || !view.columns[match[1]] || !isGroupable(view.columns[match[1]])) return null;
        var of = match[3] === 'count' ? null : view.columns[match[4]];
        if (of !== null && (!of || of.kind !== 'number')) return null;
        return { by: Number(match[1]), unit: match[2], measure: match[3], of: of && Number(match[4]) };
      }

    """#

  private static let chart = #"""
      /* Whole numbers and decimals with all of their digits, others with twelve, or with two digits of the fraction if that is more. */
      function shownNumber(text, isDecimal) {
        if (text === null) return '–';
        var number = amount(text), power = /^(-?\d+)e\+?(\d\d?)$/i.exec(text);
        if (isNaN(number)) return 'not a number';
        if (number === 0) return '0';
        var digits = power ? power[1] + '0'.repeat(power[2]) : text.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
        if (/^-?\d{1,38}$/.test(digits)) return grouped(digits);
        /* A quotient that does not end has more digits. */
        if (isDecimal && /^-?\d+\.\d+$/.test(digits) && digits.length <= 26) return digits;
        if (Number.isInteger(number) && Math.abs(number) < 1e21) return grouped(number);
        return String(Number(number.toPrecision(Math.max(12, Math.min(17, Math.floor(Math.log10(Math.abs(number))) + 3)))));
      }
      function amount(text) { return text === 'inf' ? Infinity : text === '-inf' ? -Infinity : parseFloat(text); }
      function groupLabel(group, unit) {
        if (group.label !== undefined) return group.label;
        if (group.text === null) return 'none';
        if (unit && /^\d{4}-/.test(group.text)) return group.text.slice(0, unit === 'year' ? 4 : unit === 'month' ? 7 : 10);
        return group.text || 'empty text';
      }
      function drawGroups(view) {
        var chosen = view.grouping, turn = view.groupTurn = (view.groupTurn || 0) + 1;
        view.chart.hidden = !chosen;
        /* An answer to an earlier question is ignored. */
        view.chart.classList.remove('busy');
        view.grouper.setAttribute('aria-expanded', chosen ? 'true' : 'false');
        if (!chosen) return;
        if (!view.chart.firstChild) view.chart.append(groupChoice(view), element('div'));
        view.chart.querySelector('[name=by]').value = chosen.by;
        view.chart.querySelector('[name=unit]').value = chosen.unit;
        view.chart.querySelector('[name=unit]').parentNode.hidden = view.columns[chosen.by].kind !== 'date';
        view.chart.querySelector('[name=of]').value = chosen.measure + (chosen.of === null ? '' : '.' + chosen.of);
        var asked = groupQuestion(view), body = view.chart.lastChild;
        if (asked.where === null && source.isEditable) return body.replaceChildren(element('p', 'A filter is not a value of its column.', 'error'));
        view.chart.classList.add('busy');
        source.groups(asked).then(function (answer) {
          if (turn !== view.groupTurn) return;
          view.chart.classList.remove('busy');
          body.replaceChildren.apply(body, answer.problem ? [element('p', answer.problem, 'error')] : groupTable(view, asked, answer));
        });
      }
      function groupTable(view, asked, answer) {
        var table = element('table', null, 'chart'), body = element('tbody'), head = element('thead'), titles = element('tr'), parts = [];
        var name = view.columns[asked.by].name, measured = asked.of === null ? 'count' : asked.measure + ' of ' + view.columns[asked.of].name;
        var isDecimal = asked.of !== null && view.columns[asked.of].cast === 'NSDecimalNumber';
        var sizes = answer.groups.map(function (group) { var size = group.value === null ? 0 : Math.abs(amount(group.value)); return isFinite(size) ? size : 0; });
        var most = Math.max.apply(null, sizes.concat(0));
        table.appendChild(element('caption', view.name + ' by ' + (asked.unit ? asked.unit + ' of ' : '') + name + ': ' + measured));
        [name, measured].forEach(function (title) { titles.appendChild(element('th', title)).setAttribute('scope', 'col'); });
        head.appendChild(titles);
        answer.groups.forEach(function (group, index) {
          var line = element('tr'), first = element('th', groupLabel(group, asked.unit)), cell = element('td', null, 'value'), bar = element('span', null, group.value !== null && group.value[0] === '-' ? 'bar negative' : 'bar');
          first.setAttribute('scope', 'row');
          bar.setAttribute('aria-hidden', 'true');
          bar.style.setProperty('--share', (most > 0 ? Math.max(sizes[index] > 0 ? 0.5 : 0, sizes[index] / most * 100) : 0) + '%');
          cell.append(bar, element('span', shownNumber(group.value, isDecimal)));
          line.append(first, cell);
          body.appendChild(line);
        });
        table.append(head, body);
        parts.push(table);
        if (answer.total > answer.groups.length) parts.push(element('p', 'and ' + counted(answer.total - answer.groups.length, 'more group'), 'soft'));
        if (answer.note) parts.push(element('p', answer.note, 'soft'));
        var text = groupCommand(view);
        parts.push(element('pre', text === null ? 'No command: this page shows a name or a value of it in another form.' : text, 'command'));
        return parts;
      }
      function groupChoice(view) {
        var fields = element('p', null, 'fields');
        function choice(label, name, options) {
          var node = element('label', label + ' '), select = node.appendChild(element('select'));
          select.name = name;
          options.forEach(function (option) { select.appendChild(element('option', option[1])).value = option[0]; });
          select.addEventListener('change', function () {
            var of = fields.querySelector('[name=of]').value.split('.');
            view.grouping = { by: Number(fields.querySelector('[name=by]').value), unit: fields.querySelector('[name=unit]').value, measure: of[0], of: of.length > 1 ? Number(of[1]) : null };
            setAddress(view);
            drawGroups(view);
          });
          fields.appendChild(node);
        }
        choice('by', 'by', view.columns.map(function (column, index) { return [index, column.name]; }).filter(function (option) { return isGroupable(view.columns[option[0]]); }));
        choice('each', 'unit', units.map(function (unit) { return [unit, unit]; }));
        var measures = [['count', 'number of objects']];
        view.columns.forEach(function (column, index) {
          if (column.kind === 'number') measures.push(['sum.' + index, 'sum of ' + column.name], ['average.' + index, 'average of ' + column.name]);
        });
        choice('show', 'of', measures);
        return fields;
      }
      /* Opens the groups by the first to-one relationship, or else by the first date, boolean, text or number; or closes them. */
      function toggleGroups(view) {
        var first = ['one', 'date', 'boolean', 'text', 'number'].map(function (kind) { return view.columns.findIndex(function (column) { return column.kind === kind; }); })
          .find(function (index) { return index >= 0; });
        view.grouping = view.grouping || first === undefined ? null : { by: first, unit: 'month', measure: 'count', of: null };
        setAddress(view);
        drawGroups(view);
      }

    """#
}
