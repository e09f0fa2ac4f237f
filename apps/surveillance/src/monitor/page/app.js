// The page of a monitor: one WebSocket for pictures, live or earlier, and requests to the recorder through the monitor process.

import { Player, decodesH264, parse } from "./player.js";

const $ = (id) => document.getElementById(id);

/** Read by tests. */
const monitor = { mode: "wait", camera: null, pictures: 0, captured: 0, first: 0, last: 0, problem: null };
window.dunlinMonitor = monitor;

const transport = decodesH264() ? "native" : "jpeg";
/** A picture that stands still for so long is not live any more, in milliseconds. */
const STILL = 3000;

let wanted = "live";
/** The session whose earlier pictures are shown; null until it is known. */
let session = null;
let drawn = 0;
let socket = null;
let got = 0;
let done = 0;
let acknowledged = 0;

const player = new Player($("picture"), { onFrame, onDone, onBroken: (why) => problem(why) });
const clock = (millis) => new Date(millis).toLocaleTimeString([], { hour12: false });

function problem(text) {
  monitor.problem = text;
  $("problem").hidden = !text;
  $("problem").textContent = text ?? "";
}

function send(command) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(command));
}

/** Opens the stream of what is wanted, in place of the one before. */
function connect() {
  const old = socket;
  socket = null;
  old?.close();
  player.reset();
  [got, done, acknowledged] = [0, 0, 0];
  const url = new URL(wanted === "live" ? "/live" : "/earlier", location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  const own = new WebSocket(url);
  socket = own;
  own.binaryType = "arraybuffer";
  own.onopen = () => send({ mode: transport, ...(wanted === "live" && monitor.camera ? { camera: monitor.camera } : {}) });
  own.onmessage = ({ data }) => {
    if (own !== socket) return;
    if (typeof data === "string") {
      // Frames still being decoded are of the choice before: they count as dealt with, or the process would wait.
      if (JSON.parse(data).type === "switched") {
        player.reset();
        done = got;
        onDone(0);
      }
      return;
    }
    got += 1;
    const frame = parse(data);
    if (frame) player.handle(frame);
    else onDone();
  };
  own.onclose = () => {
    if (own !== socket) return;
    wait("The monitor process cannot be reached. Trying again…");
    setTimeout(() => own === socket && connect(), 1000);
  };
}

function onDone(count = 1) {
  done += count;
  if (done - acknowledged >= 4 || count === 0) {
    acknowledged = done;
    send({ ack: done });
  }
}

function onFrame(frame) {
  drawn = performance.now();
  monitor.mode = wanted;
  monitor.pictures += 1;
  monitor.captured = frame.capturedMs;
  $("notice").hidden = true;
  $("mode").dataset.mode = wanted;
  $("mode").textContent = wanted;
  $("time").textContent = new Date(frame.capturedMs).toLocaleString();
}

function wait(text) {
  monitor.mode = "wait";
  $("mode").dataset.mode = "wait";
  $("mode").textContent = "waiting";
  $("notice").hidden = false;
  $("notice").textContent = text;
}

async function live() {
  if (wanted === "earlier") fetch("/stop", { method: "POST" });
  wanted = "live";
  problem(null);
  wait("Waiting for live pictures…");
  connect();
}

async function earlier(millis) {
  if (!monitor.camera) return problem("Choose a camera first.");
  const parameters = { camera: monitor.camera, from: Math.round(millis), speed: $("speed").value };
  const answer = await fetch(`/play?${new URLSearchParams(parameters)}`, { method: "POST" });
  if (!answer.ok) {
    const why = (await answer.text()) || "no pictures";
    return problem(answer.status === 429 ? `The recorder is busy: ${why}.` : `From ${clock(millis)}: ${why}.`);
  }
  [wanted, session] = ["earlier", null];
  problem(null);
  wait("Waiting for earlier pictures…");
  connect();
}

/** Makes the list say these cameras, and keeps what was chosen. */
function cameras(names) {
  const list = $("camera");
  if ([...list.options].map((it) => it.value).join("\n") !== names.join("\n")) {
    list.replaceChildren(...names.map((name) => new Option(name, name)));
  }
  if (!monitor.camera && names.length > 0) {
    monitor.camera = names[0];
    connect();
  }
  if (monitor.camera) list.value = monitor.camera;
}

function show(told) {
  $("name").textContent = told.name;
  cameras([...new Set([...told.live, ...told.recorded.map((it) => it.camera)])].sort());
  const recorded = told.recorded.find((it) => it.camera === monitor.camera);
  [monitor.first, monitor.last] = recorded ? [recorded.first, recorded.last] : [0, 0];
  $("first").textContent = recorded ? new Date(recorded.first).toLocaleString() : "nothing recorded";
  $("last").textContent = recorded ? new Date(recorded.last).toLocaleString() : "";
  if (recorded && document.activeElement !== $("line")) {
    const position = wanted === "earlier" && told.position > 0 ? told.position : recorded.last;
    $("line").value = String((1000 * (position - recorded.first)) / Math.max(1, recorded.last - recorded.first));
  }
  if (told.problem && wanted === "earlier") problem(told.problem);
  follow(told);
}

/** A camera that has stopped is not called live, and a session that another page has begun or ended is followed. */
function follow(told) {
  const still = performance.now() - drawn > STILL;
  if (wanted === "live") {
    if (still && monitor.mode === "live" && !told.live.includes(monitor.camera)) wait("The camera has stopped sending. Waiting for it…");
    return;
  }
  session ??= told.session;
  if (told.session === session) return;
  session = told.session;
  wait(session === 0 ? "The earlier pictures have ended: choose the time again, or live." : "Waiting for earlier pictures…");
  if (session !== 0) connect();
}

async function look() {
  try {
    show(await (await fetch("/state.json")).json());
  } catch {
    wait("The monitor process cannot be reached. Trying again…");
  }
  setTimeout(look, 500);
}

$("camera").addEventListener("change", (event) => {
  monitor.camera = event.target.value;
  if (wanted === "live") live();
  else earlier(monitor.captured);
});
$("live").addEventListener("click", live);
for (const button of document.querySelectorAll("[data-ago]")) {
  button.addEventListener("click", () => earlier(Math.max(monitor.first, Date.now() - 1000 * Number(button.dataset.ago))));
}
$("at").addEventListener("submit", (event) => {
  event.preventDefault();
  earlier(new Date($("from").value).getTime());
});
$("line").addEventListener("change", (event) => {
  earlier(monitor.first + (Number(event.target.value) / 1000) * (monitor.last - monitor.first));
  event.target.blur();
});
connect();
look();
