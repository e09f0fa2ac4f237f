// Draws the board: 240 by 270, as every vendor's demonstration has it.

const BOARD = { width: 240, height: 270 };
const COLORS = {
  BLUE: "#3f7fe8", RED: "#e04848", GREEN: "#37a85a", YELLOW: "#dfb31c", MAGENTA: "#d04fc4", CYAN: "#1fb3c2",
  ORANGE: "#ee8a2a", PURPLE: "#8a5bd6", GRAY: "#7d8894", BLACK: "#30363d",
};

/** The colour that a key names. Numbers behind the name do not matter. */
export function colorOf(key) {
  return COLORS[key.toUpperCase().replace(/\d+$/, "")] ?? "#7d8894";
}

/** The outline of a shape around a place. */
function outline(context, topic, x, y, size) {
  const half = size / 2;
  context.beginPath();
  if (topic === "Circle") {
    context.arc(x, y, half, 0, 2 * Math.PI);
  } else if (topic === "Triangle") {
    context.moveTo(x, y - half);
    context.lineTo(x + half, y + half);
    context.lineTo(x - half, y + half);
  } else {
    context.rect(x - half, y - half, size, size);
  }
  context.closePath();
}

function drawShape(context, shape) {
  const { topic, trail, size } = shape;
  const color = colorOf(shape.color);
  const alive = shape.state === "alive";
  context.strokeStyle = color;
  context.fillStyle = color;
  trail.slice(0, -1).forEach(([x, y], at) => {
    context.globalAlpha = 0.1 + (0.35 * at) / trail.length;
    context.lineWidth = 0.6;
    outline(context, topic, x, y, size);
    context.stroke();
  });
  const [x, y] = trail[trail.length - 1];
  context.globalAlpha = alive ? 1 : 0.45;
  context.setLineDash(alive ? [] : [3, 3]);
  context.lineWidth = shape.own ? 1 : 2.2;
  outline(context, topic, x, y, size);
  if (shape.own) context.fill();
  context.stroke();
  context.setLineDash([]);
  context.globalAlpha = 1;
  if (!shape.own) {
    context.font = "7px system-ui, sans-serif";
    context.textAlign = "center";
    const label = alive ? shape.color : `${shape.color}: ${shape.state}`;
    const half = context.measureText(label).width / 2 + 2;
    const middle = Math.min(Math.max(x, half), BOARD.width - half);
    context.fillText(label, middle, Math.max(8, y - size / 2 - 3));
  }
}

/** Draws everything anew. */
export function draw(canvas, shapes) {
  const context = canvas.getContext("2d");
  const scale = canvas.width / BOARD.width;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--grid");
  context.lineWidth = 0.5;
  context.beginPath();
  for (let x = 30; x < BOARD.width; x += 30) {
    context.moveTo(x, 0);
    context.lineTo(x, BOARD.height);
  }
  for (let y = 30; y < BOARD.height; y += 30) {
    context.moveTo(0, y);
    context.lineTo(BOARD.width, y);
  }
  context.stroke();
  shapes.forEach((shape) => drawShape(context, shape));
}
