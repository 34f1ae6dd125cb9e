import { fixedCredential } from "#storage/signing/sigv4.ts";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { readPut } from "#storage/s3/answers.ts";
import { serveCanned } from "#storage/testing/canned-server.ts";
import { callStore } from "#worker/transfer/engine.ts";
import { openTrialStore, type TrialStore } from "#worker/testing/trial-store.ts";
import { listEarly, listObjects, listPages, type ListedPage } from "./list-objects.ts";

const { signal } = new AbortController();
const names = Array.from({ length: 100 }, (_, index) => `p/${String(index).padStart(3, "0")}`);
let store: TrialStore;
beforeAll(async () => {
  store = await openTrialStore();
  const engine = store.engine();
  for (const key of names) {
    const operation = { op: "put", key, sizeBytes: 1, crc32: "e8b7be43", nonce: "n" } as const;
    await callStore(engine, { operation, signal, body: Buffer.from("a") }, readPut);
  }
});
afterEach(() => store.disarm());
afterAll(() => store.close());

const from = () => ({
  engine: store.engine(),
  access: store.access,
  keys: fixedCredential(store.credential),
  now: Date.now,
});
const keysOf = (objects: readonly { key: string }[]) => objects.map(({ key }) => key);

test("pages grow where the first one shall be short", async () => {
  const lengths: number[] = [];
  const keys: string[] = [];
  for await (const { objects } of listPages(from(), { prefix: "p/", firstKeys: 10, signal })) {
    lengths.push(objects.length);
    keys.push(...keysOf(objects));
  }
  expect(lengths).toEqual([10, 20, 40, 30]);
  expect(keys).toEqual(names);
});

test("no more pages are asked for than are wanted", async () => {
  const asked = async () => (await store.count("ListObjectsV2")).reduce((sum, { succeeded }) => sum + succeeded, 0);
  const before = await asked();
  const keys: string[] = [];
  for await (const { objects } of listPages(from(), { prefix: "p/", firstKeys: 10, mostPages: 2, signal })) {
    keys.push(...keysOf(objects));
  }
  expect(keys).toEqual(names.slice(0, 30));
  expect(await asked()).toBe(before + 2);
});

test("the next page is asked for before this one is looked at, and not the one after it", async () => {
  const asked = async () => (await store.count("ListObjectsV2")).reduce((sum, { succeeded }) => sum + succeeded, 0);
  const before = await asked();
  const pages = listPages(from(), { prefix: "p/", firstKeys: 10, signal });
  expect((await pages.next()).value?.objects).toHaveLength(10);
  await expect.poll(asked).toBe(before + 2);
  expect((await pages.next()).value?.objects).toHaveLength(20);
  await expect.poll(asked).toBe(before + 3);
  await pages.return(undefined);
});

test("the first names are shown before the whole list has come, and the list is whole", async () => {
  await store.arm({ op: "ListObjectsV2", times: 1, action: { kind: "delay", ms: 1_500 } });
  const [peeked, shown]: [string[][], string[]] = [[], []];
  const listed = listEarly(from(), {
    prefix: "p/",
    signal,
    onPeek: (objects) => void peeked.push(keysOf(objects)),
    onPage: ({ objects }) => void shown.push(...keysOf(objects)),
  });
  await expect.poll(() => peeked.length + shown.length).toBeGreaterThan(0);
  expect([30, 56, 60, 100]).toContain(peeked[0]?.length ?? shown.length);
  await listed;
  expect(shown).toEqual(names);
});

test("what fails beside the list does not fail the list", async () => {
  const failures = async () =>
    (await store.count("ListObjectsV2")).reduce((sum, { requests, succeeded }) => sum + requests - succeeded, 0);
  const refused = { kind: "error", status: 403, code: "AccessDenied" };
  await store.arm({ op: "ListObjectsV2", attempt: 2, action: refused });
  const shown: string[] = [];
  const onPage = ({ objects }: ListedPage) => void shown.push(...keysOf(objects));
  await listEarly(from(), { prefix: "p/", signal, onPeek: () => undefined, onPage });
  expect(shown).toEqual(names);
  await expect.poll(failures).toBe(1);
});

test("a list that is refused is a fault", async () => {
  await store.arm({ op: "ListObjectsV2", action: { kind: "error", status: 403, code: "AccessDenied" } });
  const nothing = { onPeek: () => undefined, onPage: () => undefined };
  await expect(listEarly(from(), { prefix: "p/", signal, ...nothing })).rejects.toMatchObject({
    code: "ACCESS_DENIED",
  });
  await expect(listObjects(from(), { prefix: "p/", signal })).rejects.toMatchObject({ code: "ACCESS_DENIED" });
});

test("names that a store encodes without a word are asked for again as they are", async () => {
  const key = "p/epoch=5-step=600.ckpt";
  await using silent = await serveCanned(({ query }) => {
    const name = query.get("encoding-type") === "url" ? "p/epoch%3D5-step%3D600.ckpt" : key;
    const row = `<Contents><Key>${name}</Key><Size>1</Size></Contents>`;
    return { body: `<ListBucketResult><IsTruncated>false</IsTruncated>${row}</ListBucketResult>` };
  });
  const there = { ...from(), access: { ...store.access, endpoint: silent.endpoint } };
  expect(keysOf(await listObjects(there, { prefix: "p/", signal }))).toEqual([key]);
});

test.each(["+", " "])("names are read in which a plus sign is %j, though nothing else in them tells", async (sign) => {
  const keys = [`p/a${sign}b`, `p/x${sign}y/c`];
  await using odd = await serveCanned(({ query }) => {
    const found = keys.filter((key) => key.startsWith(query.get("prefix") ?? ""));
    const rows = found.map((key) => `<Contents><Key>${key.replaceAll(" ", "+")}</Key><Size>1</Size></Contents>`);
    const said = "<EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>";
    return { body: `<ListBucketResult>${said}${rows.join("")}</ListBucketResult>` };
  });
  const there = { ...from(), access: { ...store.access, endpoint: odd.endpoint } };
  expect(keysOf(await listObjects(there, { prefix: "p/", signal }))).toEqual(keys);
});
