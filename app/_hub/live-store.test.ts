import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LiveMessage, NodeRow } from "#protocol/views.ts";
import { LiveStore } from "./live-store.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const row = (id: string, upBytesPerSecond: number) => ({ id, upBytesPerSecond }) as NodeRow;
const some = (...changed: NodeRow[]): LiveMessage => ({ type: "node-changes", joined: [], changed });

function watched() {
  const store = new LiveStore();
  let shown = 0;
  store.subscribe(() => shown++);
  store.apply({ type: "nodes", nodes: [row("a", 0), row("b", 0)] }, Date.now());
  shown = 0;
  vi.advanceTimersByTime(1_000);
  const up = () => [...(store.state().nodes?.values() ?? [])].map(({ upBytesPerSecond }) => upBytesPerSecond);
  return { store, up, shown: () => shown };
}

test("the first change of nodes shows at once, those that follow within half a second show together", () => {
  const { store, up, shown } = watched();
  store.apply(some(row("a", 1)), Date.now());
  expect([up(), shown()]).toEqual([[1, 0], 1]);
  for (const rate of [2, 3]) {
    vi.advanceTimersByTime(100);
    store.apply(some(row("b", rate)), Date.now());
  }
  expect([up(), shown()]).toEqual([[1, 0], 1]);
  vi.advanceTimersByTime(300);
  expect([up(), shown()]).toEqual([[1, 3], 2]);
});

test("anything else that comes shows at once, with what waited", () => {
  const { store, up, shown } = watched();
  store.apply(some(row("a", 1)), Date.now());
  store.apply(some(row("b", 2)), Date.now());
  store.apply({ type: "events", events: [] }, Date.now());
  expect([up(), shown()]).toEqual([[1, 2], 2]);
  vi.advanceTimersByTime(1_000);
  expect(shown()).toBe(2);
});

test("what waits does not come back after all of it was put away", () => {
  const { store, shown } = watched();
  store.apply(some(row("a", 1)), Date.now());
  store.apply(some(row("b", 2)), Date.now());
  store.clear();
  const before = shown();
  vi.advanceTimersByTime(1_000);
  expect([store.state().nodes, shown()]).toEqual([null, before]);
});

test("changes of nodes within half a second of anything else show with what comes next, and a tab that joins knows them", () => {
  const { store, up, shown } = watched();
  store.apply({ type: "events", events: [] }, Date.now());
  store.apply(some(row("b", 2)), Date.now());
  expect([up(), shown()]).toEqual([[0, 0], 1]);
  expect(store.latest().nodes?.get("b")).toEqual(row("b", 2));
  expect(shown()).toBe(1);
  vi.advanceTimersByTime(500);
  expect([up(), shown()]).toEqual([[0, 2], 2]);
});
