// Headless Chromium on the page of a viewer, and what it sees there.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

/** How long anything may take, in milliseconds. */
export const PATIENCE = 90_000;

/** Opens `url`, gives the page to `visit`, and closes everything whatever happens. */
export async function withPage(url, visit) {
  const folder = mkdtempSync(join(tmpdir(), "dunlin-chromium-"));
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
    await page.goto(url);
    await watchCanvas(page);
    return await visit(page, problems);
  } finally {
    await context.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Collects, in the page, the hashes of all pictures that are seen on the canvas. */
async function watchCanvas(page) {
  await page.evaluate(() => {
    const canvas = document.getElementById("picture");
    const context = canvas.getContext("2d");
    window.seenPictures = new Set();
    const look = () => {
      if (window.dunlinStats.decodedFrames === 0) return;
      const pixels = new Uint32Array(context.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
      let hash = 0x811c9dc5;
      for (const pixel of pixels) hash = Math.imul(hash ^ pixel, 0x01000193);
      window.seenPictures.add(hash);
    };
    setInterval(look, 30);
  });
}

/** Waits for so many different pictures on the canvas, counted anew. */
export async function waitForPictures(page, count) {
  await page.evaluate(() => window.seenPictures.clear());
  await page.waitForFunction(
    (wanted) => window.seenPictures.size >= wanted && window.dunlinStats.distinctFrames >= wanted,
    count,
    { timeout: PATIENCE, polling: 100 },
  );
}

/** What the page says of itself, with the number of pictures seen. */
export function statsOf(page) {
  return page.evaluate(() => ({ ...window.dunlinStats, seenPictures: window.seenPictures.size }));
}
