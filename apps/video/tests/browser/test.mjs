// Opens the page of a running demo in headless Chromium and requires pictures that move.
//
// node test.mjs BINARY [--clip FILE] [--screenshot FILE] [--mode jpeg] [--url URL] [--frames N] [--allow-loss]
//
// Starts `BINARY demo` in a DDS domain of its own, or with --url looks at a page that is there already.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";

const PATIENCE = 90_000;
const { positionals, values: options } = parseArgs({
  allowPositionals: true,
  options: {
    clip: { type: "string" },
    screenshot: { type: "string" },
    mode: { type: "string" },
    url: { type: "string" },
    frames: { type: "string", default: "20" },
    "allow-loss": { type: "boolean", default: false },
  },
});

/** Starts the demo; gives the address of its page and a function that ends it. */
async function startDemo(binary) {
  // Domains 100 to 199, by process, so that neither other tests nor a demo of the user are disturbed.
  const domain = 100 + (process.pid % 100);
  const clip = options.clip ? ["--file", options.clip] : [];
  const demo = spawn(binary, ["demo", "--domain", String(domain), ...clip], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = new Promise((resolve) => demo.on("exit", (code, signal) => resolve({ code, signal })));
  let last = "";
  const url = await new Promise((resolve, reject) => {
    createInterface({ input: demo.stdout }).on("line", (line) => {
      console.log(`| ${line}`);
      last = line;
      const found = line.match(/open (http:\S+)/);
      if (found) resolve(found[1]);
    });
    demo.on("error", reject);
    exited.then(() => reject(new Error("the demo has ended before it told its address")));
  });
  const end = async () => {
    demo.kill("SIGINT");
    const { code, signal } = await exited;
    if (code !== 0) throw new Error(`the demo ended with ${code ?? signal}`);
    if (!/^received \d+ frames, lost \d+, latency p50 [\d.]+ ms$/.test(last)) {
      throw new Error(`the last line of the demo is: ${last}`);
    }
  };
  return { url, end };
}

/** Counts, in the page, pictures on the canvas that differ in any pixel. */
async function watchCanvas(page) {
  await page.evaluate(() => {
    const canvas = document.getElementById("picture");
    const context = canvas.getContext("2d");
    window.seenPictures = new Set();
    const look = () => {
      const pixels = new Uint32Array(context.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
      let hash = 0x811c9dc5;
      for (const pixel of pixels) hash = Math.imul(hash ^ pixel, 0x01000193);
      if (window.dunlinStats.decodedFrames > 0) window.seenPictures.add(hash);
    };
    setInterval(look, 30);
  });
}

async function look(url, folder) {
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    viewport: { width: 1360, height: 860 },
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync",
    ],
  });
  try {
    const page = await context.newPage();
    const problems = [];
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
    await page.goto(options.mode ? `${url}?mode=${options.mode}` : url);
    await watchCanvas(page);
    const wanted = Number(options.frames);
    try {
      await page.waitForFunction(
        (count) => window.seenPictures.size >= count && window.dunlinStats.distinctFrames >= count,
        wanted,
        { timeout: PATIENCE, polling: 100 },
      );
    } finally {
      if (options.screenshot) {
        await page.waitForTimeout(1500);
        await page.screenshot({ path: options.screenshot });
      }
    }
    const seen = await page.evaluate(() => window.seenPictures.size);
    return { seen, stats: await page.evaluate(() => window.dunlinStats), problems };
  } finally {
    await context.close();
  }
}

async function main() {
  const demo = options.url ? { url: options.url, end: async () => {} } : await startDemo(positionals[0]);
  const folder = mkdtempSync(join(tmpdir(), "dunlin-chromium-"));
  let result;
  try {
    result = await look(demo.url, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await demo.end();
  }
  const { seen, stats, problems } = result;
  console.log(JSON.stringify(stats));
  console.log(
    `browser (${stats.decoder}): ${stats.decodedFrames} frames decoded, ${seen} distinct pictures, ` +
      `lost ${stats.lost} of ${stats.received + stats.lost}, latency ${stats.latencyMs?.toFixed(1) ?? "?"} ms`,
  );
  if (problems.length > 0) throw new Error(`the page has problems: ${problems.join("; ")}`);
  if (stats.lost > 0 && !options["allow-loss"]) throw new Error(`${stats.lost} frames were lost`);
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(`browser test failed: ${error.stack ?? error}`);
    process.exit(1);
  },
);
