import { expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import { runName } from "#protocol/base/names.ts";
import { createFakeHub } from "../testing/fake-hub.ts";
import { restoreNewest } from "./restore-newest.ts";

const run = runName.parse("llama");
const found = (step: number) => ({ checkpointId: `c${step}`, step, capturedAt: 1 });

/** Restores step 30 of a run; `faults`: why steps cannot be restored. */
async function restoreFrom(faults: Record<number, FaultCode>, mayFallBack: boolean | "if-damaged" = true) {
  const said: string[] = [];
  const known = [30, 20, 10];
  const findCheckpoint = ({ before }: { before?: number }) => {
    const step = known.find((one) =>
      before === undefined ? faults[one] !== "CHECKSUM_MISMATCH" : one < before && faults[one] !== "CHECKSUM_MISMATCH",
    );
    return step === undefined ? null : { ...found(step), ...(before !== undefined && { isBefore: true }) };
  };
  const agent = {
    hub: createFakeHub({ findCheckpoint }),
    signal: new AbortController().signal,
    restorer: {
      restoreFirst: ({ step }: { step: number }) => {
        const code = faults[step];
        if (code !== undefined) throw new Fault(code, { op: "restore", subject: `file of ${step}` });
        return Promise.resolve(null);
      },
    },
    reporter: {
      fallingBack: ({ step, from, why }: { step: number; from: number; why: string }) =>
        void said.push(`${from} -> ${step}: ${why.slice(0, why.indexOf("."))}`),
    },
  };
  const pathOf = ({ step }: { step: number }) => `/checkpoints/${step}`;
  const request = { run, found: found(30), pathOf, mayFallBack };
  const restored = await restoreNewest(agent as never, request);
  return { said, path: restored.path, passedOver: restored.passedOver };
}

test("an archived checkpoint is replaced by the newest that can be read, and that is said", async () => {
  expect(await restoreFrom({ 30: "OBJECT_ARCHIVED", 20: "OBJECT_BEING_RESTORED" })).toEqual({
    said: [
      "30 -> 20: file of 30: The object is archived, so its bytes cannot be read now",
      "20 -> 10: file of 20: The object is being restored from its archive, so its bytes cannot be read yet",
    ],
    path: "/checkpoints/10",
    passedOver: { step: 30, why: "archived" },
  });
});

test("a damaged one before it is passed over too", async () => {
  expect(await restoreFrom({ 30: "CHECKSUM_MISMATCH", 20: "OBJECT_ARCHIVED" })).toMatchObject({
    path: "/checkpoints/10",
    passedOver: { step: 30, why: "damaged" },
  });
});

test("where all are archived, the newest is named", async () => {
  const all = { 30: "OBJECT_ARCHIVED", 20: "OBJECT_ARCHIVED", 10: "OBJECT_ARCHIVED" } as const;
  await expect(restoreFrom(all)).rejects.toMatchObject({ code: "OBJECT_ARCHIVED", context: { subject: "file of 30" } });
});

test("one that a person chose is not replaced while it is archived, and is when it is damaged", async () => {
  await expect(restoreFrom({ 30: "OBJECT_ARCHIVED" }, "if-damaged")).rejects.toMatchObject({ code: "OBJECT_ARCHIVED" });
  expect(await restoreFrom({ 30: "CHECKSUM_MISMATCH" }, "if-damaged")).toMatchObject({ path: "/checkpoints/20" });
  await expect(restoreFrom({ 30: "OBJECT_ARCHIVED" }, false)).rejects.toMatchObject({ code: "OBJECT_ARCHIVED" });
});
