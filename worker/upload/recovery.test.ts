import { expect, test, vi } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import type { Capture } from "../capture/capture.ts";
import { createRecovery, type RecoveryParts } from "./recovery.ts";

test.each([
  ["the run goes on when a node of its group has begun a new line", true, 0],
  ["the run ends here when another node has taken it over", false, 1],
])("a capture that the hub refuses for its epoch fails; %s", async (_, hasLine, ends) => {
  const end = vi.fn();
  const endings = { end: vi.fn() };
  const runs = { get: () => ({ claim: { epoch: 3 } }), joinLine: async () => hasLine, end };
  const parts = { parts: { runs }, endings, refused: { note: vi.fn() } };
  const { fail } = createRecovery(parts as unknown as RecoveryParts);
  const item = { run: "llama", epoch: 3 } as Capture;
  const fault = new Fault("EPOCH_OVER", { op: "commit", subject: "llama" });
  await fail(item, fault);
  expect(end).toHaveBeenCalledTimes(ends);
  expect(endings.end).toHaveBeenCalledWith(item, "failed", { by: "node", fault });
});

test("a piece of a new line that was announced in the line before is sent again in the new one", async () => {
  const endings = { end: vi.fn() };
  const ledger = { update: vi.fn(), move: vi.fn() };
  const runs = { get: () => ({ claim: { epoch: 4 } }), joinLine: async () => true, end: vi.fn() };
  const stopPreparing = vi.fn(async () => undefined);
  const parts = {
    parts: { runs, ledger, journals: "/nowhere", wallNow: () => 7, hubKnows: () => true },
    endings,
    stopPreparing,
    wakeable: { wake: vi.fn() },
    refused: { note: vi.fn() },
  };
  const { fail } = createRecovery(parts as unknown as RecoveryParts);
  const item = { id: "piece", transferId: "t", run: "llama", epoch: 4, state: "running", attempt: "a" };
  await fail(item as unknown as Capture, new Fault("EPOCH_OVER", { op: "announce", subject: "llama" }));
  expect(endings.end).not.toHaveBeenCalled();
  expect(ledger.update).toHaveBeenCalledExactlyOnceWith("piece", {
    epoch: 4,
    newLine: null,
    attempt: expect.not.stringMatching(/^a$/),
    announced: false,
  });
  expect(ledger.move).toHaveBeenCalledWith("piece", "waiting", { by: "node", at: 7 });
});
