// The tooltip of a point: its value, interval, verdict and machine.

const text = (tag, words, className) => {
  const element = document.createElement(tag);
  element.textContent = words;
  if (className) element.className = className;
  return element;
};

const verdictWord = (kind, count, done) =>
  text('b', count === done ? kind : `${count} ${kind}`, `v-${kind}`);

const tip = (() => {
  const box = document.getElementById('tip');
  return {
    // content: { title, target, figures: [[name, value]], verdicts, why, where }
    show(content, x, y) {
      const head = text('div', content.title, 'tip-title');
      if (content.target != null) head.style.setProperty('--mark', targetColour(content.target));
      const list = document.createElement('dl');
      content.figures.forEach(([name, value]) => list.append(text('dt', name), text('dd', value)));
      const parts = [head, list];
      if (content.verdicts) {
        const words = text('div', '', 'tip-verdict');
        const done = content.verdicts.reduce((sum, [, n]) => sum + n, 0);
        content.verdicts.forEach(([kind, n]) => words.append(verdictWord(kind, n, done)));
        parts.push(words);
      }
      if (content.why) parts.push(text('div', content.why, 'tip-why'));
      if (content.where) parts.push(text('div', content.where, 'tip-where'));
      box.replaceChildren(...parts);
      box.hidden = false;
      const { width, height } = box.getBoundingClientRect();
      const left = x + 16 + width > innerWidth ? x - 16 - width : x + 16;
      box.style.left = Math.max(left, 4) + 'px';
      box.style.top = Math.min(Math.max(y - height / 2, 4), innerHeight - height - 4) + 'px';
    },
    hide() {
      box.hidden = true;
    },
  };
})();

const machinesOf = (row) => row.machines.map((n) => data.machines[n]);
const loadOf = (row) => data.loads[row.load];
const titleOf = (row) => data.targets[row.target] + (loadOf(row) ? ', ' + loadOf(row) : '');

function between([low, high], show) {
  return `${show(low)} .. ${show(high)}`;
}

// Tooltip content for a row; `figure`, the one plotted, comes first.
function describeRow(number, figure, value) {
  const row = data.rows[number];
  const show = FIGURES[figure].show;
  const figures = [[FIGURES[figure].name, value == null ? 'none' : show(value)]];
  const interval = { rate: row.rateInterval, p99: row.p99Interval }[figure];
  const kind = { rate: row.isConfidenceInterval ? '95 % interval' : 'range', p99: 'interval' }[figure];
  if (interval) figures.push([kind, between(interval, show)]);
  ['rate', 'p50', 'p99', 'cpu', 'cost'].forEach((other) => {
    if (other !== figure && row[other] != null) figures.push([FIGURES[other].name, FIGURES[other].show(row[other])]);
  });
  figures.push(['repeats', String(row.done)]);
  return {
    title: titleOf(row),
    target: row.target,
    figures,
    verdicts: row.verdicts,
    why: row.issues.length ? row.issues[0].why : '',
    where: machinesOf(row).join(' | '),
  };
}
