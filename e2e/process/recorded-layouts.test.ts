import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { Case } from "../prove/frameworks/case.ts";
import { CASES } from "../prove/frameworks/cases.ts";
import { readFolder } from "../prove/frameworks/folders.ts";
import { judgeRestored } from "../prove/frameworks/judge.ts";
import { waitUntilSafe } from "../prove/frameworks/wait-until-safe.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { ROOT } from "../stage/start-process.ts";
import { waitUntil } from "../stage/wait-until.ts";

/**
 * Folders of real frameworks (e2e/layouts) through a real hub: written by a program, killed with -9 once they are safe, and put
 * back on another node with an empty folder. `npm run prove -- frameworks` does the same with the frameworks themselves.
 */
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const NOTHING = [process.execPath, "-e", "0"];
const REPLAY = join(ROOT, "e2e/layouts/replay-layout.ts");

/** Returns what the first node had when it was killed, and what the program of the second one finds. */
async function moveToNewNode(one: Case) {
  const watch = join(stage.dir, "work", one.name);
  mkdirSync(watch, { recursive: true });
  const node = { run: one.name, watch, flags: ["--settle", "200ms"] };
  const patience = { watched: watch, withinMs: 600_000, quietMs: 2_000 };
  const program = [process.execPath, REPLAY, one.name, watch, one.pauseBefore ?? ""];
  const first = await stage.startNode({ ...node, name: `${one.name}-1`, program });
  if (one.pauseBefore !== undefined) {
    await waitUntil("the older one is written", () => first.lines.some((line) => line.includes("pauses before")));
    await waitUntilSafe(stage, one, patience);
    writeFileSync(`${watch}.go`, "");
  }
  await waitUntil("it is written", () => first.lines.some((line) => line.includes(`wrote ${one.name}`)));
  const kept = await waitUntilSafe(stage, one, patience);
  await first.stop("SIGKILL");
  const before = readFolder(watch);
  rmSync(watch, { recursive: true });
  mkdirSync(watch);
  const second = await stage.startNode({ ...node, name: `${one.name}-2`, program: NOTHING });
  const { code } = await second.exited;
  return { kept, before, now: readFolder(watch), code, said: second.lines.join("\n") };
}

describe.concurrent("what a framework left comes back byte for byte, place for place, on a new node", () => {
  test.for(CASES.map((one) => [one.title, one] as const))("%s", async ([, one], { expect: expectHere }) => {
    const { kept, before, now, code, said } = await moveToNewNode(one);
    expectHere(kept, "what the hub has when the newest is not safe").toBeNull();
    expectHere(code, said).toBe(0);
    expectHere(judgeRestored(one, before, now), said).toEqual([]);
  });
});
