import { expect, test } from "vitest";
import { createSettling } from "./settle-ended.ts";

test("what is being settled is told once, although what is left is tried again meanwhile", async () => {
  const item = { id: "one", state: "failed", fault: { code: "ACCESS_DENIED" }, files: [] };
  let told = 0;
  const parts = {
    ledger: { get: () => item },
    outbox: {
      add: () => {
        told++;
        return new Promise((resolve) => setImmediate(resolve));
      },
    },
    storeSession: () => null,
    onEnd: () => undefined,
  };
  const settling = createSettling(parts as unknown as Parameters<typeof createSettling>[0]);
  await Promise.all([settling.settle("one"), settling.again()]);
  expect(told).toBe(1);
});
