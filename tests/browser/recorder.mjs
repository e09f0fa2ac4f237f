// Opens the page of `dunlin record` in headless Chromium while a camera publishes: counts, time line, pictures that move, stop and
// start, a new file, a cut that is downloaded.
//
// node recorder.mjs RECORDER [--camera PROGRAM] [--screenshot FILE]

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { PATIENCE, withPage } from "./browser.mjs";
import { interrupt, kill, start } from "./processes.mjs";

const { positionals, values: options } = parseArgs({
  allowPositionals: true,
  options: { camera: { type: "string" }, screenshot: { type: "string" } },
});
process.env.DUNLIN_NETWORK_INTERFACES ??= "lo";

const until = (page, look, value) => page.waitForFunction(look, value, { timeout: PATIENCE, polling: 50 });
/** Waits until the number in an element is more than another one. */
const above = (page, id, least) =>
  until(page, ([id, least]) => Number(document.getElementById(id).textContent.replaceAll(",", "")) > least, [id, least]);
const value = (page, id) => page.evaluate((id) => Number(document.getElementById(id).textContent.replaceAll(",", "")), id);

async function counts(page) {
  await until(page, () => document.getElementById("state").textContent === "recording");
  await above(page, "recorded", 20);
  await until(page, () => [...document.querySelectorAll("#topics td")].some((it) => it.textContent === "Video"));
  const colours = () => {
    const canvas = document.getElementById("timeline");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.some((it) => it !== 0);
  };
  await until(page, colours);
  console.log("counts, topics and the time line are there");
}

/** Two cameras, and a picture of each that changes. */
async function pictures(page) {
  await page.selectOption("#seen", "Video");
  await page.evaluate(() => {
    window.seen = new Map();
    setInterval(() => {
      for (const figure of document.querySelectorAll("figure")) {
        const image = figure.querySelector("img");
        if (!window.seen.has(figure.id)) window.seen.set(figure.id, new Set());
        if (image.naturalWidth > 0) window.seen.get(figure.id).add(image.src);
      }
    }, 50);
  });
  await until(page, () => window.seen.size === 2 && [...window.seen.values()].every((it) => it.size >= 5));
  console.log("the pictures of two cameras move");
}

async function stop(page) {
  await page.click("#switch");
  await until(page, () => document.getElementById("state").textContent === "stopped");
  // What was on its way to the disk is still counted.
  let before = -1;
  while (before !== (await value(page, "recorded"))) {
    before = await value(page, "recorded");
    await page.waitForTimeout(1500);
  }
  await page.click("#switch");
  await above(page, "recorded", before);
  console.log("stopped and started");
}

async function cut(page, file) {
  await page.click("#split");
  await until(page, () => document.querySelectorAll("#files option").length >= 2);
  await page.selectOption("#files", file);
  await page.fill("[name=to]", "2s");
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#cut button")]);
  const octets = readFileSync(await download.path());
  if (octets.subarray(1, 5).toString() !== "MCAP" || octets.length < 1000) throw new Error("the cut is no recording");
  console.log(`a cut of ${octets.length} octets was downloaded`);
}

async function run() {
  const folder = mkdtempSync(join(tmpdir(), "dunlin-recorder-"));
  const file = join(folder, "run.mcap");
  const camera = (name) =>
    start(options.camera, ["publish", "--pattern", "--size", "320x240", "--encoding", "mjpeg", "--rate", "15", "--camera-id", name]);
  const recorder = start(positionals[0], ["-o", file, "--web", "0"]);
  const cameras = [camera("front"), camera("yard")];
  try {
    await withPage(await recorder.opened, async (page, problems) => {
      await counts(page);
      await pictures(page);
      if (options.screenshot) await page.screenshot({ path: options.screenshot, fullPage: true });
      await stop(page);
      await cut(page, file);
      if (problems.length > 0) throw new Error(`the page has problems: ${problems.join("; ")}`);
    });
    await interrupt(recorder);
  } finally {
    await Promise.all([kill(recorder), ...cameras.map(kill)]);
    rmSync(folder, { recursive: true, force: true });
  }
}

run().then(
  () => process.exit(0),
  (error) => {
    console.error(`browser test failed: ${error.stack ?? error}`);
    process.exit(1);
  },
);
