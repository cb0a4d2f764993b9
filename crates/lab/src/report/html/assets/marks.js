// Appearance of targets: colour, marker, and whether a target is hidden or highlighted.

const style = () => getComputedStyle(document.documentElement);
const colour = (name) =>
  style()
    .getPropertyValue('--' + name)
    .trim();
const targetColour = (number) => colour('t' + (number % data.colours));

const hidden = new Set();
let focused = null;
// All plots of the page, redrawn when the above change.
const plots = [];
const redraw = () => plots.forEach((plot) => plot.refresh());

// Outline of a marker; `corners` are tenths of the radius, an empty list is a circle.
function outline(number, x, y, radius) {
  const corners = data.shapes[number % data.shapes.length];
  const path = new Path2D();
  if (corners.length === 0) {
    path.arc(x, y, radius, 0, 2 * Math.PI);
    return path;
  }
  corners.forEach(([dx, dy], i) => path[i ? 'lineTo' : 'moveTo'](x + (dx * radius) / 10, y + (dy * radius) / 10));
  path.closePath();
  return path;
}

function drawMarker(ctx, number, x, y, radius, isHollow) {
  const path = outline(number, x, y, radius);
  ctx.fillStyle = isHollow ? colour('card') : targetColour(number);
  ctx.fill(path);
  if (isHollow) {
    ctx.lineWidth = radius / 2;
    ctx.stroke(path);
  }
}

// The legend: a click hides a target in all plots, hovering highlights it.
function bindLegend() {
  document.querySelectorAll('#targets [data-target]').forEach((button) => {
    const number = Number(button.dataset.target);
    button.addEventListener('click', () => {
      const isHidden = hidden.has(number);
      isHidden ? hidden.delete(number) : hidden.add(number);
      button.setAttribute('aria-pressed', String(isHidden));
      document.querySelectorAll(`.bar[data-target="${number}"]`).forEach((bar) => (bar.hidden = !isHidden));
      redraw();
    });
    const focus = (value) => () => {
      focused = value;
      redraw();
    };
    ['mouseenter', 'focus'].forEach((name) => button.addEventListener(name, focus(number)));
    ['mouseleave', 'blur'].forEach((name) => button.addEventListener(name, focus(null)));
  });
}
