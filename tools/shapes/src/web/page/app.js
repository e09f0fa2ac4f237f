// Shows the board that the server sends, and sends what the form asks for.

import { colorOf, draw } from "./draw.js";

const element = (id) => document.getElementById(id);
const canvas = element("board");
let socket = null;
/** What tests look at. */
window.shapesSeen = { views: 0, shapes: 0 };

function connect() {
  socket = new WebSocket(`ws://${location.host}/ws`);
  socket.onopen = () => link(true);
  socket.onclose = () => {
    link(false);
    setTimeout(connect, 1000);
  };
  socket.onmessage = (message) => {
    const told = JSON.parse(message.data);
    if ("error" in told) {
      element("error").textContent = told.error;
    } else {
      show(told);
    }
  };
}

function link(on) {
  element("link").className = on ? "on" : "off";
  element("link").textContent = on ? "connected" : "not connected: is dunlin shapes running?";
}

function show(view) {
  element("domain").textContent = `domain ${view.domain}`;
  draw(canvas, view.shapes);
  showEntries(view.entries);
  window.shapesSeen.views += 1;
  window.shapesSeen.shapes = view.shapes.length;
}

/** The cards of publications and subscriptions; those that stay are changed, so that their buttons can be clicked. */
function showEntries(entries) {
  const list = element("entries");
  const wanted = new Set(entries.map((entry) => String(entry.id)));
  [...list.children].filter((card) => !wanted.has(card.dataset.id)).forEach((card) => card.remove());
  for (const entry of entries) {
    const card = list.querySelector(`[data-id="${entry.id}"]`) ?? newCard(list, entry);
    const others = (entry.publishes ? "reader" : "writer") + (entry.matched === 1 ? "" : "s");
    const counts = `${entry.matched} ${others} · ${entry.samples} samples`;
    card.querySelector(".counts").textContent = counts;
    card.querySelector(".problem").textContent = entry.problem;
  }
}

function newCard(list, entry) {
  const card = document.createElement("div");
  card.className = "entry";
  card.dataset.id = entry.id;
  const part = (name, text) => {
    const made = document.createElement(name === "button" ? "button" : "span");
    made.className = name;
    made.textContent = text;
    card.append(made);
    return made;
  };
  const verb = entry.publishes ? "publishes" : "subscribes to";
  const what = part("what", `${verb} ${entry.topic} ${entry.color}`);
  const dot = document.createElement("span");
  dot.className = "dot";
  dot.style.background = entry.publishes ? colorOf(entry.color) : "transparent";
  dot.style.border = entry.publishes ? "none" : "2px solid currentColor";
  what.prepend(dot);
  part("counts", "");
  part("summary", entry.summary);
  part("button", "remove").onclick = () => send({ remove: { id: entry.id } });
  part("problem", entry.problem);
  list.append(card);
  return card;
}

function send(wish) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(wish));
}

element("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const fields = new FormData(event.target);
  const number = (name) => Math.trunc(Number(fields.get(name))) || 0;
  const settings = {
    reliable: fields.get("reliable") !== "",
    transient_local: fields.get("transient_local") !== "",
    exclusive: fields.get("exclusive") !== "",
    partition: fields.get("partition"),
    filter: "",
  };
  for (const name of ["history", "strength", "deadline"]) settings[name] = number(name);
  const topic = fields.get("topic");
  if (event.submitter?.value === "publish") {
    settings.lifespan = number("lifespan");
    send({ publish: { topic, color: fields.get("color"), size: number("size"), settings } });
  } else {
    settings.time_filter = number("time_filter");
    settings.filter = fields.get("filter");
    send({ subscribe: { topic, settings } });
  }
});

connect();
