import { afterAll, beforeAll, expect, it } from "vitest";
import { serveCanned, type Canned, type CannedServer } from "#storage/testing/canned-server.ts";
import { WALK_LIMITS } from "#protocol/buckets/bucket.ts";
import { fault } from "#server/testing/match-fault.ts";
import { recogniseBucket } from "#server/core/checkpoints/external/recognise-bucket.ts";
import { findObjects } from "../external-checkpoints/find-objects.ts";
import { addTestProfile, callAs, openTestHub, type TestHub } from "#server/testing/open-test-hub.ts";

/** A bucket with keys that are no UTF-8, which no request can ask for: some stores take such ones. */
const DAY = "<LastModified>2026-01-01T00:00:00.000Z</LastModified>";
const ODD = Array.from({ length: 12 }, (_, at) => `p/%E9${at}`);
const NAMES = [...ODD, "p/fine.json"];

const answers: Record<string, Canned> = {
  "list-type": document(
    "ListBucketResult",
    (key) => `<Contents><Key>${key}</Key><Size>3</Size><ETag>&quot;e&quot;</ETag>${DAY}</Contents>`,
  ),
  versions: document("ListVersionsResult", (key) => `<Version><Key>${key}</Key><Size>3</Size>${DAY}</Version>`),
  uploads: document("ListMultipartUploadsResult", (key) => `<Upload><Key>${key}</Key><UploadId>u</UploadId></Upload>`),
  uploadId: document("ListPartsResult", () => ""),
};

function document(root: string, rowOf: (key: string) => string): Canned {
  const rows = NAMES.map(rowOf).join("");
  const body = `<${root}><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>${rows}</${root}>`;
  return { headers: { "content-type": "application/xml" }, body };
}

/** Listings without an end: pages that have no name that can be read, and pages that have one after so many others. */
const ENDLESS_PAGE = 10_000;
const rowOf = (key: string): string =>
  `<Contents><Key>${key}</Key><Size>3</Size><ETag>&quot;e&quot;</ETag>${DAY}</Contents>`;
const endlessRows = rowOf("endless/%E9").repeat(ENDLESS_PAGE);
const mixedRows = rowOf("mixed/%E9").repeat(1_000);

function endless(prefix: string, page: number): Canned {
  const next = `<IsTruncated>true</IsTruncated><NextContinuationToken>${page}</NextContinuationToken>`;
  const rows = prefix === "endless/" ? endlessRows : mixedRows + rowOf(`mixed/fine-${page}`);
  const body = `<ListBucketResult><EncodingType>url</EncodingType>${next}${rows}</ListBucketResult>`;
  return { headers: { "content-type": "application/xml" }, body };
}
/** Called before each page of it is sent. */
let onEndless: (page: number) => void = () => undefined;

let server: CannedServer;
let test: TestHub;
let profileId = "";
beforeAll(async () => {
  server = await serveCanned(({ query }) => {
    const prefix = query.get("prefix") ?? "";
    if (prefix === "endless/" || prefix === "mixed/") {
      const page = Number(query.get("continuation-token")) + 1;
      onEndless(page);
      return endless(prefix, page);
    }
    const asked = Object.keys(answers).find((name) => query.has(name));
    return answers[asked ?? ""] ?? { status: 404 };
  });
  test = await openTestHub();
  profileId = await addTestProfile(test.hub, server.endpoint);
});
afterAll(async () => {
  await test.close();
  await server[Symbol.asyncDispose]();
});

const shown = ODD.map((_, at) => `p/\ufffd${at}`);
const at = { prefix: "p/" };

it("a walk counts them, and says the first", async () => {
  const { walk } = callAs(test.hub, "viewer").bucket;
  const page = await walk({ profileId, ...at, words: "" });
  expect(page).toMatchObject({ looked: { objects: 1 }, matching: { objects: 1 } });
  expect(page.unreadable).toEqual({ count: 12, first: shown.slice(0, WALK_LIMITS.unreadable) });
});

