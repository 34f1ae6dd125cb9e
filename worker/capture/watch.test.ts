import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { createRecogniser } from "./detection/recognise.ts";
import { createFinder } from "./detection/walk-watched.ts";
import { createRests } from "./rests.ts";
import { lookOnce, readWatches, watchFor, type Watching } from "./watch.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-watch-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A clock that goes on by `lookMs` between two readings of it, and what was looked at. */
function watchingWith(lookMs: number) {
  const at = { ms: 0 };
  const clock = {
    now: () => {
      at.ms += lookMs;
      return at.ms;
    },
    sleep: () => Promise.resolve(),
    random: () => 0,
  };
  const seen: string[] = [];
  const others: string[] = [];
  const known = new Set<string>();
  const watching: Watching = {
    watch: { folder, run: runName.parse("llama"), takes: null },
    settler: { isSettled: async () => true, whyUnfinished: () => null, doubtOf: () => null, forget: () => undefined },
    recogniser: createRecogniser({ isNamed: false, watchedSince: 0, knows: () => false, isRestored: () => false }),
    finder: createFinder({ folder }, null),
    watchedSince: 0,
    clock,
    signal: new AbortController().signal,
    rests: createRests(() => at.ms),
    isLeft: () => false,
    takesDoubtful: () => true,
    knows: (path) => known.has(path),
    recall: () => Promise.resolve(),
    onFinished: async ({ path }) => known.add(path).has(path),
    onPassedOver: async () => undefined,
    onRefused: async () => undefined,
    findFinalModel: async () => null,
    stepOfFinalModel: async () => 0,
    onOther: async ({ name }) => void others.push(name),
    onUntaken: async () => undefined,
    tellUntold: async () => undefined,
    onLooked: async () => undefined,
    onSeen: ({ name }) => void seen.push(name),
    onFault: (fault) => {
      throw fault;
    },
  };
  return { watching, seen, others, pass: (ms: number) => void (at.ms += ms) };
}

async function write(name: string): Promise<void> {
  await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, name, "model.safetensors"), name);
}

test("what is known and takes long to look at is left alone for fifty times as long, and then looked at again", async () => {
  const { watching, seen, pass } = watchingWith(100);
  await write("checkpoint-10");
  await lookOnce(watching);
  await lookOnce(watching);
  expect(seen).toEqual(["checkpoint-10", "checkpoint-10"]);
  await lookOnce(watching);
  expect(seen).toHaveLength(2);
  pass(4_800);
  await lookOnce(watching);
  expect(seen).toHaveLength(2);
  pass(200);
  await lookOnce(watching);
  expect(seen).toHaveLength(3);
});

test("it is left alone for a minute at most, and a new one beside it is seen at once", async () => {
  const { watching, seen, pass } = watchingWith(10_000);
  await write("checkpoint-10");
  await lookOnce(watching);
  await lookOnce(watching);
  await write("checkpoint-20");
  await lookOnce(watching);
  expect(seen).toEqual(["checkpoint-10", "checkpoint-10", "checkpoint-20"]);
  await rm(join(folder, "checkpoint-20"), { recursive: true });
  pass(60_001);
  await lookOnce(watching);
  expect(seen.at(-1)).toBe("checkpoint-10");
});

test("one that went and came back under its name is looked at at once", async () => {
  const { watching, seen } = watchingWith(10_000);
  await write("checkpoint-10");
  await lookOnce(watching);
  await lookOnce(watching);
  await rm(join(folder, "checkpoint-10"), { recursive: true });
  await lookOnce(watching);
  await write("checkpoint-10");
  await lookOnce(watching);
  expect(seen).toHaveLength(3);
});

