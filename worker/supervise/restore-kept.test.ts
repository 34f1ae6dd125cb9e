import { mkdir, mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { KeptCheckpoint } from "#protocol/wire/hello.ts";
import { filePath, runName } from "#protocol/base/names.ts";
import { restoreKept, type KeptParts } from "./restore-kept.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-kept-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const run = runName.parse("llama");
const at = (step: number, sizeBytes = 10): KeptCheckpoint => ({
  checkpointId: `id-${step}`,
  run,
  writerEpoch: 1,
  step,
  capturedAt: step,
  sizeBytes,
  place: { path: filePath.parse(`step_${step}.pt`), kind: "file" },
});

/** Returns what is restored, and what is said when not all fit. */
async function restored(kept: readonly KeptCheckpoint[], { knows = true } = {}) {
  const paths: string[] = [];
  const reporter = { keptNotAll: vi.fn(), keptUnknown: vi.fn(), restoredToo: vi.fn(), waitingFor: vi.fn() };
  const agent: unknown = {
    options: { watches: [{ run, folder }] },
    hub: { ask: async () => kept },
    restorer: { restoreFirst: async ({ targetPath }: { targetPath: string }) => void paths.push(basename(targetPath)) },
    reporter,
    signal: new AbortController().signal,
    session: { knows: () => knows },
  };
  const point = { run, path: join(folder, "step_40.pt"), step: 40 };
  await restoreKept(agent as KeptParts, { run, folder, point });
  return { paths, notAll: reporter.keptNotAll.mock.calls, unknown: reporter.keptUnknown.mock.calls };
}

test("what is kept comes back newest first, without what is there already", async () => {
  await mkdir(join(folder, "step_20.pt"));
  const { paths, notAll } = await restored([at(40), at(30), at(20), at(10)]);
  expect([paths, notAll]).toEqual([["step_30.pt", "step_10.pt"], []]);
});

test("what does not fit beside two more of the program's own stays in the bucket, and is said", async () => {
  const { bavail, bsize } = await statfs(folder);
  // It would fit alone. Less than half would do, but other tests fill and free the same disk meanwhile.
  const large = Math.floor(bavail * bsize * 0.9);
  const { paths, notAll } = await restored([at(40, large), at(30), at(20, large), at(10)]);
  expect(paths).toEqual([]);
  expect(notAll).toMatchObject([[{ step: 30, left: 3 }]]);
  const second = await restored([at(40), at(30), at(20, large * 3), at(10)]);
  expect(second.paths).toEqual(["step_30.pt"]);
  expect(second.notAll).toMatchObject([[{ step: 20, left: 2 }]]);
});

test("a hub that cannot list what is kept is not asked, and that is said", async () => {
  expect(await restored([at(30)], { knows: false })).toMatchObject({ paths: [], unknown: [[{ run }]] });
});
