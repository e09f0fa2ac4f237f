"use strict";

const $ = (id) => document.getElementById(id);
const number = (n) => n.toLocaleString("en");
const size = (octets) => {
  for (const [name, unit] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
    if (octets >= unit) return `${(octets / unit).toFixed(1)} ${name}`;
  }
  return `${octets} B`;
};
let paused = false;

function draw(timeline) {
  const canvas = $("timeline");
  const scale = window.devicePixelRatio || 1;
  canvas.width = canvas.clientWidth * scale;
  canvas.height = canvas.clientHeight * scale;
  const style = getComputedStyle(document.documentElement);
  const pen = canvas.getContext("2d");
  const seconds = timeline.seconds;
  const most = Math.max(1, ...seconds.map((it) => it.recorded + it.missing));
  const width = canvas.width / Math.max(60, seconds.length);
  seconds.forEach((it, n) => {
    const recorded = (it.recorded / most) * canvas.height;
    const missing = (it.missing / most) * canvas.height;
    pen.fillStyle = style.getPropertyValue("--accent");
    pen.fillRect(n * width, canvas.height - recorded, Math.max(1, width - scale), recorded);
    pen.fillStyle = style.getPropertyValue("--bad");
    pen.fillRect(n * width, canvas.height - recorded - missing, Math.max(1, width - scale), missing);
  });
  $("axis").textContent = `second ${timeline.first} to ${timeline.first + seconds.length}, at most ${number(most)} a second`;
}

function cell(row, text, bad) {
  const made = row.insertCell();
  made.textContent = text;
  made.className = bad ? "bad" : "";
}

function topics(all) {
  const body = $("topics");
  body.replaceChildren();
  for (const [name, it] of Object.entries(all)) {
    const row = body.insertRow();
    cell(row, name);
    cell(row, number(it.writers));
    cell(row, number(it.recorded));
    cell(row, size(it.octets));
    cell(row, number(it.lost + it.dropped), it.lost + it.dropped > 0);
  }
}

/** Makes a list say these things, each a value and a text, and keeps what was chosen. */
function choices(list, wanted) {
  const text = (all) => all.map(([value, label]) => `${value}\n${label}`).join("\n");
  if (text([...list.options].map((it) => [it.value, it.text])) === text(wanted)) return;
  const chosen = list.value;
  list.replaceChildren(...wanted.map(([value, label]) => new Option(label, value)));
  if (wanted.some(([value]) => value === chosen)) list.value = chosen;
}

function files(told) {
  const present = told.present ? [[told.present, `${told.present} (present)`]] : [];
  choices($("files"), [...present, ...told.files.map((it) => [it.name, `${it.name}, ${size(it.octets)}`])]);
}

function show(told) {
  paused = told.paused;
  $("state").textContent = paused ? "stopped" : "recording";
  $("state").className = paused ? "off" : "on";
  $("switch").textContent = paused ? "Start" : "Stop";
  $("recorded").textContent = number(told.counts.recorded);
  $("octets").textContent = size(told.counts.octets);
  for (const name of ["lost", "dropped"]) {
    $(name).textContent = number(told.counts[name]);
    $(name).className = told.counts[name] > 0 ? "bad" : "";
  }
  $("waiting").textContent = `${Math.round((100 * told.waiting) / Math.max(1, told.room))} %`;
  $("problems").hidden = told.counts.problems.length === 0;
  $("problems").textContent = told.counts.problems.join("\n");
  topics(told.counts.topics);
  choices($("seen"), [["", "none"], ...Object.keys(told.counts.topics).map((it) => [it, it])]);
  files(told);
  draw(told.timeline);
}

async function look() {
  try {
    const answer = await fetch("state.json");
    show(await answer.json());
  } catch {
    $("state").textContent = "the recorder does not answer";
    $("state").className = "off";
  }
  setTimeout(look, 500);
}

/** One figure for each writer, which stays as long as the writer does. */
function figure(picture) {
  const id = `writer-${picture.writer}`;
  const made = $(id) ?? document.createElement("figure");
  if (made.id !== id) {
    made.id = id;
    made.append(document.createElement("img"), document.createElement("figcaption"));
  }
  const [image, caption] = made.children;
  image.src = `data:image/jpeg;base64,${picture.jpeg}`;
  image.alt = `Latest picture of writer ${picture.writer}`;
  caption.textContent = `${picture.received} UTC`;
  return made;
}

async function pictures() {
  const topic = $("seen").value;
  let all = [];
  let why = "";
  if (topic) {
    try {
      const answer = await fetch(`pictures.json?${new URLSearchParams({ topic })}`);
      if (answer.ok) {
        const latest = await answer.json();
        all = latest.filter((it) => it.jpeg);
        if (all.length === 0) why = latest.length > 0 ? "Its samples hold no JPEG image." : "Nothing has come yet.";
      } else {
        why = await answer.text();
      }
    } catch {
      why = "The recorder does not answer.";
    }
  }
  if (topic === $("seen").value) {
    $("pictures").replaceChildren(...all.map(figure));
    $("no-picture").textContent = why;
  }
  setTimeout(pictures, 200);
}

$("switch").addEventListener("click", () => fetch(paused ? "go" : "pause", { method: "POST" }));
$("split").addEventListener("click", () => fetch("split", { method: "POST" }));
look();
pictures();
