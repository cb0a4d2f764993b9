// How a target looks: its colour, its marker, and whether the reader has hidden it or points at it.

const style = () => getComputedStyle(document.documentElement);
const colour = (name) =>
  style()
    .getPropertyValue('--' + name)
    .trim();
const targetColour = (number) => colour('t' + (number % data.colours));

const hidden = new Set();
let focused = null;
// Every plot on the page, to be drawn again when one of the above changes.
const plots = [];
const redraw = () => plots.forEach((plot) => plot.refresh());

// The outline of a marker around a place; `corners` are tenths of the radius, none is a circle.
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

// The legend: a click hides a target in every plot, the pointer above it brings it to the front.
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
    button.addEventListener('mouseenter', focus(number));
    button.addEventListener('mouseleave', focus(null));
  });
}
