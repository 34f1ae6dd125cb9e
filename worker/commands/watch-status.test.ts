import { expect, test } from "vitest";
import { id, runName, step } from "#protocol/base/names.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { LocalStatus } from "#protocol/local-api/local.ts";
import type { TransferProgress } from "#protocol/wire/reports.ts";
import { createTerminal } from "../command-line/terminal.ts";
import { pageOf, watchStatus } from "./watch-status.ts";

const upload = (changes: Partial<TransferProgress> = {}): TransferProgress => ({
  id: id.parse("transfer-0001"),
  direction: "upload",
  state: "running",
  checkpointId: id.parse("checkpoint-0001"),
  run: runName.parse("llama"),
  step: step.parse(500),
  bytesDone: 250_000_000,
  bytesTotal: 1_000_000_000,
  filesDone: 1,
  filesTotal: 4,
  currentPath: null,
  bytesPerSecond: 10_000_000,
  startedAt: 1,
  connections: 4,
  retries: 0,
  pieces: "",
  stalledMs: null,
  fault: null,
  startedBy: "queue",
  ...changes,
});
const statusOf = (transfers: TransferProgress[]): LocalStatus => ({
  pending: 1,
  error: null,
  node: "gpu-1",
  version: "0",
  store: null,
  hub: { url: "s3://b/p", isUp: true },
  at: 5,
  upBytesPerSecond: 10_000_000,
  downBytesPerSecond: 0,
  rttMs: null,
  runs: [],
  transfers,
  aside: [],
});

test("each transfer has a line with its share, bytes, rate and time left", () => {
  const [, line] = pageOf(statusOf([upload()]));
  expect(line).toBe(
    `${"█".repeat(8)}${"░".repeat(24)}  25 %  upload llama step 500, 238 MiB of 954 MiB, 10.0 MB/s, about 75 s left`,
  );
});

test("what waits, what fails, and more than eight are said; what has ended is not shown", () => {
  const many = Array.from({ length: 9 }, () => upload({ state: "waiting" }));
  const lines = pageOf(statusOf([upload({ state: "done" }), ...many]));
  expect(lines.filter((line) => line.endsWith("waits"))).toHaveLength(8);
  expect(lines).toContain("and 1 more transfers");
  const fault = new Fault("LINK_DOWN", { detail: "ECONNREFUSED" }).toData();
  expect(pageOf(statusOf([upload({ fault })]))[1]).toContain("ECONNREFUSED");
});

test("the status is printed again until the signal fires, and the end of the worker is a fault", async () => {
  const printed: string[] = [];
  const streams = {
    out: (text: string) => void printed.push(text),
    talk: () => undefined,
    isTty: false,
    columns: 80,
    rows: 0,
  };
  let now = 0;
  const terminal = createTerminal(streams, { json: true, plain: false, now: () => (now += 1_000) });
  const stop = new AbortController();
  let reads = 0;
  const read = () => {
    if (++reads === 2) stop.abort();
    return Promise.resolve(statusOf([]));
  };
  await watchStatus(terminal, { read, signal: stop.signal });
  expect(printed.map((line) => (JSON.parse(line) as { type: string; node: string }).node)).toEqual(["gpu-1", "gpu-1"]);
  const gone = () => Promise.reject(new Fault("NO_WORKER"));
  await expect(watchStatus(terminal, { read: gone, signal: new AbortController().signal })).rejects.toMatchObject({
    code: "NO_WORKER",
  });
});

test("on a narrow terminal lines are broken between words, so that the rate and the time left are seen", () => {
  const lines = pageOf(statusOf([upload()]), 60);
  expect(lines.every((line) => line.length < 60)).toBe(true);
  const at = lines.findIndex((line) => line.includes("25 %"));
  expect(lines[at]).toBe(`${"█".repeat(8)}${"░".repeat(24)}  25 %`);
  expect(
    lines
      .slice(at + 1, at + 3)
      .join(" ")
      .replaceAll(/ +/g, " "),
  ).toBe(" upload llama step 500, 238 MiB of 954 MiB, 10.0 MB/s, about 75 s left");
  expect(pageOf(statusOf([upload()]), 24).every((line) => line.length < 24)).toBe(true);
});
