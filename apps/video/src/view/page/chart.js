// A line of the latest values, drawn on a small canvas.

const KEPT = 300;

export class Chart {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.values = [];
  }

  add(value) {
    this.values.push(value);
    if (this.values.length > KEPT) this.values.shift();
  }

  draw() {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(this.canvas.clientWidth * ratio);
    const height = Math.round(this.canvas.clientHeight * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    const c = this.context;
    c.clearRect(0, 0, width, height);
    const top = scaleFor(Math.max(1, ...this.values));
    c.font = `${11 * ratio}px system-ui, sans-serif`;
    c.fillStyle = "#8b98a5";
    c.strokeStyle = "#262e38";
    c.lineWidth = ratio;
    for (const part of [0, 0.5, 1]) {
      const y = Math.round((height - 2 * ratio) * (1 - part)) + ratio;
      c.beginPath();
      c.moveTo(0, y);
      c.lineTo(width, y);
      c.stroke();
      if (part > 0) c.fillText(`${top * part} ms`, 2 * ratio, y + 12 * ratio);
    }
    if (this.values.length < 2) return;
    c.strokeStyle = "#4cc2b4";
    c.lineWidth = 1.5 * ratio;
    c.beginPath();
    this.values.forEach((value, i) => {
      const x = (i + KEPT - this.values.length) * width / (KEPT - 1);
      const y = (height - 2 * ratio) * (1 - Math.max(0, Math.min(value, top)) / top) + ratio;
      if (i === 0) c.moveTo(x, y);
      else c.lineTo(x, y);
    });
    c.stroke();
  }
}

// The round number above `value` that ends the axis.
function scaleFor(value) {
  const step = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * step).find((end) => end >= value);
}
