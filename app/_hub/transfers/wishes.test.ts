import { expect, test } from "vitest";
import { TRANSFER_STATES } from "#protocol/wire/transfer-kinds.ts";
import { createWishes, isMet, wishNote } from "./wishes.ts";

/** Wishes whose time passes when the test says so. */
function stage() {
  const waiting: (() => void)[] = [];
  const wishes = createWishes((run) => void waiting.push(run));
  return { wishes, passTime: () => waiting.splice(0).forEach((run) => run()) };
}

test("is shown from the click on, is late when nothing came of it, and ends when it is so", async () => {
  const { wishes, passTime } = stage();
  let answer: () => void = () => undefined;
  const made = wishes.make("t", "pause", () => new Promise<void>((resolve) => (answer = resolve)));
  expect(wishes.of("t")).toEqual({ action: "pause", phase: "asking" });
  answer();
  await made;
  expect(wishes.of("t")).toEqual({ action: "pause", phase: "asked" });
  passTime();
  const late = wishes.of("t");
  expect(late).toEqual({ action: "pause", phase: "late" });
  if (late !== null) wishes.settle("t", late);
  expect(wishes.of("t")).toBeNull();
});

test("is taken back when the hub refuses", async () => {
  const { wishes } = stage();
  await expect(wishes.make("t", "retry", () => Promise.reject(new Error("refused")))).rejects.toThrow("refused");
  expect(wishes.of("t")).toBeNull();
});

test("gives way to a newer one, which an older one's time does not touch", async () => {
  const { wishes, passTime } = stage();
  await wishes.make("t", "pause", () => Promise.resolve());
  const older = wishes.of("t");
  await wishes.make("t", "cancel", () => Promise.resolve());
  if (older !== null) wishes.settle("t", older);
  expect(wishes.of("t")).toEqual({ action: "cancel", phase: "asked" });
  passTime();
  expect(wishes.of("t")).toEqual({ action: "cancel", phase: "late" });
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
  expect(wishNote({ action: "pause", phase: "asked" }, online)).toBeNull();
  expect(wishNote({ action: "pause", phase: "late" }, online)).toBe(
    "gpu-7 was asked to pause it and has not confirmed it.",
  );
  expect(wishNote({ action: "resume", phase: "asked" }, { name: "gpu-7", state: "silent" } as const)).toBe(
    "gpu-7 is silent: asked to go on, it receives that when it is back.",
  );
});
