import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listKeys } from "../faults/ask-store.ts";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { WORKER_SOURCES } from "../stage/start-worker.ts";
import { waitComplete } from "../stage/wait-complete.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";

/**
 * A network disk that tells other times of files that nobody wrote: each time that it is asked another one out of three. What Node asks it goes through this
 * hook; all else is as on every disk. `WOBBLE` `forth`: the time only grows, as that of a file that is being written.
 */
const HOOK = `
  import fs from "node:fs";
  import promises from "node:fs/promises";
  import { syncBuiltinESMExports } from "node:module";
  const BY_MS = process.env.WOBBLE === "forth" ? [0, 100, 200, 300, 400, 500, 600, 700, 800] : [400, 0, 900];
  let asked = 0;
  const wobbled = (stats) => {
    if (stats === undefined || !stats.isFile()) return stats;
    const at = asked++;
    const byMs = process.env.WOBBLE === "forth" ? (BY_MS[at] ?? BY_MS.at(-1)) : BY_MS[at % BY_MS.length];
    if (typeof stats.mtimeMs === "bigint") {
      stats.mtimeNs += BigInt(byMs) * 1_000_000n;
      stats.mtimeMs += BigInt(byMs);
    } else stats.mtimeMs += byMs;
    return stats;
  };
  const hook = (at, name) => {
    const real = at[name];
    at[name] = function (...args) {
      const last = args.at(-1);
      if (typeof last === "function") {
        args[args.length - 1] = (error, stats) => last(error, error === null ? wobbled(stats) : stats);
        return real.apply(this, args);
      }
      const done = real.apply(this, args);
      return done instanceof Promise ? done.then(wobbled) : wobbled(done);
    };
  };
  for (const name of ["statSync", "fstatSync", "stat", "fstat"]) hook(fs, name);
  hook(promises, "stat");
  const handle = await promises.open(import.meta.filename);
  hook(Object.getPrototypeOf(handle), "stat");
  await handle.close();
  const { statfsSync } = fs;
  fs.statfsSync = (...args) => Object.assign(statfsSync(...args), { type: 0x6969 });
  syncBuiltinESMExports();
`;

let stage: Stage;
let hook: Record<string, string>;
beforeAll(async () => {
  stage = await openStage();
  const file = join(stage.dir, "network-disk.mjs");
  writeFileSync(file, HOOK);
  hook = { NODE_OPTIONS: `--import ${file}` };
});
afterAll(() => stage.close());

test("checkpoints on it become safe, each once, and are known after a restart", async () => {
  const folder = stage.folderOf("nfs");
  mkdirSync(folder, { recursive: true });
  const save = (step: number) => writeCheckpoint({ folder, step, modelBytes: 4, optimizerBytes: 4, loss: 1 });
  const start = () => stage.startNode({ name: "nfs", run: "nfs", entry: WORKER_SOURCES, env: hook });
  const first = await start();
  // One after another: what was taken already is looked at again each time.
  for (const step of [1, 2, 3]) {
    save(step);
    await waitComplete(stage, "nfs", { step });
  }
  await first.stop();
  await start();
  save(4);
  await waitComplete(stage, "nfs", { step: 4 });
  const keys = await listKeys(stage.store, "runs/nfs/");
  const attempts = new Set(keys.map((key) => key.split("/")[3]));
  expect({ attempts: attempts.size, keys }).toMatchObject({ attempts: 4 });
});

test("`cp` and `sync` copy from it, and `sync` has nothing to do afterwards", async () => {
  const folder = join(stage.dir, "plain");
  mkdirSync(folder);
  for (const name of ["a", "b"]) writeFileSync(join(folder, name), name);
  writeFileSync(join(folder, "large"), Buffer.alloc(12_000_000, 3));
  const at = `s3://${stage.store.bucket}/plain`;
  const run = (args: string[], env: Record<string, string> = {}) =>
    runOnce(WORKER_SOURCES, args, {
      env: { ...keysInEnv(stage.store), TIDEMARK_STATE: join(stage.dir, "own-state"), ...hook, ...env },
    });
  expect(await run(["cp", folder, `${at}/cp`])).toMatchObject({ code: 0 });
  expect(await run(["sync", folder, `${at}/sync`])).toMatchObject({ code: 0 });
  const again = await run(["sync", "--json", folder, `${at}/sync`]);
  expect(JSON.parse(again.stdout.trim().split("\n").at(-1) ?? "")).toMatchObject({ files: 0, same: 3 });
  const forth = await run(["cp", join(folder, "large"), `${at}/forth`], { WOBBLE: "forth" });
  expect([forth.code, forth.stderr]).toEqual([1, expect.stringContaining("--unsteady-times")]);
  expect(
    await run(["cp", "--unsteady-times", join(folder, "large"), `${at}/forth`], { WOBBLE: "forth" }),
  ).toMatchObject({
    code: 0,
  });
});
