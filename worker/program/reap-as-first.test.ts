import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { REAPER } from "./reap-as-first.ts";

/** Runs a Node script under the shell that stands before us as process 1. */
function under(script: string) {
  const child = spawn("/bin/sh", ["-c", REAPER, "tidemark", process.execPath, "-e", script], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
  return { child, ended: once(child, "close"), said: () => said };
}

test("it ends with the code of what it started", async () => {
  const { ended } = under("process.exit(7)");
  expect(await ended).toEqual([7, null]);
});

test("signals are passed on, and what they lead to is waited for", async () => {
  const script = `process.on("SIGTERM", () => setTimeout(() => process.exit(3), 100)); setInterval(() => {}, 1000); console.log("ready");`;
  const { child, ended, said } = under(script);
  while (!said().includes("ready")) await once(child.stdout, "data");
  child.kill("SIGTERM");
  expect(await ended).toEqual([3, null]);
});

test("stdin stays what it was", async () => {
  const { child, ended, said } = under(`process.stdin.on("data", (chunk) => process.stdout.write("got " + chunk));`);
  child.stdin.end("a line");
  await ended;
  expect(said()).toBe("got a line");
});

test.each(["SIGINT", "SIGUSR1"] as const)(
  "%s is heard although a shell lets go of it in the background",
  async (name) => {
    const script = `process.on("${name}", () => process.exit(5)); setInterval(() => {}, 1000); console.log("ready");`;
    const { child, ended, said } = under(script);
    while (!said().includes("ready")) await once(child.stdout, "data");
    child.kill(name);
    expect(await ended).toEqual([5, null]);
  },
);
