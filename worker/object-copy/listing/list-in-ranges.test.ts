import { expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { listInRanges, type AskPages } from "./list-in-ranges.ts";

const PAGE = 1_000;

/** Stores sort by the bytes of UTF-8, where an emoji follows a full-width letter; among strings it comes before. */
const inBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

interface Quirks {
  isUnsorted?: boolean;
  /** The store answers as if `start-after` were not there, or refuses it. */
  startAfter?: "ignored" | "refused";
}

/**
 * A store that holds these keys, and what it is asked: `requests`, the `keys` of its answers, and `rounds`, in each of which all requests are under way that
 * were sent before the first one was answered.
 */
function createStore(keys: readonly string[], quirks: Quirks = {}) {
  const stored = quirks.isUnsorted ? keys : keys.toSorted(inBytes);
  const asked = { requests: 0, rounds: 0, keys: 0 };
  let waiting: (() => void)[] = [];
  const nextRound = () =>
    new Promise<void>((resolve) => {
      waiting.push(resolve);
      if (waiting.length > 1) return;
      setImmediate(() => {
        asked.rounds++;
        const answered = waiting;
        waiting = [];
        for (const answer of answered) answer();
      });
    });
  const ask: AskPages = async function* ({
    prefix,
    delimiter,
    startAfter = "",
    firstKeys = PAGE,
    mostPages = Infinity,
  }) {
    const below = stored.filter((key) => key.startsWith(prefix));
    const rows =
      delimiter === undefined
        ? below
        : [...new Set(below.map((key) => key.slice(0, key.indexOf("/", prefix.length) + 1)))];
    const after = quirks.startAfter === "ignored" ? "" : startAfter;
    const wanted = rows.filter((row) => inBytes(row, after) > 0);
    for (let at = 0, size = firstKeys, pages = 0; (at === 0 || at < wanted.length) && pages < mostPages; pages++) {
      asked.requests++;
      await nextRound();
      if (quirks.startAfter === "refused" && startAfter !== "") throw new Fault("UNSUPPORTED", { op: "list" });
      const page = wanted.slice(at, at + size);
      asked.keys += page.length;
      yield {
        objects:
          delimiter === undefined ? page.map((key) => ({ key, sizeBytes: 1, etag: null, modifiedAtMs: null })) : [],
        folders: delimiter === undefined ? [] : page,
        hasMore: at + size < wanted.length,
      };
      at += size;
      size = PAGE;
    }
  };
  return { ask, asked };
}

async function list(ask: AskPages, prefix: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of listInRanges(ask, prefix)) found.push(key);
  return found;
}

const manifest = (run: string, epoch: number, step: number): string =>
  `manifests/${run}/e${String(epoch).padStart(6, "0")}/s${String(step).padStart(12, "0")}-id-attempt.json`;

/** Keys of manifests as they lie in buckets, 10,000 each unless the title says otherwise. */
const LAYOUTS: Readonly<Record<string, { keys: string[]; mostRequests: number; mostRounds: number }>> = {
  "in one epoch": {
    keys: Array.from({ length: 10_000 }, (_, at) => manifest("llama", 1, (at + 1) * 500)),
    mostRequests: 16,
    mostRounds: 3,
  },
  "in 200 epochs": {
    keys: Array.from({ length: 10_000 }, (_, at) => manifest("llama", 1 + Math.floor(at / 50), at * 500)),
    mostRequests: 24,
    mostRounds: 4,
  },
  "of 40 runs": {
    keys: Array.from({ length: 10_000 }, (_, at) => manifest(`run-${"abcdefgh"[at % 8] ?? ""}-${at % 5}`, 3, at)),
    mostRequests: 24,
    mostRounds: 3,
  },
  "of a long run and two short ones": {
    keys: [
      ...[1, 2, 3].map((step) => manifest("a", 1, step)),
      ...Array.from({ length: 10_000 }, (_, at) => manifest("llama", 1, at)),
      ...[1, 2, 3].map((step) => manifest("z", 1, step)),
    ],
    mostRequests: 20,
    mostRounds: 5,
  },
};

