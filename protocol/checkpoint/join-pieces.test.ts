import { expect, test } from "vitest";
import { manifest as manifestSchema, type Manifest } from "./checkpoint.ts";
import { attributesOf, folderModesOf } from "./file-attributes.ts";
import { forNode, joinPieces, whyNotJoined, type PieceManifest } from "./join-pieces.ts";
import { attemptId, filePath } from "../base/names.ts";
import { doubtOfPiece } from "./pieces.ts";

interface Wrote {
  [path: string]: string;
}

const attemptOf = (rank: number) => attemptId.parse(`attempt0000${rank}`);

function piece(
  rank: number,
  wrote: Wrote,
  more: Partial<PieceManifest> & { needs?: [string, number][] } = {},
): PieceManifest {
  const { needs, ...rest } = more;
  const files = Object.entries(wrote).map(([path, text]) => ({
    path: filePath.parse(path),
    sizeBytes: text.length,
    mtimeMs: 1,
    sha256: null,
    extents: [
      {
        key: `runs/llama/e000001/${attemptOf(rank)}/${path}`,
        offset: 0,
        length: text.length,
        // Not a real sum: the same for the same text.
        crc32: Buffer.from(text)
          .reduce((sum, byte) => sum + byte, 0)
          .toString(16)
          .padStart(8, "0"),
        etag: "e",
      },
    ],
  }));
  const of = { rank, of: 2 };
  const read = manifestSchema.parse({
    format: "tidemark.checkpoint",
    version: 1,
    id: `checkpoint-${rank}`,
    run: "llama",
    step: 10,
    writerEpoch: 1,
    parent: null,
    attempt: attemptOf(rank),
    node: { id: `node-000${rank}`, name: `gpu-${rank}` },
    framework: rank === 0 ? "torch-dcp" : null,
    doubt: doubtOfPiece(of),
    piece: {
      ...of,
      ...(needs !== undefined && { needs: needs.map(([path, sizeBytes]) => ({ path, sizeBytes })) }),
    },
    metrics: {},
    capturedAt: 1 + rank,
    sizeBytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    homes: [{ profileId: "profile-1", bucket: "b", prefix: "" }],
    transform: { kind: "none" },
    files,
    ...rest,
  });
  return read as PieceManifest;
}

const NEEDS: [string, number][] = [
  ["__0_0.distcp", 4],
  ["__1_0.distcp", 4],
];
const zero = piece(0, { "__0_0.distcp": "zero", ".metadata": "meta" }, { needs: NEEDS });
const one = piece(1, { "__1_0.distcp": "one!" });
const about = { id: "whole-0001", attempt: attemptId.parse("attempt00009") };
const why = (pieces: PieceManifest[], more: { past?: number[]; names?: [number, string][] } = {}) =>
  whyNotJoined({ pieces, pastRanks: new Set(more.past), nodeNames: new Map(more.names) });
const whole = (pieces: PieceManifest[]): Manifest => {
  const made = joinPieces(pieces, about);
  if (made === null) throw new Error("not joined");
  return manifestSchema.parse(JSON.parse(JSON.stringify(made)));
};
const textsOf = ({ files }: Manifest) => files.map(({ path, extents }) => [path, extents[0]?.key.split("/")[3]]);

test("pieces are whole when those of all nodes are there, and what is missing is named with its node", () => {
  expect(why([zero, one])).toBeNull();
  expect(why([zero], { names: [[1, "gpu-1"]] })).toBe("the piece of node 1 (gpu-1) is missing");
  expect(why([one])).toBe("the piece of node 0 is missing");
});

test("what the metadata names has to be there, and as long as it says", () => {
  expect(why([zero, piece(1, { "rng_1.pth": "x" })])).toBe("__1_0.distcp, named by .metadata, is missing");
  expect(why([zero, piece(1, { "__1_0.distcp": "on" })])).toBe("__1_0.distcp is shorter than .metadata says");
  expect(why([piece(0, { "__0_0.distcp": "zero" }), one])).toContain(".metadata is missing in all pieces");
});

test("a node that has written a later step, and nothing of this one, is not waited for", () => {
  const alone = piece(0, { "__0_0.distcp": "zero", ".metadata": "meta" }, { needs: [["__0_0.distcp", 4]] });
  expect(why([alone])).toBe("the piece of node 1 is missing");
  expect(why([alone], { past: [0, 1] })).toBeNull();
  expect(why([zero], { past: [0, 1] })).toBe("__1_0.distcp, named by .metadata, is missing");
});

test("a piece that may not be whole itself, is encrypted, or lies in another bucket keeps them apart", () => {
  expect(why([zero, { ...one, doubt: "a name is not UTF-8" }])).toBe("of the piece of node 1: a name is not UTF-8");
  const elsewhere = { ...one, homes: [{ profileId: "profile-2", bucket: "c", prefix: "" }] };
  const oneByOne = "which one manifest cannot name: restore them one by one";
  expect(why([zero, elsewhere])).toBe(`all 2 pieces are there, in several buckets, ${oneByOne}`);
  const transform = { kind: "sealed" } as PieceManifest["transform"];
  expect(why([zero, { ...one, transform }])).toBe(
    `all 2 pieces are there, each encrypted with a key of its own, ${oneByOne}`,
  );
});

