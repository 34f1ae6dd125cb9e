import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { nodeRow } from "#protocol/testing/make-node-row.ts";
import type { LiveMessage } from "#protocol/wire/views.ts";
import { LiveLink } from "./live-link.ts";
import { makeFrameScheduler } from "../../_ui/rendering/make-frame-scheduler.ts";
import { LiveStore } from "./live-store.ts";

/** Each link is a tab: locks and channels are the platform's own, which all of one process share as tabs do. */

type Watching = Parameters<ConstructorParameters<typeof LiveLink>[0]["watch"]>[0];
const nodes = (...ids: string[]): LiveMessage => ({ type: "nodes", nodes: ids.map((id) => nodeRow({ id })) });

let open: (Watching & { tab: Tab })[] = [];
let tabs: Tab[] = [];

class Tab {
  readonly store = new LiveStore(makeFrameScheduler());
  readonly stale: string[] = [];
  streams = 0;
  signedOut = 0;
  readonly #link = new LiveLink({
    store: this.store,
    watch: (watching) => {
      const stream = { ...watching, tab: this };
      open.push(stream);
      this.streams++;
      return {
        unsubscribe: () => {
          open = open.filter((one) => one !== stream);
        },
      };
    },
    onStale: (topics) => this.stale.push(...topics),
    onSignedOut: () => this.signedOut++,
  });

  constructor() {
    tabs.push(this);
    this.#link.start();
  }

  ids = (): string[] => [...(this.store.latest().nodes?.keys() ?? [])];
  close = (): void => this.#link.stop();
}

/** Looks until it is so. Not by `expect.poll`, which moves the clock that these tests hold. */
async function becomes<Value>(look: () => Value | Promise<Value>, wanted: Value): Promise<void> {
  const giveUpAt = performance.now() + 300_000;
  const isSo = async () => JSON.stringify(await look()) === JSON.stringify(wanted);
  while (!(await isSo()) && performance.now() < giveUpAt) await new Promise((resolve) => setImmediate(resolve));
  expect(await look()).toEqual(wanted);
}

/** The one stream that is open. */
async function stream(): Promise<Watching & { tab: Tab }> {
  await becomes(() => open.length, 1);
  const [only] = open;
  if (only === undefined) throw new Error("no stream");
  return only;
}

/** So many stand in line behind the one that leads. */
const waiting = (count: number) => becomes(async () => (await navigator.locks.query()).pending?.length ?? 0, count);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] });
});
afterEach(async () => {
  for (const tab of tabs) tab.close();
  [open, tabs] = [[], []];
  vi.unstubAllGlobals();
  vi.useRealTimers();
  await becomes(async () => (await navigator.locks.query()).held, []);
});

test("of eight tabs one opens a stream, and all are told what it brings", async () => {
  const eight = Array.from({ length: 8 }, () => new Tab());
  const hub = await stream();
  await waiting(7);
  hub.onData(nodes("a", "b"));
  hub.onData({ type: "stale", topics: ["profiles"] });
  for (const tab of eight) {
    await becomes(tab.ids, ["a", "b"]);
    await becomes(() => tab.stale, ["profiles"]);
    expect(tab.store.link().link).toBe("live");
  }
  expect(eight.filter(({ streams }) => streams === 1).length).toBe(1);
  expect(eight.filter(({ streams }) => streams === 0).length).toBe(7);
});

test("a tab that comes later is told everything so far, without a stream of its own", async () => {
  const first = new Tab();
  const hub = await stream();
  expect(hub.tab).toBe(first);
  hub.onData(nodes("a"));
  hub.onData({ type: "node-changes", joined: [nodeRow({ id: "b" })], changed: [] });
  const late = new Tab();
  await becomes(late.ids, ["a", "b"]);
  hub.onData({ type: "node-changes", joined: [nodeRow({ id: "c" })], changed: [] });
  await becomes(late.ids, ["a", "b", "c"]);
  expect(late.streams).toBe(0);
});

test("a tab that is alone copies nothing, and one whose greeting was missed is told all when it is counted", async () => {
  const heard: string[] = [];
  const listener = new BroadcastChannel("tidemark-live");
  listener.addEventListener("message", ({ data }: MessageEvent<{ kind: string }>) => heard.push(data.kind));
  try {
    const first = new Tab();
    const hub = await stream();
    hub.onData(nodes("a"));
    // A greeting that the listener hears says that what was sent before it would have come too.
    const greeting = new BroadcastChannel("tidemark-live");
    greeting.postMessage({ kind: "nothing" });
    await becomes(() => heard, ["joined", "nothing"]);
    expect(first.ids()).toEqual(["a"]);

    void navigator.locks.request("tidemark-live", { signal: AbortSignal.timeout(60_000) }, () => undefined);
    await waiting(1);
    await vi.advanceTimersByTimeAsync(2_000);
    await becomes(() => heard, ["joined", "nothing", "message"]);
    greeting.close();
  } finally {
    listener.close();
  }
});

test("when the tab that leads is closed, another one opens the stream and the rest follow it", async () => {
  const three = [new Tab(), new Tab(), new Tab()];
  const before = await stream();
  await waiting(2);
  before.tab.close();
  await becomes(() => open.length, 1);
  const hub = await stream();
  expect(hub.tab).not.toBe(before.tab);
  hub.onData(nodes("z"));
  for (const tab of three.filter((one) => one !== before.tab)) await becomes(tab.ids, ["z"]);
  expect(before.tab.ids()).toEqual([]);
});

test("a stream that breaks shows in every tab and is opened again, later each time", async () => {
  const [one, two] = [new Tab(), new Tab()];
  await waiting(1);
  (await stream()).onData(nodes("a"));
  await becomes(two.ids, ["a"]);
  (await stream()).onError(new Error("gone"));
  expect(open).toEqual([]);
  for (const tab of [one, two]) await becomes(() => tab.store.link().link, "lost");
  await vi.advanceTimersByTimeAsync(499);
  expect(open).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  (await stream()).onComplete();
  await vi.advanceTimersByTimeAsync(999);
  expect(open).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  (await stream()).onData(nodes("a", "b"));
  for (const tab of [one, two]) await becomes(() => tab.store.link().link, "live");
  expect(two.ids()).toEqual(["a", "b"]);
});

test("a session that ended is said once and not tried again", async () => {
  const tab = new Tab();
  (await stream()).onError({ data: { fault: { code: "NOT_SIGNED_IN" } } });
  expect(tab.signedOut).toBe(1);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(open).toEqual([]);
});

test("where the browser has no locks each tab leads itself", () => {
  vi.stubGlobal("navigator", {});
  const [one, two] = [new Tab(), new Tab()];
  expect([one.streams, two.streams]).toEqual([1, 1]);
});
