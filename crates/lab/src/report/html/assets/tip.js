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
    // told: { title, target, figures: [[name, value]], verdicts, why, where }
    show(told, x, y) {
      const head = text('div', told.title, 'tip-title');
      if (told.target != null) head.style.setProperty('--mark', targetColour(told.target));
      const list = document.createElement('dl');
      told.figures.forEach(([name, value]) => list.append(text('dt', name), text('dd', value)));
      const parts = [head, list];
      if (told.verdicts) {
        const words = text('div', '', 'tip-verdict');
        const done = told.verdicts.reduce((sum, [, n]) => sum + n, 0);
        told.verdicts.forEach(([kind, n]) => words.append(verdictWord(kind, n, done)));
        parts.push(words);
      }
      if (told.why) parts.push(text('div', told.why, 'tip-why'));
      if (told.where) parts.push(text('div', told.where, 'tip-where'));
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

// A row of the table as the tip tells it; `figure` is what the plot shows and comes first.
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