test("the whole names the objects of all pieces, and has no doubt", () => {
  const made = whole([one, zero]);
  expect(textsOf(made)).toEqual([
    ["__0_0.distcp", "attempt00000"],
    [".metadata", "attempt00000"],
    ["__1_0.distcp", "attempt00001"],
  ]);
  expect(made).toMatchObject({ ...about, framework: "torch-dcp", sizeBytes: 12, capturedAt: 2, joined: { of: 2 } });
  expect(made.doubt).toBeUndefined();
  expect(made.piece).toBeUndefined();
  expect(made.joined?.pieces.map(({ rank, node }) => [rank, node.name])).toEqual([
    [0, "gpu-0"],
    [1, "gpu-1"],
  ]);
});

test("of one name with other content each node gets its own back, and others that of the lowest node", () => {
  const made = whole([
    piece(0, { "__0_0.distcp": "zero", ".metadata": "meta", "args.bin": "of 0", same: "s" }, { needs: NEEDS }),
    piece(1, { "__1_0.distcp": "one!", "args.bin": "of 1", same: "s" }),
  ]);
  const argsOf = (manifest: Manifest) => textsOf(manifest).find(([path]) => path === "args.bin")?.[1];
  expect(made.files).toHaveLength(5);
  expect(argsOf(made)).toBe("attempt00000");
  expect(argsOf(forNode(made, { rank: 1, of: 2 }))).toBe("attempt00001");
  expect(argsOf(forNode(made, { rank: 0, of: 2 }))).toBe("attempt00000");
  // With another number of nodes none of them is the one that wrote it.
  expect(forNode(made, { rank: 1, of: 4 })).toBe(made);
});

test("a node gets all pieces where names do not tell who reads them, else its own and what names no rank", () => {
  expect(forNode(whole([zero, one]), { rank: 1, of: 2 }).files).toHaveLength(3);
  const deepspeed = whole([
    piece(0, { "zero_pp_rank_0_mp_rank_00_optim_states.pt": "a", "mp_rank_00_model_states.pt": "model" }),
    piece(1, { "zero_pp_rank_1_mp_rank_00_optim_states.pt": "b" }),
  ]);
  const forOne = forNode(deepspeed, { rank: 1, of: 2 });
  expect(forOne.files.map(({ path }) => path)).toEqual([
    "mp_rank_00_model_states.pt",
    "zero_pp_rank_1_mp_rank_00_optim_states.pt",
  ]);
  expect(forOne.sizeBytes).toBe(6);
});

test("a file of one node with the name of a folder of another cannot be joined", () => {
  expect(joinPieces([piece(0, { model: "x" }), piece(1, { "model/a": "x" })], about)).toBeNull();
});

test("a folder that is empty with one node stays in the whole unless another has something in it", () => {
  const attributes = {
    mode: 0o644,
    others: [],
    emptyFolders: ["states", "states/deep", "logs"].map((path) => filePath.parse(path)),
  };
  const whole = joinPieces([piece(0, { "model.pt": "m" }, { attributes }), piece(1, { "states/deep/rank1.pt": "s" })], {
    id: "whole-checkpoint",
    attempt: attemptOf(9),
  });
  expect(whole?.attributes?.emptyFolders).toEqual(["logs"]);
});

test("folders keep their modes in the whole and in what one node gets, that of the lowest rank where nodes differ", () => {
  const recorded = (modes: Record<string, number>, empty: string[] = []) => {
    const attributes = attributesOf([], empty, new Map(Object.entries(modes)));
    return attributes === null ? {} : { attributes };
  };
  const zero = recorded({ "": 0o750, shared: 0o700, "shared/zero": 0o711, none: 0o770 }, ["none"]);
  const one = recorded({ "": 0o755, shared: 0o755, "shared/one": 0o555 });
  const pieces = [piece(0, { "shared/zero/a": "z" }, zero), piece(1, { "shared/one/b": "o" }, one)];
  const whole = joinPieces(pieces, { id: "whole-checkpoint", attempt: attemptOf(9) });
  if (whole === null) throw new Error("they were not joined");
  const paths = ["", "shared", "shared/zero", "shared/one", "none"];
  for (const each of [whole, forNode(whole, { rank: 1, of: 2 })]) {
    const modeOf = folderModesOf(each.attributes ?? {});
    expect(paths.map((path) => modeOf?.(path))).toEqual([0o750, 0o700, 0o711, 0o555, 0o770]);
  }
  // A piece of an older worker says nothing of folders, so others count.
  const older = joinPieces([piece(0, { "shared/zero/a": "z" }), piece(1, { "shared/one/b": "o" }, one)], about);
  expect(folderModesOf(older?.attributes ?? {})?.("shared")).toBe(0o755);
});
