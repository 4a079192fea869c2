/// What is above a table: its predicate, a panel that filters a column by its values, the choice of columns, and
/// what is shown as a file or as a command.
enum FilterScript {
  static let text = panel + tools

  private static let panel = #"""
      /* Opens the panel of a column, with the values that the other filters leave. */
      function choose(view, index) {
        var before = view.open;
        view.open = index;
        view.node.querySelectorAll('th button[aria-expanded]').forEach(function (node) {
          node.setAttribute('aria-expanded', node.classList.contains('filter-' + index) ? 'true' : 'false');
        });
        if (index === null) {
          view.facet.hidden = true;
          var opener = view.node.querySelector('.filter-' + before);
          if (opener) opener.focus();
          return;
        }
        var asked = question(view);
        asked.column = index;
        asked.where = predicate(view, index);
        asked.filters = Object.assign({}, view.filters);
        delete asked.filters[index];
        var isUnwritten = asked.where === null && source.isEditable;
        (isUnwritten ? Promise.resolve({ problem: 'A filter is not a value of its column.' }) : source.facet(asked)).then(function (answer) {
          if (view.open !== index) return;
          view.facet.hidden = false;
          view.facet.replaceChildren.apply(view.facet, answer.problem ? [element('p', answer.problem, 'error')] : facet(view, index, answer));
          view.facet.focus({ preventScroll: true });
        });
      }
      function facet(view, index, answer) {
        var column = view.columns[index], filter = view.filters[index] = view.filters[index] || {}, timer = null;
        var bar = element('p'), fields = element('p', null, 'fields'), list = element('ul');
        function apply() { change(view, null); mark(); }
        function isRange(bin) { return filter.from === bin.from && (filter.below || null) === bin.below; }
        function field(label, name, hint) {
          var node = element('label', label + ' '), input = element('input');
          input.value = filter[name] || '';
          input.placeholder = hint;
          input.addEventListener('input', function () {
            clearTimeout(timer);
            timer = setTimeout(function () { filter[name] = input.value.trim(); delete filter.below; apply(); }, 200);
          });
          node.appendChild(input);
          fields.appendChild(node);
        }
        bar.appendChild(element('strong', column.name));
        bar.appendChild(document.createTextNode(' '));
        bar.appendChild(button('Close', 'Close the filter', function () { choose(view, null); }));
        bar.appendChild(document.createTextNode(' '));
        bar.appendChild(button('Clear', 'Clear the filter of ' + column.name, function () { delete view.filters[index]; change(view, null); choose(view, index); }));
        if (column.kind === 'text') field('contains', 'contains', '');
        if (column.kind === 'number' || column.kind === 'date') {
          var hint = column.kind === 'date' ? '2024-01-31' : '';
          field('from', 'from', hint);
          field('to', 'to', hint);
        }
        var label = element('label', 'value '), select = element('select');
        [['', 'any'], ['false', 'there is one'], ['true', 'none (' + grouped(answer.none) + ')']].forEach(function (choice) {
          var option = element('option', choice[1]);
          option.value = choice[0];
          select.appendChild(option);
        });
        select.value = filter.empty === undefined ? '' : String(filter.empty);
        select.addEventListener('change', function () {
          if (select.value) filter.empty = select.value === 'true'; else delete filter.empty;
          apply();
        });
        label.appendChild(select);
        fields.appendChild(label);
        var ranges = bins(answer.numbers, column.kind), chart = ranges.length ? element('div', null, 'bins') : null, buttons = [];
        var most = Math.max.apply(null, ranges.map(function (bin) { return bin.count; }).concat(1));
        ranges.forEach(function (bin) {
          var name = 'from ' + bin.from + (bin.below ? ' to below ' + bin.below : '') + ': ' + counted(bin.count, 'object');
          var node = button('', name, function () {
            var isChosen = isRange(bin);
            delete filter.from; delete filter.to; delete filter.below;
            if (!isChosen) { filter.from = bin.from; if (bin.below) filter.below = bin.below; }
            fields.querySelectorAll('input').forEach(function (input, place) { input.value = place === 0 && filter.from || ''; });
            apply();
          });
          node.title = name;
          node.disabled = bin.count === 0;
          node.style.setProperty('--height', (bin.count === 0 ? 0 : Math.max(4, Math.round(bin.count * 100 / most))) + '%');
          buttons.push([node, function () { return isRange(bin); }]);
          chart.appendChild(node);
        });
        function key(value) { return value.number === undefined ? value.literal || value.text : '#' + value.number; }
        most = Math.max.apply(null, answer.values.map(function (value) { return value.count; }).concat(1));
        answer.values.forEach(function (value) {
          var item = element('li'), line = element('label'), box = element('input');
          box.type = 'checkbox';
          box.checked = (filter.values || []).some(function (chosen) { return key(chosen) === key(value); });
          box.addEventListener('change', function () {
            var rest = (filter.values || []).filter(function (chosen) { return key(chosen) !== key(value); });
            filter.values = box.checked ? rest.concat(kept(value)) : rest;
            apply();
          });
          line.appendChild(box);
          line.appendChild(element('span', value.label || value.text || 'empty text', 'name'));
          line.appendChild(element('span', grouped(value.count), 'soft'));
          line.style.setProperty('--share', Math.round(value.count * 100 / most) + '%');
          item.appendChild(line);
          list.appendChild(item);
        });
        function mark() { buttons.forEach(function (pair) { pair[0].setAttribute('aria-pressed', pair[1]() ? 'true' : 'false'); }); }
        mark();
        var parts = [bar, fields];
        if (chart) parts.push(chart);
        if (answer.values.length) parts.push(list);
        if (answer.rest > 0) parts.push(element('p', 'and ' + counted(answer.rest, 'more value'), 'soft'));
        return parts;
      }

