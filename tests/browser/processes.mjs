// The program under test.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** A DDS domain from 100 to 199, by process, so that neither other tests nor a demo of the user are disturbed. */
export const DOMAIN = String(100 + (process.pid % 100));

/** Starts the program and shows its lines. `opened` is the address of its page, `exited` how it ended. */
export function start(binary, args) {
  return startWith(binary, [...args, "--domain", DOMAIN]);
}

/** The same for a program that is told its domains in another way. */
export function startWith(binary, args) {
  const child = spawn(binary, args, { stdio: ["ignore", "pipe", "pipe"] });
  const exited = new Promise((resolve) => child.on("exit", (code, signal) => resolve({ code, signal })));
  const running = { child, exited, lastLine: "" };
  running.opened = new Promise((resolve, reject) => {
    const told = (line) => {
      console.log(`| ${line}`);
      const found = line.match(/open (http:\S+)/);
      if (found) resolve(found[1]);
    };
    createInterface({ input: child.stdout }).on("line", (line) => {
      running.lastLine = line;
      told(line);
    });
    createInterface({ input: child.stderr }).on("line", told);
    child.on("error", reject);
    exited.then(() => reject(new Error("the program has ended before it told its address")));
  });
  // A publisher has no page; nobody waits for its address.
  running.opened.catch(() => {});
  return running;
}

/** Ends the program with Ctrl-C; requires status 0. */
export async function interrupt(running) {
  running.child.kill("SIGINT");
  const { code, signal } = await running.exited;
  if (code !== 0) throw new Error(`the program ended with ${code ?? signal}`);
}

/** Kills the program without a chance to say goodbye. */
export async function kill(running) {
  running.child.kill("SIGKILL");
  await running.exited;
}
