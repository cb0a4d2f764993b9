// Ratios to the baseline by round: one dot a target and round, for the selected load and figure.

function drawRounds(host, rounds, figure) {
  const series = rounds.series
    .filter((one) => one.figure === figure)
    .map((one) => ({
      target: one.target,
      all: one.all,
      points: one.ratios.map((y, i) => ({ x: rounds.at[i], y })),
    }));
  return plot(host, {
    x: { figure: 'second', label: 'seconds since the first slice', fromZero: true },
    y: { figure: 'ratio', isLog: true },
    series,
    isDots: true,
    band: [1 / (1 + rounds.margin), 1 + rounds.margin],
    breaks: rounds.starts,
    describe: (point, s) => {
      const figures = [[figure + ' in this round', FIGURES.ratio.show(point.y)]];
      if (s.all) figures.push(['all rounds', s.all]);
      figures.push(['at', point.x.toFixed(1) + ' s']);
      return { title: `${data.targets[s.target]} to ${rounds.baseline}`, target: s.target, figures };
    },
  });
}

function bindRounds() {
  const card = document.getElementById('rounds');
  if (!card) return;
  const [loads, figures] = ['rounds-load', 'rounds-figure'].map((id) => document.getElementById(id));
  const fill = (select, names) =>
    select.replaceChildren(
      ...names.map((name, value) => {
        const option = text('option', name);
        option.value = value;
        return option;
      }),
    );
  fill(
    loads,
    data.rounds.map((rounds) => rounds.load || 'the one load'),
  );
  let [shown, names] = [null, []];
  const show = () => {
    if (shown) shown.remove();
    shown = drawRounds(card.querySelector('.plot'), data.rounds[Number(loads.value)], names[Number(figures.value)]);
  };
  const choose = () => {
    names = [...new Set(data.rounds[Number(loads.value)].series.map((one) => one.figure))];
    fill(figures, names);
    show();
  };
  loads.addEventListener('change', choose);
  figures.addEventListener('change', show);
  choose();
}
