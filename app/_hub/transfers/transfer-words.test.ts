import { expect, test } from "vitest";
import { hasRole, ROLES } from "#protocol/wire/requests.ts";
import { isEnded as protocolIsEnded, mayMove } from "#protocol/wire/transfer.ts";
import { TRANSFER_STATES } from "#protocol/wire/transfer-kinds.ts";
import type { TransferRow } from "#protocol/wire/views.ts";
import { transferRow } from "./make-transfer-row.ts";
import { roleAllows } from "../session/person.tsx";
import { actionsFor, factsOf, isEnded, paceOf, transferSentence } from "./transfer-words.ts";

const GiB = 1024 ** 3;
const row = (over: Partial<TransferRow>) =>
  transferRow({
    step: 4500,
    bytesDone: 5.2 * GiB,
    bytesTotal: 18.2 * GiB,
    filesDone: 1,
    filesTotal: 7,
    bytesPerSecond: 4_725_000,
    averageBytesPerSecond: 4_000_000,
    etaMs: 51 * 60_000,
    connections: 10,
    startedAt: 0,
    ...over,
  });

test("a running upload says from where to where, how far, how fast and how long", () => {
  expect(transferSentence(row({}), "bits")).toBe(
    "llama step 4,500: gpu-7 → training-eu/runs/llama, file 2 of 7, 5.2 GiB of 18.2 GiB · 7 files · 10 connections · automatic, 37.8 Mbps · about 51 min left",
  );
});

test("a restore names the node it goes to", () => {
  const text = transferSentence(row({ direction: "download", place: "/checkpoints/llama" }), "bytes");
  expect(text).toContain("training-eu → gpu-7:/checkpoints/llama");
  expect(text).toContain("4.7 MB/s");
});

test("a stalled transfer says so instead of a time left", () => {
  expect(paceOf(row({ stalledMs: 40_000, etaMs: 1 }), "bits")).toBe("stalled 40 s");
  expect(paceOf(row({ etaMs: null }), "bits")).toBe("37.8 Mbps · time left not known yet");
});

test("retries are named only when there were some", () => {
  expect(factsOf(row({ retries: 1 }), "bits")).toContain("1 retry");
  expect(factsOf(row({}), "bits")).not.toContain("retr");
});

test("ended means the same here as in the protocol", () => {
  for (const state of TRANSFER_STATES) expect(isEnded(state)).toBe(protocolIsEnded(state));
});

test("every action offered is a move a person may make", () => {
  const target = { cancel: "cancelled", pause: "paused", resume: "waiting", retry: "waiting" } as const;
  for (const state of TRANSFER_STATES)
    for (const direction of ["upload", "download"] as const)
      for (const action of actionsFor({ state, direction }))
        expect(mayMove(state, target[action], "person"), `${state} ${action}`).toBe(true);
  expect(actionsFor({ state: "failed", direction: "upload" })).toContain("cancel");
  expect(actionsFor({ state: "failed", direction: "download" })).not.toContain("cancel");
});

test("roles rank the same here as in the protocol", () => {
  for (const actual of ROLES)
    for (const needed of ROLES) expect(roleAllows(actual, needed)).toBe(hasRole(actual, needed));
});