test("a step that an earlier walk read out of a file is asked for anew before the file is taken", async () => {
  const { watching } = watchingWith(1);
  await writeFile(join(folder, "last.pt"), "written anew since");
  const at = (step: number) => ({ path: join(folder, "last.pt"), name: "last.pt", step, kind: "file" as const });
  const taken: number[] = [];
  let walked = at(3);
  const finder: Watching["finder"] = {
    find: async () => [walked],
    findAnew: async () => [(walked = at(4))],
    finals: () => [],
    holds: () => false,
    again: () => finder,
  };
  const onFinished = async ({ step }: { step: number }) => taken.push(step) > 0;
  const looking = { ...watching, finder, onFinished };
  expect(await lookOnce(looking)).toBe(true);
  expect(taken).toEqual([]);
  await lookOnce(looking);
  expect(taken).toEqual([4]);
});

test("several watched folders belong to runs in their order, to those of their own names, or all to one that is named", () => {
  const read = (folders: string[], runs: string[]) =>
    readWatches({ folders, runs, patterns: [] }).map(({ folder: at, run }) => [at, run]);
  expect(read(["/new/one", "/new/two"], ["model", "sampler"])).toEqual([
    ["/new/one", "model"],
    ["/new/two", "sampler"],
  ]);
  expect(read(["/data/model", "/data/sampler"], [])).toEqual([
    ["/data/model", "model"],
    ["/data/sampler", "sampler"],
  ]);
  expect(() => read(["/a/out", "/b/out"], [])).toThrow(/BAD_INPUT|name a run for each/);
  expect(() => read(["/a/x", "/b/y", "/c/z"], ["out", "in"])).toThrow("name one run for all, or one for each");
  expect(() => read(["/a/x", "/a/x/y"], ["out"])).toThrow("watch one of them");
  expect(() => read(["/a/x", "/a/x"], ["out"])).toThrow("watch one of them");
  for (const runs of [["llama"], ["llama", "llama", "llama"]]) {
    const watches = readWatches({ folders: ["/a/model", "/a/buffer", "/b/model"], runs, patterns: [] });
    expect(watches.map(({ run, root }) => [run, root])).toEqual([
      ["llama", { index: 0, name: "model" }],
      ["llama", { index: 1, name: "buffer" }],
      ["llama", { index: 2, name: "model" }],
    ]);
    // By the only name, else by the order, else the first.
    const found = (index: number, name: string) =>
      watchFor(watches, { run: runName.parse("llama"), root: { index, name } })?.folder;
    expect(found(0, "buffer")).toBe("/a/buffer");
    expect(found(2, "model")).toBe("/b/model");
    expect(found(1, "replay")).toBe("/a/buffer");
    expect(found(7, "replay")).toBe("/a/model");
  }
  expect(readWatches({ folders: ["/a/model"], runs: ["llama"], patterns: [] })[0]).not.toHaveProperty("root");
});

describe("a look that the preparation of the run overtakes", () => {
  /** Takes what it finds; `onFound` is called between the look at a checkpoint and its capture. */
  function overtaken(onFound: () => void) {
    const { watching } = watchingWith(1);
    const left = new Set<string>();
    const taken: string[] = [];
    const passedOver: string[] = [];
    const { finder } = watching;
    const looking: Watching = {
      ...watching,
      finder: { ...finder, findAnew: async () => finder.findAnew().finally(onFound) },
      isLeft: (path) => left.has(path),
      onFinished: async ({ name }) => taken.push(name) > 0,
      onPassedOver: async ({ name }) => void passedOver.push(name),
    };
    return { looking, left, taken, passedOver };
  }

  test("takes nothing that is to stay without uploading by then, and does not pass it over", async () => {
    await write("checkpoint-10");
    await write("checkpoint-20");
    await write("checkpoint-30");
    const paths = ["checkpoint-10", "checkpoint-30"].map((name) => join(folder, name));
    const { looking, left, taken, passedOver } = overtaken(() => paths.forEach((path) => left.add(path)));
    await lookOnce(looking);
    expect([taken, passedOver]).toEqual([["checkpoint-20"], []]);
  });

  test("passes nothing over for a checkpoint that is not captured now", async () => {
    await write("checkpoint-10");
    await write("checkpoint-20");
    const { looking, passedOver } = overtaken(() => undefined);
    await expect(lookOnce({ ...looking, onFinished: async () => false })).resolves.toBe(true);
    expect(passedOver).toEqual([]);
  });
});
