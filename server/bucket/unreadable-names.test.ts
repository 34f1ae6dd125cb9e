import { afterAll, beforeAll, expect, it } from "vitest";
import { serveCanned, type Canned, type CannedServer } from "#storage/testing/canned-server.ts";
import { WALK_LIMITS } from "#protocol/bucket.ts";
import { findObjects } from "../adopt/find-objects.ts";
import { addTestProfile, callAs, openTestHub, type TestHub } from "../hub/open-test-hub.ts";

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

let server: CannedServer;
let test: TestHub;
let profileId = "";
beforeAll(async () => {
  server = await serveCanned(({ query }) => {
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
  expect([found.objects.map(({ key }) => key), found.unreadable]).toEqual([["p/fine.json"], shown]);
});
