// Initialises the page.

document.querySelectorAll('[data-view]').forEach((figure) => drawView(figure, data.views[Number(figure.dataset.view)]));
bindLegend();
bindLoads();
bindRounds();
bindTables();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
document.getElementById('detail').addEventListener('click', (event) => {
  if (event.target === event.currentTarget) event.currentTarget.close();
});
if (data.isRunning) {
  // Reloads for new results, but not while a tooltip or dialog is open.
  const isBusy = () =>
    document.hidden || !document.getElementById('tip').hidden || document.getElementById('detail').open;
  setInterval(() => isBusy() || location.reload(), 5000);
}
