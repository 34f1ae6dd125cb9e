import { expect, test } from "vitest";
import { TRANSFER_STATES } from "#protocol/wire/transfer-kinds.ts";
import { createPendingActions, isMet, pendingNote } from "./pending-actions.ts";

/** Creates pending actions whose time passes when the test says so. */
function stage() {
  const waiting: (() => void)[] = [];
  const pendingActions = createPendingActions((run) => void waiting.push(run));
  return { pendingActions, passTime: () => waiting.splice(0).forEach((run) => run()) };
}

test("is shown from the click on, is late when nothing came of it, and ends when it is so", async () => {
  const { pendingActions, passTime } = stage();
  let answer: () => void = () => undefined;
  const made = pendingActions.make("t", "pause", () => new Promise<void>((resolve) => (answer = resolve)));
  expect(pendingActions.of("t")).toEqual({ action: "pause", phase: "asking" });
  answer();
  await made;
  expect(pendingActions.of("t")).toEqual({ action: "pause", phase: "asked" });
  passTime();
  const late = pendingActions.of("t");
  expect(late).toEqual({ action: "pause", phase: "late" });
  if (late !== null) pendingActions.settle("t", late);
  expect(pendingActions.of("t")).toBeNull();
});

test("is taken back when the hub refuses", async () => {
  const { pendingActions } = stage();
  await expect(pendingActions.make("t", "retry", () => Promise.reject(new Error("refused")))).rejects.toThrow(
    "refused",
  );
  expect(pendingActions.of("t")).toBeNull();
});

test("gives way to a newer one, which an older one's time does not touch", async () => {
  const { pendingActions, passTime } = stage();
  await pendingActions.make("t", "pause", () => Promise.resolve());
  const older = pendingActions.of("t");
  await pendingActions.make("t", "cancel", () => Promise.resolve());
  if (older !== null) pendingActions.settle("t", older);
  expect(pendingActions.of("t")).toEqual({ action: "cancel", phase: "asked" });
  passTime();
  expect(pendingActions.of("t")).toEqual({ action: "cancel", phase: "late" });
});

test("is met by the state it asks for, and by every one from which it cannot come", () => {
  const open = (action: Parameters<typeof isMet>[0]) => TRANSFER_STATES.filter((state) => !isMet(action, state));
  expect(open("pause")).toEqual(["waiting", "running"]);
  expect(open("cancel")).toEqual(["waiting", "running", "paused"]);
  expect(open("resume")).toEqual(["paused"]);
  expect(open("retry")).toEqual(["failed"]);
});

test("says why it has to wait", () => {
  const online = { name: "gpu-7", state: "online" } as const;
  expect(pendingNote({ action: "pause", phase: "asked" }, online)).toBeNull();
  expect(pendingNote({ action: "pause", phase: "late" }, online)).toBe(
    "gpu-7 was asked to pause it and has not confirmed it.",
  );
  expect(pendingNote({ action: "resume", phase: "asked" }, { name: "gpu-7", state: "silent" } as const)).toBe(
    "gpu-7 is silent: asked to go on, it receives that when it is back.",
  );
});
