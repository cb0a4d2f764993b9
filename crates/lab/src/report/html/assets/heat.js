// Heat maps: response times over time of the rows of the selected load, a card each.

const SHADES = '0123456789abcdefghijklmnopqrstuvwxyz';
const PER_SHADE = 7;
const shareOf = (shade) => 10 ** ((shade - SHADES.length + 1) / PER_SHADE);
const shareWords = (share) => (share < 1.01e-5 ? '0.001 % or less' : 'about ' + Number((share * 100).toPrecision(2)) + ' %');

// One point a cell: its middle, its range and its shade.
function cellsOf(heat, number) {
  return heat.columns.flatMap((column, i) =>
    [...column].flatMap((letter, k) => {
      const shade = SHADES.indexOf(letter);
      const low = heat.low * heat.factor ** k;
      const cell = { range: [low, low * heat.factor], shade, row: number };
      return shade < 0 ? [] : [{ x: heat.from + (i + 0.5) * heat.width, y: low * Math.sqrt(heat.factor), ...cell }];
    }),
  );
}

// Text alternative: where most requests and the slowest are at the begin, in the middle and at the end, and the slowest of all.
function heatWords(name, cells) {
  const moments = [...new Set(cells.map((cell) => cell.x))];
  const at = (x) => {
    const own = cells.filter((cell) => cell.x === x);
    const most = own.reduce((a, b) => (b.shade > a.shade ? b : a));
    return `at ${FIGURES.second.show(x)} most took about ${time(most.y)}, the slowest about ${time(own[own.length - 1].y)}`;
  };
  const shown = [0, Math.floor(moments.length / 2), moments.length - 1].map((i) => moments[i]);
  const slowest = cells.reduce((a, b) => (b.y > a.y ? b : a));
  return (
    `response times over time of ${name}: ${shown.map(at).join('; ')}; ` +
    `the slowest of all about ${time(slowest.y)} at ${FIGURES.second.show(slowest.x)}`
  );
}

function drawHeat(host, number) {
  const row = data.rows[number];
  const { heat } = row;
  const cells = cellsOf(heat, number);
  const end = heat.from + heat.columns.length * heat.width;
  return plot(host, {
    x: { figure: 'second', label: 'seconds since the load began', ends: [heat.from, end] },
    y: { figure: 'response', isLog: true },
    series: [{ target: row.target, points: cells, width: heat.width }],
    words: heatWords(data.targets[row.target], cells),
    describe: (cell) => {
      const content = describeRow(number, 'response', cell.y);
      content.figures = [
        ['response time', between(cell.range, time)],
        ['share of the requests', shareWords(shareOf(cell.shade))],
        ['seconds', between([cell.x - heat.width / 2, cell.x + heat.width / 2], (x) => x.toFixed(1))],
      ];
      return content;
    },
  });
}

// Adds a card for each row with a map; returns their plots, which remove their cards.
function drawHeats(rows) {
  const grid = document.getElementById('heats');
  return rows
    .filter((number) => data.rows[number].heat)
    .map((number) => {
      const card = text('figure', '', 'card');
      const caption = document.createElement('figcaption');
      caption.append(
        text('b', 'Response times over time: ' + data.targets[data.rows[number].target]),
        text('span', 'shade: share of the requests of a moment, from 0.001 % (light) to all (dark), log scales'),
      );
      const host = text('div', '', 'plot');
      card.append(caption, host);
      grid.append(card);
      const drawn = drawHeat(host, number);
      return { remove: () => (drawn.remove(), card.remove()) };
    });
}