    """#

  private static let tools = #"""
      function controls(view) {
        var wanted = predicate(view), text = view.isCommandShown ? command(view) : '';
        view.reset.hidden = !view.typed && !view.grouping && !Object.keys(view.filters).some(function (index) { return !isEmpty(view.filters[index]); });
        view.command.hidden = !view.isCommandShown;
        view.command.textContent = text === null ? 'No command: this page shows a name or a value of it in another form.' : text;
        if (!source.isEditable) {
          view.predicate.hidden = view.reset.hidden;
          view.predicate.textContent = wanted === null ? 'a filter uses a value that this page shortens' : wanted;
        }
      }
      function columnChoice(view) {
        var details = element('details', null, 'columns'), list = element('ul');
        details.appendChild(element('summary', 'Choose columns'));
        view.columns.forEach(function (column, index) {
          var item = element('li'), label = element('label'), box = element('input');
          box.type = 'checkbox';
          box.checked = view.shown.indexOf(index) >= 0;
          box.addEventListener('change', function () {
            if (box.checked) view.shown.push(index); else view.shown.splice(view.shown.indexOf(index), 1);
            change(view, null);
          });
          label.appendChild(box);
          label.appendChild(document.createTextNode(' ' + column.name + ' '));
          item.appendChild(label);
          item.appendChild(button('first', column.name + ' first', function () {
            if (view.shown.indexOf(index) >= 0) view.shown.splice(view.shown.indexOf(index), 1);
            view.shown.unshift(index);
            box.checked = true;
            change(view, null);
          }));
          list.appendChild(item);
        });
        details.appendChild(list);
        return details;
      }
      /* Builds what is above the table of an entity. */
      function prepare(node) {
        var index = Number(node.dataset.entity), entity = entities[index];
        var view = { index: index, node: node, name: entity.title, columns: entity.columns, count: entity.count, total: entity.total, turn: 0 };
        clear(view);
        view.body = element('div');
        view.error = element('p', null, 'error');
        view.error.setAttribute('role', 'alert');
        view.error.hidden = true;
        view.facet = element('section', null, 'facet');
        view.facet.hidden = true;
        view.facet.tabIndex = -1;
        view.facet.setAttribute('aria-label', 'Filter');
        view.facet.addEventListener('keydown', function (event) { if (event.key === 'Escape') { event.stopPropagation(); choose(view, null); } });
        view.command = element('pre', null, 'command');
        view.tools = element('div', null, 'tools');
        view.choice = element('span');
        view.reset = button('All rows', null, function () { clear(view); view.facet.hidden = true; redraw(view); });
        view.tools.appendChild(view.reset);
        [['CSV', 'csv'], ['JSON', 'json']].forEach(function (format) {
          var control = view.tools.appendChild(button(format[0], 'Save as ' + format[0], function () { save(view, format[1]); }));
          control.title = 'The rows with their values as this page shows them';
        });
        view.tools.appendChild(button('Command', 'Show the command', function () { view.isCommandShown = !view.isCommandShown; controls(view); }));
        view.grouper = view.tools.appendChild(button('Group', 'Count or add up the rows in groups', function () { toggleGroups(view); }));
        view.chart = element('section', null, 'facet groups');
        view.chart.setAttribute('aria-label', 'Groups of ' + view.name);
        view.chart.addEventListener('keydown', function (event) { if (event.key === 'Escape') { event.stopPropagation(); toggleGroups(view); view.grouper.focus(); } });
        var top;
        if (source.isEditable) {
          top = element('form', null, 'query');
          view.input = element('input');
          view.input.setAttribute('aria-label', 'Predicate for ' + view.name);
          view.input.placeholder = 'predicate, such as ' + (view.columns.length ? view.columns[0].key || view.columns[0].name : 'SELF') + ' != nil';
          view.input.autocomplete = 'off';
          view.input.spellcheck = false;
          top.appendChild(view.input);
          top.appendChild(element('button', 'Fetch'));
          top.addEventListener('submit', function (event) {
            event.preventDefault();
            if (view.input.value.trim() === predicate(view)) return load(view, 0);
            view.filters = {};
            view.typed = view.input.value.trim();
            view.facet.hidden = true;
            view.open = null;
            change(view, null);
          });
        } else {
          top = view.predicate = element('code', null, 'predicate');
          view.predicate.hidden = true;
        }
        node.replaceChildren(top, view.tools, view.choice, view.command, view.facet, view.chart, view.error, view.body);
        views[index] = view;
        redraw(view, true);
        return view;
      }
      function clear(view) {
        view.filters = {};
        view.typed = '';
        view.sort = null;
        view.descends = false;
        view.open = null;
        view.grouping = null;
        view.shown = view.columns.map(function (_, index) { return index; });
      }
      function redraw(view, isFirst) {
        view.choice.replaceChildren(columnChoice(view));
        if (!isFirst) return change(view, null);
        if (view.input) view.input.value = predicate(view) || '';
        controls(view);
        drawGroups(view);
      }

    """#
}
