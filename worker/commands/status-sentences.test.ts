import { expect, test } from "vitest";
import { filePath } from "#protocol/base/names.ts";
import { makeRunBacklog } from "#protocol/testing/make-run-backlog.ts";
import type { LocalRun, LocalStatus } from "#protocol/local-api/local.ts";
import { riskOf } from "#protocol/wire/risk.ts";
import { sentencesOf } from "./status-sentences.ts";

const MIN = 60_000;
const NOW = 60 * MIN;

function wordsOf(changes: Partial<LocalRun>): string {
  const backlog = makeRunBacklog({ safeStep: 400, safeAt: 40 * MIN, ...changes });
  const about = { etaMs: null, isHeld: false, sustain: null, ...changes };
  const run: LocalRun = { ...backlog, risk: riskOf(backlog, NOW), ...about };
  const hub = { url: "http://hub", isUp: true };
  const rates = { upBytesPerSecond: 0, downBytesPerSecond: 0, rttMs: null };
  const rest = { pending: 1, error: null, node: "gpu-1", version: "0", store: null, transfers: [], aside: [] };
  const status: LocalStatus = { ...rest, ...rates, hub, at: NOW, runs: [run] };
  return sentencesOf(status)[1] ?? "";
}

test("a run is told with its checkpoints, files, bytes, steps and the age of the oldest", () => {
  const waiting = { unsafeCheckpoints: 3, unsafeFiles: 12, unsafeBytes: 4_000_000_000, oldestUnsafeAt: 45 * MIN };
  expect(wordsOf({ ...waiting, trainedStep: 520, trainedAt: NOW, etaMs: 6 * MIN })).toBe(
    "llama: safe up to step 400; 3 checkpoints, 12 files, 3.7 GiB not yet safe, the oldest for 15 min, about 6 min left; 20 min and 120 steps would be lost now.",
  );
});

test("where nothing waits, nothing is counted", () => {
  expect(wordsOf({ safeAt: NOW, localAt: NOW, localStep: 400 })).toBe(
    "llama: safe up to step 400; nothing waits; 0 s would be lost now.",
  );
});

test("of checkpoints in several folders it is said which line is trained now", () => {
  const line = (folder: string, step: number) => ({ run: "llama", folder, step, at: NOW, checkpoints: 2 });
  const backlog = makeRunBacklog({ safeStep: 20, safeAt: NOW });
  const runs = [{ ...backlog, risk: riskOf(backlog, NOW), etaMs: null, isHeld: false, sustain: null }];
  const rates = { upBytesPerSecond: 0, downBytesPerSecond: 0, rttMs: null };
  const rest = { pending: 0, error: null, node: "gpu-1", version: "0", store: null, transfers: [], aside: [] };
  const status = { ...rest, ...rates, hub: { url: "http://hub", isUp: true }, at: NOW, runs };
  const lines = [line("lightning_logs/version_1/checkpoints", 20), line("", 300)];
  expect(sentencesOf({ ...status, lines })[2]).toBe(
    "llama is trained in lightning_logs/version_1/checkpoints (step 20); earlier lines: the watched folder (step 300).",
  );
  expect(sentencesOf({ ...status, lines: lines.slice(0, 1) })).toHaveLength(2);
});

test("what was moved aside is listed with its size and its place, escaped", () => {
  const aside = [
    {
      path: "/w/.set-aside-unfinished-checkpoint-50",
      name: "checkpoint-50",
      sizeBytes: 4_096,
      files: 2,
      writtenAt: NOW,
    },
    { path: "/w/.set-aside-\u001b[2Jx-1", name: "\u001b[2Jx-1", sizeBytes: 1, files: 1, writtenAt: NOW },
  ];
  const rates = { upBytesPerSecond: 0, downBytesPerSecond: 0, rttMs: null };
  const rest = { pending: 0, error: null, node: "gpu-1", version: "0", store: null, transfers: [], runs: [] };
  const said = sentencesOf({ ...rest, ...rates, hub: { url: "http://hub", isUp: true }, at: NOW, aside });
  expect(said[1]).toBe(
    "Moved aside: checkpoint-50, 2 files, 4.0 KiB, at /w/.set-aside-unfinished-checkpoint-50. It stays until you remove it, or until its checkpoint is known to be complete in the bucket.",
  );
  expect(said[2]).not.toContain("\u001b");
});

test("a step of which a node's piece is missing is named, and so is a doubtful one with the way to choose it", () => {
  const rates = { upBytesPerSecond: 0, downBytesPerSecond: 0, rttMs: null };
  const rest = {
    pending: 0,
    error: null,
    node: "gpu-1",
    version: "0",
    store: null,
    transfers: [],
    runs: [],
    aside: [],
  };
  const said = sentencesOf({
    ...rest,
    ...rates,
    hub: { url: "http://hub", isUp: true },
    at: NOW,
    openPieces: [{ run: "llama", step: 20, why: "the piece of node 1 (gpu-2) is missing" }],
    doubtful: [{ run: "llama", step: 10, why: "a file is missing" }],
  });
  expect(said).toContain("llama step 20 is not whole yet: the piece of node 1 (gpu-2) is missing.");
  expect(said).toContain(
    "llama step 10 is kept as doubtful: a file is missing. `tidemark run --from 10` goes on from it all the same.",
  );
});

test("a run says where its safe checkpoint lies, and a time of writing is told as one", () => {
  const at = Date.UTC(2026, 10, 30, 12) / 1_000;
  const safePlace = { path: filePath.parse("ckpt.pt"), kind: "file" as const, stepSource: "time" as const };
  const quiet = { safeAt: NOW, localAt: NOW, folders: ["/w/run"], safePlace };
  const time = { safeStep: at, localStep: at, isSafeByTime: true as const, isLocalByTime: true as const };
  expect(wordsOf({ ...quiet, ...time })).toBe(
    "llama: safe up to the state of 2026-11-30 12:00:00 UTC (the file ckpt.pt in /w/run); nothing waits; 0 s would be lost now.",
  );
});
