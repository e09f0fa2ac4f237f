// Opens the pages of two monitors of a surveillance system in headless Chromium: live pictures that move, earlier ones of another
// camera from a time on, and live ones again. A camera that stands still is not called live, and what one page ends ends in the other.
//
// node surveillance.mjs BINARY [--screenshot FILE]

import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { PATIENCE, watchCanvas, withPage } from "./browser.mjs";
import { DOMAIN, interrupt, kill, startWith } from "./processes.mjs";

const { positionals, values: options } = parseArgs({
  allowPositionals: true,
  options: { screenshot: { type: "string" } },
});
process.env.DUNLIN_NETWORK_INTERFACES ??= "lo";

const until = (page, look, value) => page.waitForFunction(look, value, { timeout: PATIENCE, polling: 50 });

/** Waits for different pictures of a mode on the canvas, counted anew. */
async function moving(page, mode) {
  await until(page, (mode) => window.dunlinMonitor.mode === mode, mode);
  await page.evaluate(() => window.seenPictures.clear());
  await until(page, (mode) => window.seenPictures.size >= 15 && window.dunlinMonitor.mode === mode, mode);
}

const captured = (page) => page.evaluate(() => window.dunlinMonitor.captured);
const shot = async (page, name) => {
  if (options.screenshot) await page.screenshot({ path: `${options.screenshot}-${name}.png` });
};

/** The process of a camera, which the system has started. */
function processOf(system, camera) {
  const of = (pid, name) => {
    try {
      return readFileSync(`/proc/${pid}/${name}`, "utf8");
    } catch {
      return "";
    }
  };
  const isIt = (pid) => {
    const words = of(pid, "cmdline").split("\0");
    const parent = of(pid, "stat").split(") ").pop().split(" ")[1];
    return parent === String(system.child.pid) && words.includes("camera") && words.includes(camera);
  };
  return Number(readdirSync("/proc").filter((name) => /^\d+$/.test(name)).find(isIt));
}

async function visit(page, problems, system) {
  await watchCanvas(page, "picture");
  await moving(page, "live");
  if (Date.now() - (await captured(page)) > 20_000) throw new Error("the live picture is old");
  await shot(page, "live");
  console.log("live pictures move");

  await page.selectOption("#camera", "yard");
  await until(page, () => window.dunlinMonitor.last - window.dunlinMonitor.first > 6000);
  const first = await page.evaluate(() => window.dunlinMonitor.first);
  await page.evaluate(() => {
    const line = document.getElementById("line");
    line.value = "0";
    line.dispatchEvent(new Event("change"));
  });
  await moving(page, "earlier");
  const at = await captured(page);
  if (at - first > 30_000 || Date.now() - at < 2000) throw new Error(`the picture of ${at} is not of ${first}`);
  await shot(page, "earlier");
  console.log("earlier pictures move");

  const other = await page.context().newPage();
  await other.goto(page.url());
  await until(other, () => window.dunlinMonitor.mode === "live");
  await other.evaluate(() => fetch("/stop", { method: "POST" }));
  await until(page, () => window.dunlinMonitor.mode === "wait");
  await other.close();
  console.log("earlier pictures that another page has ended have ended");

  await page.click("#live");
  await moving(page, "live");
  if (Date.now() - (await captured(page)) > 20_000) throw new Error("the live picture is old");
  console.log("live pictures are back");

  const camera = processOf(system, "yard");
  process.kill(camera, "SIGSTOP");
  await until(page, () => window.dunlinMonitor.mode === "wait");
  process.kill(camera, "SIGCONT");
  await moving(page, "live");
  console.log("a camera that stands still is not called live");
  if (problems.length > 0) throw new Error(`the page has problems: ${problems.join("; ")}`);
}

async function run() {
  const folder = mkdtempSync(join(tmpdir(), "dunlin-surveillance-"));
  const outer = String(200 + (Number(DOMAIN) % 32));
  const arguments_ = ["run", "--inner", DOMAIN, "--outer", outer, "--folder", folder, "--size", "320x240", "--rate", "15"];
  const system = startWith(positionals[0], arguments_);
  try {
    await withPage(await system.opened, (page, problems) => visit(page, problems, system));
    await interrupt(system);
  } finally {
    await kill(system);
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
