// The page: one WebSocket to the viewer process, the picture, and what is known of it.

import { Chart } from "./chart.js";
import { Player, decodesH264, parse } from "./player.js";

const element = (id) => document.getElementById(id);
const wanted = new URLSearchParams(location.search);

/** Read by tests. */
const stats = {
  connected: false,
  camera: null,
  decoder: "–",
  receivedMessages: 0,
  decodedFrames: 0,
  distinctFrames: 0,
  lost: 0,
  received: 0,
  skipped: 0,
  lastFrame: -1,
  latencyMs: null,
  errors: [],
};
window.dunlinStats = stats;

let mode = wanted.get("mode") === "jpeg" || !decodesH264() ? "jpeg" : "native";
let camera = wanted.get("camera");
let socket = null;
// Frames of this connection: received, dealt with, and told to the viewer as dealt with.
let got = 0;
let done = 0;
let acknowledged = 0;
let last = null;
let latencies = [];

const chart = new Chart(element("chart"));
const player = new Player(element("picture"), { onFrame, onDone, onBroken });
const probe = distinctProbe();

function connect() {
  const url = new URL("/ws", location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  socket = new WebSocket(url);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => {
    got = 0;
    done = 0;
    acknowledged = 0;
    player.reset();
    stats.connected = true;
    if (mode !== "native" || camera) send({ mode, ...(camera ? { camera } : {}) });
  };
  socket.onmessage = ({ data }) => {
    if (typeof data === "string") onText(JSON.parse(data));
    else onBinary(data);
  };
  socket.onclose = () => {
    stats.connected = false;
    link("down", "viewer not reachable");
    notice("The viewer process cannot be reached.\nTrying again…");
    setTimeout(connect, 1000);
  };
}

function send(command) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(command));
}

function onBinary(data) {
  got += 1;
  stats.receivedMessages += 1;
  const frame = parse(data);
  if (frame) player.handle(frame);
  else onDone();
}

function onText(message) {
  if (message.type === "switched") {
    // Frames still being decoded are of the choice before: they count as dealt with, or the viewer would wait.
    done = got;
    player.reset();
    acknowledge();
    latencies = [];
  } else if (message.type === "status") {
    onStatus(message);
  }
}

function onDone() {
  done += 1;
  if (done - acknowledged >= 4 || done === got) acknowledge();
}

function acknowledge() {
  if (done > acknowledged) {
    acknowledged = done;
    send({ ack: done });
  }
}

function onBroken(reason) {
  stats.errors.push(reason);
  if (mode === "jpeg") return;
  mode = "jpeg";
  send({ mode });
}

function onFrame(frame) {
  const now = wallClock();
  stats.decodedFrames += 1;
  stats.lastFrame = frame.number;
  stats.decoder = player.name;
  last = { frame, at: performance.now() };
  probe();
  if (!frame.history) {
    const latency = now - frame.capturedMs;
    latencies.push(latency);
    if (latencies.length > 60) latencies.shift();
    chart.add(latency);
  }
}

// The wall clock with the resolution of the other one, which does not follow when the wall clock is set.
let clockOffset = performance.timeOrigin;
function wallClock() {
  const offset = Date.now() - performance.now();
  if (Math.abs(offset - clockOffset) > 2) clockOffset = offset;
  return clockOffset + performance.now();
}

/** Counts pictures that differ, by what is on the canvas. */
function distinctProbe() {
  const small = document.createElement("canvas");
  small.width = 160;
  small.height = 90;
  const context = small.getContext("2d", { willReadFrequently: true });
  const seen = new Set();
  return () => {
    if (seen.size >= 2000) return;
    context.drawImage(element("picture"), 0, 0, small.width, small.height);
    const pixels = new Uint32Array(context.getImageData(0, 0, small.width, small.height).data.buffer);
    let hash = 0x811c9dc5;
    for (const pixel of pixels) hash = Math.imul(hash ^ pixel, 0x01000193);
    seen.add(hash);
    stats.distinctFrames = seen.size;
  };
}

