import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LiveMessage, NodeChange } from "#protocol/wire/views.ts";
import type { LiveState } from "./live-merge.ts";
import { LiveStore } from "./live-store.ts";
import { nodeRow } from "#protocol/testing/make-node-row.ts";
import { FRAME_MS, makeFrameScheduler } from "../../_ui/rendering/make-frame-scheduler.ts";
import { transferRow } from "../transfers/make-transfer-row.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const node = (id: string, upBytesPerSecond = 0) => nodeRow({ id, upBytesPerSecond });
const some = (...changed: NodeChange[]): LiveMessage => ({ type: "node-changes", joined: [], changed });
const faster = (id: string, upBytesPerSecond: number): LiveMessage => some({ id, upBytesPerSecond });

/** A page that has seen two nodes, some time ago. */
function watched() {
  const store = new LiveStore(makeFrameScheduler());
  let told = 0;
  let rowsTold = 0;
  store.subscribe(() => told++);
  store.subscribeToRows(() => rowsTold++);
  store.apply({ type: "nodes", nodes: [node("a"), node("b")] }, Date.now());
  vi.advanceTimersByTime(5_000);
  told = 0;
  rowsTold = 0;
  const rates = () => [...(store.state().nodes?.values() ?? [])].map(({ upBytesPerSecond }) => upBytesPerSecond);
  return {
    store,
    /** What lists show. */
    rates,
    say: (message: LiveMessage) => {
      store.apply(message, Date.now());
      vi.advanceTimersByTime(FRAME_MS);
    },
    told: () => told,
    rowsTold: () => rowsTold,
  };
}

test("only the row that changed gets a new identity, and keeps what did not change of it", () => {
  const { store, say } = watched();
  const [a, b] = [store.node("a"), store.node("b")];
  say(faster("a", 5));
  expect(store.node("b")).toBe(b);
  expect(store.node("a")).not.toBe(a);
  expect(store.node("a")).toEqual(node("a", 5));
});

test("a row follows at once, lists a moment after the first change and then with all of a second", () => {
  const { store, rates, say, told, rowsTold } = watched();
  say(faster("a", 1));
  expect([store.node("a")?.upBytesPerSecond, rates(), rowsTold(), told()]).toEqual([1, [0, 0], 1, 0]);
  vi.advanceTimersByTime(150 + FRAME_MS);
  expect([rates(), told()]).toEqual([[1, 0], 1]);
  for (const rate of [2, 3]) {
    vi.advanceTimersByTime(100);
    say(faster("b", rate));
    expect(store.node("b")?.upBytesPerSecond).toBe(rate);
  }
  expect([rates(), rowsTold(), told()]).toEqual([[1, 0], 3, 1]);
  vi.advanceTimersByTime(600);
  expect([rates(), told()]).toEqual([[1, 3], 2]);
  vi.advanceTimersByTime(5_000);
  expect([rowsTold(), told()]).toEqual([3, 2]);
});

test("a node that is new comes whole, and changes of one that was never told say nothing", () => {
  const { store, say } = watched();
  say({ type: "node-changes", joined: [node("c", 7)], changed: [{ id: "d", name: "gpu-9" }] });
  expect(store.node("c")).toEqual(node("c", 7));
  vi.advanceTimersByTime(150 + FRAME_MS);
  expect([...(store.state().nodes?.keys() ?? [])]).toEqual(["a", "b", "c"]);
  expect(store.node("d")).toBeNull();
});

test("before all nodes have come, changes say nothing", () => {
  const store = new LiveStore(makeFrameScheduler());
  store.apply(faster("a", 1), Date.now());
  vi.advanceTimersByTime(5_000);
  expect([store.state().nodes, store.latest().nodes, store.node("a")]).toEqual([null, null, null]);
});

test("a tab that joins is told what has come, in lists or not", () => {
  const { store, rates, say } = watched();
  say(faster("a", 1));
  say(faster("b", 2));
  expect(rates()).toEqual([0, 0]);
  expect([...(store.latest().nodes?.values() ?? [])]).toEqual([node("a", 1), node("b", 2)]);
});

test("a whole list replaces what was there, and what waited with it", () => {
  const { store, rates, say, told } = watched();
  say(faster("a", 1));
  say(faster("b", 2));
  say({ type: "nodes", nodes: [node("b", 3)] });
  expect([rates(), store.node("a"), store.node("b")]).toEqual([[3], null, node("b", 3)]);
  const before = told();
  vi.advanceTimersByTime(5_000);
  expect([rates(), told()]).toEqual([[3], before]);
});

test("what waits does not come back after all of it was put away", () => {
  const { store, say, told } = watched();
  say(faster("a", 1));
  say(faster("b", 2));
  store.clear();
  const before = told();
  vi.advanceTimersByTime(5_000);
  expect([store.state().nodes, store.node("a"), told()]).toEqual([null, null, before]);
});

test("what comes together of one kind is told together, each kind in a frame of its own", () => {
  const { store, say, told, rowsTold } = watched();
  const moves = (id: string): LiveMessage => ({
    type: "transfers",
    whole: false,
    transfers: [transferRow({ id, state: "running" })],
  });
  for (const message of [faster("a", 1), moves("t1"), faster("b", 1), moves("t2")]) store.apply(message, Date.now());
  expect([rowsTold(), told()]).toEqual([0, 0]);
  say({ type: "events", events: [] });
  expect([rowsTold(), told(), store.state().transfers]).toEqual([1, 0, null]);
  vi.advanceTimersByTime(FRAME_MS);
  expect([rowsTold(), told(), store.state().transfers?.size, store.state().events]).toEqual([1, 1, 2, null]);
  vi.advanceTimersByTime(FRAME_MS);
  expect([rowsTold(), told(), store.state().events]).toEqual([1, 2, []]);
});

test("a tab that joins knows transfers that wait for their frame, and a whole list drops them", () => {
  const { store, say } = watched();
  const states = (state: LiveState) => [...(state.transfers?.values() ?? [])].map((row) => `${row.id} ${row.state}`);
  const changed = (id: string, state: "running" | "waiting"): LiveMessage => ({
    type: "transfers",
    whole: false,
    transfers: [transferRow({ id, state })],
  });
  say({ type: "transfers", whole: true, transfers: [transferRow({ id: "t1", state: "running" })] });
  expect(states(store.state())).toEqual(["t1 running"]);
  store.apply(changed("t1", "waiting"), Date.now());
  store.apply(changed("t2", "running"), Date.now());
  expect(states(store.state())).toEqual(["t1 running"]);
  expect(states(store.latest())).toEqual(["t1 waiting", "t2 running"]);
  vi.advanceTimersByTime(FRAME_MS);
  expect(states(store.state())).toEqual(["t1 waiting", "t2 running"]);
  store.apply(changed("t3", "running"), Date.now());
  say({ type: "transfers", whole: true, transfers: [transferRow({ id: "t2", state: "running" })] });
  expect(states(store.state())).toEqual(["t2 running"]);
});
