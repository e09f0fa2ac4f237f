// Opens the page of a running demo in headless Chromium and requires pictures that move.
//
// node video.mjs BINARY [--clip FILE] [--screenshot FILE] [--mode jpeg] [--frames N] [--allow-loss] [--recover]
//
// --recover kills publisher and viewer in turn while the page stays open, and requires new pictures each time.

import { parseArgs } from "node:util";
import { PATIENCE, watchCanvas, withPage } from "./browser.mjs";
import { interrupt, kill, start } from "./processes.mjs";

const { positionals, values: options } = parseArgs({
  allowPositionals: true,
  options: {
    clip: { type: "string" },
    screenshot: { type: "string" },
    mode: { type: "string" },
    frames: { type: "string", default: "20" },
    "allow-loss": { type: "boolean", default: false },
    recover: { type: "boolean", default: false },
  },
});
const binary = positionals[0];
const frames = Number(options.frames);
const clip = options.clip ? ["--file", options.clip] : [];

/** Collects the pictures from the first decoded one on. */
function watchPictures(page) {
  return watchCanvas(page, "picture", "window.dunlinStats.decodedFrames > 0");
}

/** Waits for so many different pictures on the canvas, counted anew. */
async function waitForPictures(page, count) {
  await page.evaluate(() => window.seenPictures.clear());
  await page.waitForFunction(
    (wanted) => window.seenPictures.size >= wanted && window.dunlinStats.distinctFrames >= wanted,
    count,
    { timeout: PATIENCE, polling: 100 },
  );
}

/** What the page says of itself, with the number of pictures seen. */
function statsOf(page) {
  return page.evaluate(() => ({ ...window.dunlinStats, seenPictures: window.seenPictures.size }));
}

function told(stats) {
  console.log(
    `browser (${stats.decoder}): ${stats.decodedFrames} frames decoded, ${stats.seenPictures} distinct pictures, ` +
      `lost ${stats.lost} of ${stats.received + stats.lost}, latency ${stats.latencyMs?.toFixed(1) ?? "?"} ms`,
  );
  if (stats.lost > 0 && !options["allow-loss"]) throw new Error(`${stats.lost} frames were lost`);
}

async function look() {
  const demo = start(binary, ["demo", ...clip]);
  try {
    const url = await demo.opened;
    await withPage(options.mode ? `${url}?mode=${options.mode}` : url, async (page, problems) => {
      await watchPictures(page);
      try {
        await waitForPictures(page, frames);
      } finally {
        if (options.screenshot) {
          await page.waitForTimeout(1500);
          await page.screenshot({ path: options.screenshot });
        }
      }
      told(await statsOf(page));
      if (problems.length > 0) throw new Error(`the page has problems: ${problems.join("; ")}`);
    });
  } finally {
    await interrupt(demo);
  }
  if (!/^received \d+ frames, lost \d+, latency p50 [\d.]+ ms$/.test(demo.lastLine)) {
    throw new Error(`the last line of the demo is: ${demo.lastLine}`);
  }
}

async function recover() {
  const source = clip.length > 0 ? clip : ["--pattern"];
  const publish = () => start(binary, ["publish", ...source]);
  let publisher = publish();
  let viewer = start(binary, ["view"]);
  try {
    const url = await viewer.opened;
    await withPage(url, async (page) => {
      await watchPictures(page);
      await waitForPictures(page, frames);
      await kill(publisher);
      publisher = publish();
      await waitForPictures(page, frames);
      console.log("the publisher was killed and started again: pictures are back");
      await kill(viewer);
      viewer = start(binary, ["view", "--bind", new URL(url).host]);
      await waitForPictures(page, frames);
      console.log("the viewer was killed and started again: pictures are back");
      told(await statsOf(page));
    });
  } finally {
    await Promise.all([kill(publisher), kill(viewer)]);
  }
}

(options.recover ? recover() : look()).then(
  () => process.exit(0),
  (error) => {
    console.error(`browser test failed: ${error.stack ?? error}`);
    process.exit(1);
  },
);
