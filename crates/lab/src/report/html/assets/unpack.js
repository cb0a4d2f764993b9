// The rows as objects, with their texts in place: in the page the names of values and every text stand once.

const [names, ...lists] = data.rows;
const texts = data.texts;
data.rows = lists.map((values) => {
  const row = Object.fromEntries(names.map((name, i) => [name, values[i]]));
  return {
    ...row,
    folder: data.places[row.run] + 'trials/' + row.id.map((n) => texts[n]).join(','),
    placed: texts[row.placed],
    kinds: row.kinds.map(([kind, count]) => [texts[kind], count]),
    doubts: row.doubts.map(([kind, repeats, why, remedy]) => ({
      kind: texts[kind],
      repeats,
      why: texts[why],
      remedy: texts[remedy],
    })),
    trials: row.trials.map(([repeat, rate, p99, kind, steal]) => [repeat, rate, p99, texts[kind], steal]),
    envs: row.envs.map((n) => texts[n]),
  };
});
