import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LiveMessage, NodeChange } from "#protocol/views.ts";
import type { LiveState } from "./live-merge.ts";
import { LiveStore } from "./live-store.ts";
import { nodeRow } from "#protocol/make-node-row.ts";
import { transferRow } from "./make-transfer-row.ts";

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
  const store = new LiveStore();
  let told = 0;
  store.subscribe(() => told++);
  store.apply({ type: "nodes", nodes: [node("a"), node("b")] }, Date.now());
  vi.advanceTimersByTime(5_000);
  told = 0;
  const rates = () => [...(store.state().nodes?.values() ?? [])].map(({ upBytesPerSecond }) => upBytesPerSecond);
  return {
    store,
    /** What lists show. */
    rates,
    say: (message: LiveMessage) => {
      store.apply(message, Date.now());
      vi.advanceTimersByTime(0);
    },
    told: () => told,
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
  const { store, rates, say, told } = watched();
  say(faster("a", 1));
  expect([store.node("a")?.upBytesPerSecond, rates(), told()]).toEqual([1, [0, 0], 1]);
  vi.advanceTimersByTime(150);
  expect([rates(), told()]).toEqual([[1, 0], 2]);
  for (const rate of [2, 3]) {
    vi.advanceTimersByTime(100);
    say(faster("b", rate));
    expect(store.node("b")?.upBytesPerSecond).toBe(rate);
  }
  expect([rates(), told()]).toEqual([[1, 0], 4]);
  vi.advanceTimersByTime(600);
  expect([rates(), told()]).toEqual([[1, 3], 5]);
  vi.advanceTimersByTime(5_000);
  expect(told()).toBe(5);
});

test("a node that is new comes whole, and changes of one that was never told say nothing", () => {
  const { store, say } = watched();
  say({ type: "node-changes", joined: [node("c", 7)], changed: [{ id: "d", name: "gpu-9" }] });
  expect(store.node("c")).toEqual(node("c", 7));
  vi.advanceTimersByTime(150);
  expect([...(store.state().nodes?.keys() ?? [])]).toEqual(["a", "b", "c"]);
  expect(store.node("d")).toBeNull();
});

test("before all nodes have come, changes say nothing", () => {
  const store = new LiveStore();
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

test("messages that come together are told together", () => {
  const { store, rates, told } = watched();
  store.apply({ type: "events", events: [] }, Date.now());
  store.apply(faster("a", 1), Date.now());
  expect(told()).toBe(0);
  vi.advanceTimersByTime(0);
  expect([rates(), told()]).toEqual([[0, 0], 1]);
});

test("transfers that changed show a moment after what came with them, and a tab that joins knows them", () => {
  const { store, say, told } = watched();
  const states = (state: LiveState) => [...(state.transfers?.values() ?? [])].map((row) => `${row.id} ${row.state}`);
  say({ type: "transfers", whole: true, transfers: [transferRow({ id: "t1", state: "running" })] });
  expect([states(store.state()), told()]).toEqual([["t1 running"], 1]);
  store.apply(
    { type: "transfers", whole: false, transfers: [transferRow({ id: "t1", state: "waiting" })] },
    Date.now(),
  );
  store.apply(
    { type: "transfers", whole: false, transfers: [transferRow({ id: "t2", state: "running" })] },
    Date.now(),
  );
  expect(states(store.state())).toEqual(["t1 running"]);
  expect(states(store.latest())).toEqual(["t1 waiting", "t2 running"]);
  vi.advanceTimersByTime(60);
  expect(states(store.state())).toEqual(["t1 waiting", "t2 running"]);
  store.apply(
    { type: "transfers", whole: false, transfers: [transferRow({ id: "t3", state: "running" })] },
    Date.now(),
  );
  say({ type: "transfers", whole: true, transfers: [transferRow({ id: "t2", state: "running" })] });
  vi.advanceTimersByTime(60);
  expect(states(store.state())).toEqual(["t2 running"]);
});
