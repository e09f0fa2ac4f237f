// Opens the page of `dunlin shapes` in headless Chromium, uses its form, and looks at the board, while another process
// publishes and subscribes.
//
// node shapes.mjs BINARY

import { PATIENCE, watchCanvas, withPage } from "./browser.mjs";
import { interrupt, start } from "./processes.mjs";

const binary = process.argv[2];
process.env.DUNLIN_NETWORK_INTERFACES ??= "lo";

/** Waits until a function of the page says yes. */
const until = (page, look, value) => page.waitForFunction(look, value, { timeout: PATIENCE, polling: 50 });

/** Fills the form with what is given; everything else keeps what it had. */
async function fill(page, fields) {
  for (const [name, value] of Object.entries(fields)) {
    const field = page.locator(`#form [name="${name}"]`);
    if ((await field.evaluate((element) => element.tagName)) === "SELECT") {
      await field.selectOption(value);
    } else {
      await field.fill(value);
    }
  }
}

const click = (page, button) => page.click(`#form button[value="${button}"]`);

/** Waits for a card whose parts contain these texts. */
function card(page, parts) {
  const look = (parts) => {
    const has = (card, [part, text]) => card.querySelector(`.${part}`).textContent.includes(text);
    return [...document.querySelectorAll(".entry")].some((card) => Object.entries(parts).every((each) => has(card, each)));
  };
  return until(page, look, parts);
}

/** Clicks "remove" on the card of what is said. */
const remove = (page, what) => page.locator(".entry", { hasText: what }).getByText("remove", { exact: true }).click();

/** Waits until the page has been told so many shapes. */
const shapes = (page, count) => until(page, (count) => window.shapesSeen.shapes === count, count);

/** Waits until at least so many pixels of the board have a colour of draw.js. */
function pixels(page, color, least) {
  const look = ([[red, green, blue], least]) => {
    const board = document.getElementById("board");
    const { data } = board.getContext("2d").getImageData(0, 0, board.width, board.height);
    let count = 0;
    for (let at = 0; at < data.length; at += 4) {
      count += data[at] === red && data[at + 1] === green && data[at + 2] === blue && data[at + 3] === 255;
    }
    return least === 0 ? count === 0 : count >= least;
  };
  return until(page, look, [color, least]);
}
const RED = [0xe0, 0x48, 0x48];
const MAGENTA = [0xd0, 0x4f, 0xc4];

async function subscribe(page) {
  await fill(page, { topic: "Circle", reliable: "", history: "10", filter: "x < 1000" });
  await click(page, "subscribe");
  await shapes(page, 1);
  await card(page, { what: "subscribes to Circle", counts: "1 writer ·", summary: "best effort, last 10, x < 1000" });
  await pixels(page, RED, 50);
  await page.evaluate(() => window.seenPictures.clear());
  await until(page, () => window.seenPictures.size >= 10);
  const before = await page.evaluate(() => window.shapesSeen.views);
  await until(page, (before) => window.shapesSeen.views >= before + 10, before);
  console.log("a subscription of the form: shapes of another process move on the board");
}

async function publish(page, there) {
  await fill(page, { topic: "Square", color: "MAGENTA", size: "60", reliable: "1", exclusive: "", lifespan: "500" });
  await click(page, "publish");
  await shapes(page, 2);
  await card(page, { what: "publishes Square MAGENTA", counts: "1 reader ·", summary: "reliable, last 10, lifespan 500 ms" });
  // A filled square of 60 by 60 at four pixels for each step of the board.
  await pixels(page, MAGENTA, 200 * 200);
  await card(there, { what: "subscribes to Square", counts: "1 writer ·" });
  await shapes(there, 2);
  console.log("a publication of the form: the other process receives it");
}

async function mistakes(page) {
  await fill(page, { topic: "Circle", transient_local: "1", filter: "" });
  await click(page, "subscribe");
  await card(page, { summary: "transient local", counts: "0 writers ·", problem: "not with all: DURABILITY" });
  await fill(page, { transient_local: "", filter: "x <" });
  await click(page, "subscribe");
  await until(page, () => document.getElementById("error").textContent !== "");
  await fill(page, { topic: "Triangle", filter: "" });
  await click(page, "subscribe");
  await until(page, () => document.getElementById("error").textContent === "");
  await card(page, { what: "subscribes to Triangle" });
  console.log("a policy that does not fit and a wrong filter are told");
}

async function removal(page, there) {
  await remove(page, "publishes Square");
  await card(there, { what: "subscribes to Square", counts: "0 writers ·" });
  await pixels(page, MAGENTA, 0);
  for (const what of ["transient local", "subscribes to Triangle", "subscribes to Circle"]) await remove(page, what);
  await shapes(page, 0);
  await until(page, () => document.querySelectorAll(".entry").length === 0);
  await pixels(page, RED, 0);
  await card(there, { what: "publishes Circle RED", counts: "0 readers ·" });
  console.log("what is removed is gone from the board and from the other process");
}

async function visit(page, problems, url) {
  const there = await page.context().newPage();
  await there.goto(url);
  // The subscription of the process itself; the form makes the others.
  await remove(page, "subscribes to Triangle");
  await until(page, () => document.querySelectorAll(".entry").length === 0);
  await watchCanvas(page, "board");
  await until(page, () => window.shapesSeen.views > 10 && window.shapesSeen.shapes === 0);
  await pixels(page, RED, 0);
  await subscribe(page);
  await publish(page, there);
  await mistakes(page);
  await removal(page, there);
  await fill(page, { topic: "Square", color: "CYAN" });
  await click(page, "publish");
  await card(there, { what: "subscribes to Square", counts: "1 writer ·" });
  if (problems.length > 0) throw new Error(`the page has problems: ${problems.join("; ")}`);
  await page.close();
  await card(there, { what: "subscribes to Square", counts: "0 writers ·" });
  console.log("what a page has made ends when it is closed");
}

async function run() {
  const there = start(binary, ["shapes", "--web", "0", "--publish", "Circle:RED:40", "--subscribe", "Square"]);
  const here = start(binary, ["shapes", "--web", "0", "--subscribe", "Triangle"]);
  try {
    const url = await there.opened;
    await withPage(await here.opened, (page, problems) => visit(page, problems, url));
  } finally {
    await Promise.all([interrupt(here), interrupt(there)]);
  }
}

run().then(
  () => process.exit(0),
  (error) => {
    console.error(`browser test failed: ${error.stack ?? error}`);
    process.exit(1);
  },
);
