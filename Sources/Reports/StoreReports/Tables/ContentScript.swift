/// Values by what they are, in an object's page: pictures, lists that fold, long texts, dates in the reader's zone, and
/// links to the web.
enum ContentScript {
  static let text = #"""
      /* A text, folded if it is long. */
      function longText(text) {
        if (text.length <= 300) return element('span', text);
        var details = element('details', null, 'whole'), start = text.slice(0, 100).replace(/[\uD800-\uDBFF]$/, '');
        details.appendChild(element('summary', start + '…'));
        details.appendChild(element('span', text));
        return details;
      }
      /* A date in UTC, after the same in the zone of the reader. */
      function dateText(text) {
        var node = element('span'), time = /^[-+]?\d{4,6}-/.test(text) ? Date.parse(text) : NaN;
        if (isNaN(time)) return element('span', text);
        node.appendChild(element('time', new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' }))).dateTime = text;
        node.appendChild(element('span', ' ' + text, 'soft'));
        return node;
      }
      /* What is in data, as the program recognized it. */
      function contentNode(content) {
        if (content === null) return element('span', '–', 'null');
        if (typeof content === 'string') return longText(content);
        if (content.date) return dateText(content.date);
        if (content.picture) {
          var picture = element('img');
          picture.alt = content.name;
          picture.title = content.name;
          picture.loading = 'lazy';
          picture.decoding = 'async';
          picture.addEventListener('error', function () { picture.replaceWith(element('span', content.name + ', which the browser cannot show', 'soft')); });
          if (/^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+\/=]*$/.test(content.picture)) picture.src = content.picture;
          return picture;
        }
        var list = element('ul', null, 'tree');
        (content.table || content.list).forEach(function (part, index) {
          var item = element('li'), key = content.table ? part[0] : String(index), value = content.table ? part[1] : part, isNested = value && (value.table || value.list);
          if (isNested) {
            var details = element('details'), count = isNested.length + value.more;
            details.appendChild(element('summary', key)).appendChild(element('span', ' ' + counted(count, 'value'), 'soft'));
            details.open = count <= 10;
            details.appendChild(contentNode(value));
            item.appendChild(details);
          } else {
            item.appendChild(element('span', key + ': ', 'soft'));
            item.appendChild(contentNode(value));
          }
          list.appendChild(item);
        });
        if (content.more > 0) list.appendChild(element('li', 'and ' + counted(content.more, 'more value'), 'soft'));
        return list;
      }
      function fillWhole(node, column, value, content) {
        if (value === null || column.kind === 'one' || column.kind === 'many') return fill(node, column.kind, value, 50);
        if (typeof content === 'string') node.appendChild(longText(content));
        else if (content !== null) { node.appendChild(element('span', value + ' ', 'soft')); node.appendChild(contentNode(content)); }
        else if (column.kind === 'date') node.appendChild(dateText(value));
        /* ASCII without what a page shows in another form: the address is what is read. */
        else if ((column.kind === 'text' || column.kind === 'other') && /^(https?:\/\/|mailto:)[!-\[\]-~]+$/i.test(value)) {
          var anchor = node.appendChild(element('a', value));
          anchor.href = value;
          anchor.target = '_blank';
          anchor.rel = 'noopener noreferrer';
        } else node.appendChild(longText(value));
        return node;
      }

    """#
}
