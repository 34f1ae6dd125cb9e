import { afterEach, expect, test, vi } from "vitest";
import { loadAhead, loadLater } from "./load-ahead.ts";

afterEach(() => vi.unstubAllGlobals());

test("what is loaded later is loaded when it is asked for, and kept", async () => {
  const load = vi.fn(async () => "part");
  const part = loadLater(load);
  expect([part.now(), load.mock.calls.length]).toEqual([null, 0]);
  expect(await part.get()).toBe("part");
  expect(part.now()).toBe("part");
});

test("in a browser it is on its way at once, and tried again when that failed", async () => {
  vi.stubGlobal("window", {});
  const load = vi.fn(async () => "part").mockRejectedValueOnce(new Error("no way"));
  const part = loadAhead(load);
  expect(load).toHaveBeenCalledOnce();
  expect(await part.get()).toBe("part");
  expect([part.now(), load.mock.calls.length]).toEqual(["part", 2]);
});

test("on the hub nothing is loaded ahead", () => {
  const load = vi.fn(async () => "part");
  loadAhead(load);
  expect(load).not.toHaveBeenCalled();
});