function onStatus({ camera: current, skipped, transcodes, hub }) {
  const chosen = hub.cameras.find(({ id }) => id === current);
  stats.camera = current;
  stats.skipped = skipped;
  stats.lost = chosen?.lost ?? 0;
  stats.received = chosen?.received ?? 0;
  showCameras(hub, current);
  showQos(hub, current);
  element("clients").textContent = hub.clients;
  element("skipped").textContent = skipped;
  element("camera-name").textContent = current ?? "no camera";
  element("camera-format").textContent = chosen ? format(chosen) : "";
  element("fps").textContent = chosen ? chosen.fps.toFixed(1) : "–";
  element("bitrate").textContent = chosen ? (chosen.bitrate / 1e6).toFixed(2) : "–";
  element("dds-latency").textContent = chosen?.latency_p50?.toFixed(1) ?? "–";
  element("lost").textContent = chosen ? chosen.lost : "–";
  element("lost-note").textContent = `of ${(stats.received + stats.lost).toLocaleString("en")} sent`;
  element("lost-tile").dataset.state = !chosen ? "" : chosen.lost === 0 ? "good" : "bad";
  showState(hub, chosen, transcodes);
}

function format({ width, height, encoding }) {
  return width > 0 ? `${width} × ${height} ${encoding}` : encoding;
}

function showState(hub, chosen, transcodes) {
  const problem = hub.publishers.find((publisher) => publisher.problem)?.problem;
  if (chosen?.live && chosen.encoding === "opaque") {
    link("live", "receiving");
    notice("These frames are no pictures: they only measure.");
  } else if (chosen?.live && chosen.encoding === "H.264" && mode === "jpeg" && !transcodes) {
    link("live", "receiving");
    notice("This browser cannot decode H.264 on this page, and the viewer is built without the feature h264.\n" +
      "Open the page on this host as http://localhost, or publish MJPEG.");
  } else if (chosen?.live) {
    link("live", "live");
    if (last) notice(null);
  } else if (problem) {
    link("wait", "no match");
    notice(`A publisher was found, but nothing can come from it:\n${problem}`);
  } else {
    link("wait", "waiting");
    notice(chosen ? "The camera has stopped sending.\nWaiting for it…" : "Waiting for a camera on this topic…");
  }
}

function showCameras({ cameras, publishers }, current) {
  const names = new Map(cameras.map((each) => [each.id, each]));
  for (const { camera: announced } of publishers) {
    if (announced && !names.has(announced)) names.set(announced, null);
  }
  const items = [...names].map(([name, known]) => {
    const item = document.createElement("li");
    const button = document.createElement("button");
    const title = document.createElement("b");
    const detail = document.createElement("span");
    title.textContent = name;
    detail.textContent = !known ? "found" : known.live ? `${format(known)}, ${known.fps.toFixed(0)}/s` : "silent";
    button.type = "button";
    button.setAttribute("aria-pressed", String(name === current));
    button.onclick = () => choose(name);
    button.append(title, detail);
    item.append(button);
    return item;
  });
  if (items.length > 0) element("cameras").replaceChildren(...items);
}

function choose(name) {
  camera = name;
  send({ camera });
}

function showQos({ publishers }, current) {
  const shown = publishers.filter(({ camera: announced }) => !announced || announced === current);
  const rows = shown.flatMap(({ qos, problem }) => [
    ...qos.map(([name, value]) => [row("dt", name), row("dd", value)]),
    ...(problem ? [[row("dd", problem, "problem")]] : []),
  ]);
  if (rows.length > 0) element("qos").replaceChildren(...rows.flat());
  else element("qos").replaceChildren(row("dt", "no publisher found", "empty"));
}

function row(tag, text, kind = "") {
  const cell = document.createElement(tag);
  cell.textContent = text;
  cell.className = kind;
  return cell;
}

function link(state, text) {
  element("link").dataset.state = state;
  element("link").textContent = text;
}

function notice(text) {
  element("notice").hidden = text === null;
  if (text !== null) element("notice").firstElementChild.textContent = text;
}

function refresh() {
  if (last) {
    element("frame-number").textContent = `frame ${last.frame.number.toLocaleString("en")}`;
    element("decoded").textContent = stats.decodedFrames.toLocaleString("en");
    element("decoder").textContent = stats.decoder;
  }
  if (latencies.length > 0) {
    const sorted = [...latencies].sort((a, b) => a - b);
    stats.latencyMs = sorted[sorted.length >> 1];
    element("latency").textContent = stats.latencyMs.toFixed(1);
  }
  chart.draw();
}

element("full").onclick = () => {
  if (document.fullscreenElement) document.exitFullscreen();
  else document.querySelector(".stage").requestFullscreen();
};
setInterval(refresh, 250);
connect();
