import { expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { PREFIX, RUN } from "../testing/memory-bucket.ts";
import { abortEnded, createUploadAborter, type UploadCalls } from "./abort-uploads.ts";

const keyOf = (epoch: number, path: string): string =>
  `${PREFIX}runs/${RUN}/e${String(epoch).padStart(6, "0")}/attempt000001/${path}`;

function createUploads(keys: readonly string[]) {
  const open = new Map(keys.map((key, at) => [`upload-${at}`, key]));
  const uploads: UploadCalls = {
    list: async (folder) => [...open].flatMap(([uploadId, key]) => (key.startsWith(folder) ? [{ key, uploadId }] : [])),
    sizeOf: () => Promise.resolve(500),
    abort: async ({ uploadId }) => void open.delete(uploadId),
  };
  return { uploads, left: () => [...open.values()] };
}
const isWriter = () => Promise.resolve();

test("uploads of earlier epochs are aborted, those of the living one, of later ones and of other runs are not", async () => {
  const living = keyOf(3, "weights");
  const later = keyOf(4, "weights");
  const other = keyOf(1, "weights").replace(`/${RUN}/`, "/other/");
  const unknown = `${PREFIX}runs/${RUN}/notes.txt`;
  const { uploads, left } = createUploads([keyOf(1, "a"), keyOf(2, "b"), living, later, other, unknown]);
  const aborted = await abortEnded({ uploads, prefix: PREFIX, assertWriter: isWriter }, { run: RUN, epoch: 3 });
  expect(aborted).toEqual({ count: 2, bytes: 1_000 });
  expect(left()).toEqual([living, later, other, unknown]);
});

test("nothing is aborted by a node that does not write the run any more", async () => {
  const { uploads, left } = createUploads([keyOf(1, "a"), keyOf(1, "b")]);
  const assertWriter = () => Promise.reject(new Fault("EPOCH_OVER", { op: "writer" }));
  const aborting = abortEnded({ uploads, prefix: PREFIX, assertWriter }, { run: RUN, epoch: 2 });
  await expect(aborting).rejects.toMatchObject({ code: "EPOCH_OVER" });
  expect(left()).toHaveLength(2);
});

test("count and bytes are said once for an epoch, and a missing right is said with what it means", async () => {
  const { uploads, left } = createUploads([keyOf(1, "a")]);
  const said: string[] = [];
  const say = (sentence: string) => void said.push(sentence);
  const parts = { prefix: PREFIX, assertWriter: isWriter, say };
  const aborter = createUploadAborter({ ...parts, uploads });
  aborter.claimed(RUN, 2, 2);
  aborter.claimed(RUN, 2, 2);
  await aborter.finish(5_000);
  expect(said).toEqual([`Removed the parts of 1 upload of ${RUN} that an earlier writer left unfinished: 500 B.`]);
  expect(left()).toEqual([]);
  const list = () => Promise.reject(new Fault("ACCESS_DENIED", { op: "ListMultipartUploads" }));
  const denied = createUploadAborter({ ...parts, uploads: { ...uploads, list } });
  denied.claimed(RUN, 2, 2);
  await denied.finish(5_000);
  expect(said[1]).toContain(`Parts of uploads of ${RUN} that earlier writers left unfinished may stay in the bucket`);
});

test("uploads of a line that this node may still send are left alone", async () => {
  const { uploads, left } = createUploads([keyOf(1, "a"), keyOf(2, "b"), keyOf(3, "c")]);
  await abortEnded({ uploads, prefix: PREFIX, assertWriter: isWriter }, { run: RUN, epoch: 3, first: 2 });
  expect(left()).toEqual([keyOf(2, "b"), keyOf(3, "c")]);
});