test.each(Object.entries(LAYOUTS))(
  "the manifests of 10,000 checkpoints %s are listed in few rounds",
  async (_title, { keys, mostRequests, mostRounds }) => {
    const { ask, asked } = createStore(keys);
    expect(await list(ask, "manifests/")).toEqual(keys.toSorted());
    expect(asked.requests).toBeLessThanOrEqual(mostRequests);
    expect(asked.rounds).toBeLessThanOrEqual(mostRounds);
    expect(asked.keys).toBeLessThanOrEqual(keys.length * 1.5);
  },
);

test("a folder of one page takes one request", async () => {
  const keys = Array.from({ length: PAGE }, (_, at) => manifest("llama", 1, at));
  const { ask, asked } = createStore(keys);
  expect(await list(ask, "manifests/")).toEqual(keys);
  expect(asked).toEqual({ requests: 1, rounds: 1, keys: PAGE });
  expect(await list(ask, "nothing/")).toEqual([]);
});

test.each<[string, Quirks]>([
  ["does not sort", { isUnsorted: true }],
  ["does not know start-after", { startAfter: "ignored" }],
  ["refuses start-after", { startAfter: "refused" }],
])("a store that %s gives every key once", async (_title, quirks) => {
  const sorted = Array.from({ length: 3_500 }, (_, at) => manifest("llama", 1, at));
  const keys = quirks.isUnsorted === true ? sorted.toReversed() : sorted;
  const { ask } = createStore(keys, quirks);
  expect(await list(ask, "manifests/")).toEqual(keys);
});

test("keys with no order to count on, at the ends of ranges and beyond their digits are each given once", async () => {
  const random = Array.from({ length: 4_000 }, (_, at) => `k/${((at * 2_654_435_761) % 4_294_967_296).toString(16)}`);
  const atSeams = Array.from({ length: 3_000 }, (_, at) => `n/${String(at + 7_000)}`);
  const beyond = Array.from({ length: 3_000 }, (_, at) => `b/${String(at)}`);
  const folders = Array.from({ length: 6_000 }, (_, at) => `f/${(at % 400).toString(36)}x/${at}`);
  const markers = folders.map((key) => key.slice(0, key.lastIndexOf("/") + 1));
  const keys = [...new Set([...random, ...atSeams, ...beyond, ...folders, ...markers])].toSorted();
  const { ask } = createStore(keys);
  for (const prefix of ["k/", "n/", "b/", "f/", ""])
    expect(await list(ask, prefix)).toEqual(keys.filter((key) => key.startsWith(prefix)));
});

test("what fails is a fault, and an early end leaves nothing that rejects", async () => {
  const failing: AskPages = async function* () {
    yield* await Promise.resolve([]);
    throw new Fault("ACCESS_DENIED", { op: "list" });
  };
  await expect(list(failing, "manifests/")).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  const { ask } = createStore(Array.from({ length: 5_000 }, (_, at) => manifest("llama", 1, at)));
  let calls = 0;
  const failsLater: AskPages = (options) => (++calls === 1 ? ask(options) : failing(options));
  for await (const { key } of listInRanges(failsLater, "manifests/")) {
    expect(key).toBe(manifest("llama", 1, 0));
    break;
  }
  // All ranges had begun, and a rejection that nobody handles fails this file.
  expect(calls).toBeGreaterThan(4);
  await new Promise((resolve) => setImmediate(resolve));
});

test("a key whose string sorts before the last one of a page, although its bytes follow, is listed", async () => {
  const keys = Array.from({ length: 3 * PAGE }, (_, at) => `runs/\u{1f600}${String(at).padStart(6, "0")}`);
  const letters = Array.from({ length: PAGE }, (_, at) => `runs/\uff21${String(at).padStart(6, "0")}`);
  const { ask } = createStore([...keys, ...letters]);
  expect(await list(ask, "runs/")).toEqual([...letters, ...keys]);
});