it("versions and unfinished uploads are listed without them, and they are said", async () => {
  const { versions, orphans } = callAs(test.hub, "viewer").bucket;
  expect(await versions({ profileId, ...at })).toMatchObject({
    versions: [{ key: "p/fine.json" }],
    unreadable: shown,
  });
  expect(await orphans({ profileId, ...at })).toMatchObject({
    uploads: [{ key: "p/fine.json" }],
    unreadable: shown,
  });
});

it("a download of a folder, and what is found in a bucket, say them", async () => {
  const operator = callAs(test.hub, "operator");
  expect(await operator.browserTransfers.folder({ profileId, ...at, cursor: null })).toMatchObject({
    files: [{ path: "fine.json" }],
    unreadable: shown,
  });
  const { warnings } = await operator.inspect.recognise({ profileId, ...at, cursor: null });
  expect(warnings).toEqual([`left out: 12 names are not valid UTF-8: ${shown.slice(0, 3).join(", ")} and 9 more`]);
  const store = await test.hub.stores.open(profileId);
  const { signal } = new AbortController();
  const found = await findObjects(test.hub, { store, place: "p/", kind: "folder", signal });
  expect(found.objects.map(({ key }) => key)).toEqual(["p/fine.json"]);
  expect(found.unreadable).toEqual({ count: 12, first: shown.slice(0, WALK_LIMITS.unreadable) });
});

const there = { prefix: "endless/" };

it("a download of a folder that has no others is listed a page of the store at a time", async () => {
  const { folder } = callAs(test.hub, "operator").browserTransfers;
  const pages: number[] = [];
  onEndless = (page) => void pages.push(page);
  const first = await folder({ profileId, ...there, cursor: null });
  expect([first.files, first.unreadable.length, pages]).toEqual([[], ENDLESS_PAGE, [1]]);
  await folder({ profileId, ...there, cursor: first.cursor });
  expect(pages).toEqual([1, 2]);
  await expect(folder({ profileId, prefix: "p/", cursor: first.cursor })).rejects.toEqual(fault("LISTING_OVER"));
});

it("an adoption and what looks for checkpoints end where there is no end of them, and keep the first", async () => {
  const pages: number[] = [];
  onEndless = (page) => void pages.push(page);
  const store = await test.hub.stores.open(profileId);
  const { signal } = new AbortController();
  await expect(findObjects(test.hub, { store, place: "endless/", kind: "folder", signal })).rejects.toMatchObject({
    code: "BAD_INPUT",
  });
  expect(pages).toEqual([1, 2, 3, 4, 5]);
  const found = await callAs(test.hub, "operator").inspect.recognise({ profileId, ...there, cursor: null });
  expect(found.cursor).toBeNull();
  const name = "endless/\ufffd";
  expect(found.warnings).toEqual([
    "so many names are not valid UTF-8 that what comes after them was not looked at",
    `left out: 50,000 names are not valid UTF-8: ${name}, ${name}, ${name} and 49,997 more`,
  ]);
  expect(pages.slice(5)).toEqual([1, 2, 3, 4, 5]);
});

it("they count among those of an answer of what looks for checkpoints", async () => {
  const at = { prefix: "mixed/", cursor: null, limit: 1_000 };
  const { cursor, warnings } = await callAs(test.hub, "operator").inspect.recognise({ profileId, ...at });
  expect(cursor).toBe("mixed/fine-1");
  expect(warnings).toEqual([expect.stringMatching(/^left out: 1,000 names /)]);
});

it.each([
  [
    "an adoption",
    async (signal: AbortSignal) => {
      const store = await test.hub.stores.open(profileId);
      await findObjects(test.hub, { store, place: "endless/", kind: "folder", signal });
    },
  ],
  [
    "what looks for checkpoints",
    (signal: AbortSignal) => recogniseBucket(test.hub, { profileId, ...there, cursor: null, limit: 20_000 }, signal),
  ],
])("%s lists no further page of them when nobody waits", async (_, list) => {
  const gone = new AbortController();
  const pages: number[] = [];
  onEndless = (page) => {
    pages.push(page);
    if (page === 2) gone.abort();
  };
  await expect(list(gone.signal)).rejects.toMatchObject({ code: "CANCELLED" });
  expect(pages).toEqual([1, 2]);
});
