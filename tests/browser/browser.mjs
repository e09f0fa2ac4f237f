// Headless Chromium on a page, and what it sees there.

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
    return await visit(page, problems);
  } finally {
    await context.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Collects, in the page, the hashes of all pictures that are seen on a canvas, once `ready` says in the page that there is one. */
export async function watchCanvas(page, id, ready = "true") {
  await page.evaluate(
    ([id, ready]) => {
      const canvas = document.getElementById(id);
      const context = canvas.getContext("2d");
      const isReady = new Function(`return ${ready}`);
      window.seenPictures = new Set();
      const look = () => {
        if (!isReady()) return;
        const pixels = new Uint32Array(context.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
        let hash = 0x811c9dc5;
        for (const pixel of pixels) hash = Math.imul(hash ^ pixel, 0x01000193);
        window.seenPictures.add(hash);
      };
      setInterval(look, 30);
    },
    [id, ready],
  );
}
