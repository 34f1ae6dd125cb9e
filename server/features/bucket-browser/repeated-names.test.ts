import { afterAll, beforeAll, expect, it } from "vitest";
import { serveCanned, type Canned, type CannedServer } from "#storage/testing/canned-server.ts";
import { listObjects } from "#storage/s3/listing.ts";
import { addTestProfile, callAs, openTestHub, type TestHub } from "#server/testing/open-test-hub.ts";

/** A store that repeats the end of a page on the next page, as some do. */
const DAY = "<LastModified>2026-01-01T00:00:00.000Z</LastModified>";
const PAGES = [
  ["p/a", "p/b"],
  ["p/b", "p/a", "p/c"],
];

const rows: Record<string, (key: string) => string> = {
  "list-type": (key) => `<Contents><Key>${key}</Key><Size>3</Size><ETag>&quot;e&quot;</ETag>${DAY}</Contents>`,
  versions: (key) => `<Version><Key>${key}</Key><VersionId>1</VersionId><Size>3</Size>${DAY}</Version>`,
  uploads: (key) => `<Upload><Key>${key}</Key><UploadId>u</UploadId></Upload>`,
};
const roots: Record<string, string> = {
  "list-type": "ListBucketResult",
  versions: "ListVersionsResult",
  uploads: "ListMultipartUploadsResult",
};

function answer(query: URLSearchParams): Canned {
  const kind = Object.keys(rows).find((name) => query.has(name));
  if (kind === undefined) return { body: "<ListPartsResult><IsTruncated>false</IsTruncated></ListPartsResult>" };
  const isSecond = query.has("continuation-token") || query.has("key-marker");
  const folders = query.get("delimiter") === "/" ? "<CommonPrefixes><Prefix>p/sub/</Prefix></CommonPrefixes>" : "";
  const list = (PAGES[isSecond ? 1 : 0] ?? []).map((key) => rows[kind]?.(key)).join("");
  const next = `<NextContinuationToken>2</NextContinuationToken><NextKeyMarker>p/b</NextKeyMarker>`;
  const end = `<IsTruncated>${isSecond ? "false" : "true"}</IsTruncated>${isSecond ? "" : next}`;
  return { body: `<${roots[kind]}>${end}${list}${folders}</${roots[kind]}>` };
}

let server: CannedServer;
let test: TestHub;
let profileId = "";
beforeAll(async () => {
  server = await serveCanned(({ query }) => answer(query));
  test = await openTestHub();
  profileId = await addTestProfile(test.hub, server.endpoint);
});
afterAll(async () => {
  await test.close();
  await server[Symbol.asyncDispose]();
});

const keysOf = (found: readonly { key: string }[]) => found.map(({ key }) => key);
const ALL = ["p/a", "p/b", "p/c"];

it("sums and a search count each key once, and say how many came again", async () => {
  const { walk } = callAs(test.hub, "viewer").bucket;
  const page = await walk({ profileId, prefix: "p/", words: "p" });
  expect(page).toMatchObject({ looked: { objects: 3, bytes: 9 }, repeated: 2, nextCursor: null });
});

it("pages of a folder have each row once, over the calls of a browser too", async () => {
  const { list, versions, orphans } = callAs(test.hub, "viewer").bucket;
  const at = { profileId, prefix: "p/" };
  const first = await list(at);
  const second = await list({ ...at, cursor: first.nextCursor });
  expect(keysOf([...first.objects, ...second.objects])).toEqual(ALL);
  expect([first.folders, second.folders, first.repeated, second.repeated]).toEqual([["p/sub/"], [], 0, 3]);
  const old = await versions(at);
  const older = await versions({ ...at, cursor: old.nextCursor });
  expect(keysOf([...old.versions, ...older.versions])).toEqual(ALL);
  const open = await orphans(at);
  const opener = await orphans({ ...at, cursor: open.nextCursor });
  expect(keysOf([...open.uploads, ...opener.uploads])).toEqual(ALL);
});

it("a download, a plan of a deletion and every other listing of the hub have each object once", async () => {
  const { folder } = callAs(test.hub, "operator").browserTransfers;
  const first = await folder({ profileId, prefix: "p/", cursor: null });
  const second = await folder({ profileId, prefix: "p/", cursor: first.cursor });
  expect([...first.files, ...second.files].map(({ path }) => path)).toEqual(["a", "b", "c"]);
  const { client, access } = await test.hub.stores.open(profileId);
  const found: string[] = [];
  for await (const { key } of listObjects(client, { bucket: access.bucket, prefix: "p/" })) found.push(key);
  expect(found).toEqual(ALL);
  const { plan, job } = callAs(test.hub, "admin").bucket;
  const asked = { action: "delete", from: "", items: [{ prefix: "p/" }], target: null } as const;
  const { id } = await plan({ profileId, ...asked, items: [...asked.items] });
  await expect.poll(async () => (await job({ id })).plan?.objects).toBe(3);
});
