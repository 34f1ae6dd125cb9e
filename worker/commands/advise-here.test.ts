import { expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { adviceHere } from "./advise-here.ts";

const waiting = { run: runName.parse("llama"), state: "waiting" as const, sizeBytes: 1024 ** 3, role: undefined };
const captures = [
  { ...waiting, step: 1_300, capturedAt: 1 },
  { ...waiting, step: 1_400, capturedAt: 2 },
  { ...waiting, step: 9_999, capturedAt: 3, role: "final-model" as const },
];
const safe = new Map([["llama", { step: 1_200, at: 0, sizeBytes: 1, epoch: 1 }]]);
const point = (step: number) => ({ run: "llama", newest: { step, isDamaged: false }, trashedStep: null });

test("without a worker the step of the hub's record is said, and what only this disk has", () => {
  expect(adviceHere({ captures, safe }, [point(1_100)])).toMatchObject({
    by: "hub",
    runs: [{ run: "llama", newest: { step: 1_100 }, onDisk: { step: 1_400, bytes: 2 * 1024 ** 3 } }],
    sentences: [
      "llama can go on from step 1,100 on another node. Step 1,400 (2.0 GiB not safe) is only on the disk of this node: start its worker again, and it uploads what it captured.",
    ],
  });
});

test("a run of which nothing waits is told too", () => {
  expect(adviceHere({ captures: [], safe }, [point(1_100)]).sentences).toEqual([
    "llama can go on from step 1,100 on another node.",
  ]);
});

test("without an answer of the hub the node's own record is told as that", () => {
  const advice = adviceHere({ captures, safe }, null);
  expect(advice.by).toBe("node");
  expect(advice.sentences[0]).toMatch(
    /^The hub did not answer; by the record of this node: llama can go on from step 1,200 /,
  );
  expect(adviceHere({ captures, safe: new Map() }, null).sentences[0]).toContain("llama has no safe checkpoint");
  // A node that knows no hub and was told no bucket asked nobody.
  const own = adviceHere({ captures: [], safe }, null, "nobody");
  expect(own).toMatchObject({
    by: "node",
    sentences: [
      "By the record of this node (--to s3://bucket/prefix asks the bucket): llama can go on from step 1,200 on another node.",
    ],
  });
});

test("what may be incomplete, and what lacks the piece of another node, is named, escaped, also where nothing is safe", () => {
  const doubtful = [
    { step: 20, why: "b\u001b.bin is left out" },
    { step: 10, why: "a shard is missing", role: "final-model" as const },
  ];
  const openPieces = [{ step: 30, why: "the piece of node 1 is missing" }];
  const books = { captures: [], safe: new Map(), runs: new Set(["llama", "idle"]) };
  const empty = { newest: null, trashedStep: null };
  const advice = adviceHere(books, [
    { run: "llama", ...empty, doubtful, openPieces },
    { run: "idle", ...empty },
  ]);
  expect(advice.runs).toEqual([{ run: "llama", ...empty, onDisk: null, doubtful, openPieces }]);
  expect(advice.sentences).toEqual([
    "llama has no safe checkpoint: on another node it starts from 0.",
    "llama step 20 is kept as doubtful: b\\u001b.bin is left out. `tidemark run --from 20` goes on from it all the same.",
    "The final model of llama is kept as doubtful: a shard is missing. `tidemark restore llama@final DIR` restores it all the same.",
    "llama step 30 is not whole yet: the piece of node 1 is missing.",
  ]);
});

test("nothing is advised of a run that another node writes, and names are escaped", () => {
  expect(adviceHere({ captures, safe }, []).sentences).toEqual([]);
  const odd = new Map([["x\u001b[2J", { step: 1, at: 0, sizeBytes: 1, epoch: 1 }]]);
  expect(adviceHere({ captures: [], safe: odd }, null).sentences[0]).not.toContain("\u001b");
});
