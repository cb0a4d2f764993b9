// Tables: sorting by column, and a button per row that opens its trials.

function sortBy(table, column, isRising) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const key = (row) => row.cells[column].textContent;
  const isNumeric = table.tHead.rows[0].cells[column].classList.contains('n');
  const compare = (a, b) => {
    if (!isNumeric) return a.localeCompare(b, undefined, { numeric: true });
    const [x, y] = [numberOf(a), numberOf(b)];
    // Absent values sort last in both directions.
    if (x == null || y == null) return (x == null ? 1 : 0) - (y == null ? 1 : 0) || a.localeCompare(b);
    return isRising ? x - y : y - x;
  };
  rows.sort((a, b) => (isNumeric || isRising ? compare(key(a), key(b)) : compare(key(b), key(a))));
  body.append(...rows);
  table.classList.add('sorted');
}

function bindTables() {
  document.querySelectorAll('table.cells').forEach((table) => {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const sort = () => {
        const isRising = head.getAttribute('aria-sort') !== 'ascending';
        [...table.tHead.rows[0].cells].forEach((other) => other.removeAttribute('aria-sort'));
        head.setAttribute('aria-sort', isRising ? 'ascending' : 'descending');
        sortBy(table, column, isRising);
      };
      head.querySelector('button').addEventListener('click', sort);
    });
    [...table.tBodies[0].rows].forEach((row) => {
      const button = document.createElement('button');
      const cell = row.querySelector('.t');
      button.append(...cell.childNodes);
      cell.append(button);
      opens(button, titleOf(data.rows[row.dataset.row]));
    });
    table.tBodies[0].addEventListener('click', (event) => {
      const row = event.target.closest('tr');
      const button = row && row.querySelector('button');
      // Selecting text is not a click.
      if (button && (button.contains(event.target) || !getSelection().toString()))
        showDetail(Number(row.dataset.row), button);
    });
  });
  document.querySelectorAll('.bar[data-row]').forEach(bindBar);
}

// ARIA attributes of an element that opens the details.
function opens(element, words) {
  element.setAttribute('aria-label', words + ', trials');
  element.setAttribute('aria-haspopup', 'dialog');
  element.setAttribute('aria-controls', 'detail');
  element.setAttribute('aria-expanded', 'false');
}

function bindBar(bar) {
  const number = Number(bar.dataset.row);
  const figure = bar.closest('[data-figure]').dataset.figure;
  const tell = (x, y) => tip.show(describeRow(number, figure, data.rows[number][figure]), x, y);
  bar.tabIndex = 0;
  bar.setAttribute('role', 'button');
  const { title, figures } = describeRow(number, figure, data.rows[number][figure]);
  // The name of a control contains its visible text.
  const visible = bar.textContent.replace(/\s+/g, ' ').trim();
  opens(bar, `${visible}; ${title}, ${figures[0].join(' ')}`);
  bar.addEventListener('mousemove', (event) => tell(event.clientX, event.clientY));
  bar.addEventListener('focus', () => {
    const box = bar.querySelector('.track').getBoundingClientRect();
    if (bar.matches(':focus-visible')) tell(box.right, box.top);
  });
  ['mouseleave', 'blur'].forEach((away) => bar.addEventListener(away, () => tip.hide()));
  bar.addEventListener('click', () => showDetail(number, bar));
  bar.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    showDetail(number, bar);
  });
}

// Shows the trials of a row with verdicts, reasons and machine. `opener` is the element activated.
function showDetail(number, opener) {
  const row = data.rows[number];
  const box = document.getElementById('detail');
  const parts = [text('h2', data.targets[row.target])];
  parts[0].id = 'detail-title';
  parts.push(text('p', [loadOf(row), data.placements[row.placement]].filter(Boolean).join('; '), 'faint'));
  const table = document.createElement('table');
  const head = table.createTHead().insertRow();
  ['repeat', 'throughput', 'response p99', 'stolen CPU', 'verdict'].forEach((name) => head.append(text('th', name)));
  const body = table.createTBody();
  row.trials.forEach(([repeat, rated, p99, kind, stolen]) => {
    const line = body.insertRow();
    const link = text('a', String(repeat));
    link.href = (row.folder + '/' + repeat + '/').split('/').map(encodeURIComponent).join('/');
    line.insertCell().append(link);
    const figure = (value, show) => (line.insertCell().textContent = value == null ? '-' : show(value));
    figure(rated, rate);
    figure(p99, time);
    figure(stolen, percent);
    line.insertCell().append(verdictWord(kind, 1, 1));
  });
  parts.push(table);
  row.issues.forEach((issue) => {
    const line = document.createElement('p');
    line.append(verdictWord(issue.verdict, 1, 1), ` repeat ${issue.repeats.join(', ')}: ${issue.why}`);
    parts.push(line);
    const remedy = data.remedies[issue.remedy];
    if (remedy) parts.push(text('p', 'remedy: ' + remedy, 'faint'));
  });
  machinesOf(row).forEach((machine) => parts.push(text('p', machine, 'faint')));
  const close = text('button', 'Close', 'close');
  close.addEventListener('click', () => box.close());
  box.replaceChildren(close, ...parts);
  tip.hide();
  box.showModal();
  opener?.setAttribute('aria-expanded', 'true');
  box.onclose = () => {
    opener?.setAttribute('aria-expanded', 'false');
    opener?.focus();
  };
}
