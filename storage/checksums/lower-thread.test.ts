import { once } from "node:events";
import { getPriority } from "node:os";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";

test.runIf(process.platform === "linux")(
  "a thread comes after the one that started it, which stays as it is",
  async () => {
    const before = getPriority();
    const module = JSON.stringify(new URL("./lower-thread.ts", import.meta.url).href);
    const program = `
    const { parentPort } = require("node:worker_threads");
    import(${module}).then(({ lowerThread }) => {
      lowerThread();
      parentPort.postMessage(require("node:os").getPriority());
    });`;
    const [lowered] = (await once(new Worker(program, { eval: true }), "message")) as [number];
    expect(lowered).toBe(Math.min(19, before + 5));
    expect(getPriority()).toBe(before);
  },
);
