import { afterAll, beforeAll, expect, it } from "vitest";
import { addTestProfile, callAs, openTestHub, type TestHub } from "#server/testing/open-test-hub.ts";
import { serveCanned, type Canned, type CannedServer } from "#storage/testing/canned-server.ts";
import { findObjects } from "../external-checkpoints/find-objects.ts";

/** A bucket of a store that says `EncodingType` url and leaves `+` as it is, and one that writes a space so. */
const DAY = "<LastModified>2026-01-01T00:00:00.000Z</LastModified>";
const ROWS: Record<string, [root: string, rowOf: (key: string) => string]> = {
  "list-type": [
    "ListBucketResult",
    (key) => `<Contents><Key>${key}</Key><Size>3</Size><ETag>&quot;e&quot;</ETag>${DAY}</Contents>`,
  ],
  versions: ["ListVersionsResult", (key) => `<Version><Key>${key}</Key><Size>3</Size>${DAY}</Version>`],
  uploads: ["ListMultipartUploadsResult", (key) => `<Upload><Key>${key}</Key><UploadId>u</UploadId></Upload>`],
  uploadId: ["ListPartsResult", () => ""],
};
const FOLDER = "<CommonPrefixes><Prefix>p/x+y/</Prefix></CommonPrefixes>";

/** Characters that `+` stands for in the names of this store. */
let plus = "+";
let server: CannedServer;
let test: TestHub;
let profileId = "";
beforeAll(async () => {
  server = await serveCanned(({ query }): Canned => {
    const [, [root, rowOf] = ["", () => ""]] = Object.entries(ROWS).find(([name]) => query.has(name)) ?? [];
    const prefix = query.get("prefix") ?? "";
    // Nothing but its `+` tells what they are, so that the store has to be asked.
    const keys = [`p/a${plus}b.json`, `p/x${plus}y/c`].filter((key) => key.startsWith(prefix));
    const isFolded = query.get("delimiter") === "/";
    const rows = keys.filter((key) => !isFolded || !key.endsWith("/c")).map((key) => rowOf(key.replaceAll(" ", "+")));
    const folders = isFolded && prefix === "p/" ? FOLDER : "";
    const body = `<${root}><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>${rows.join("")}${folders}</${root}>`;
    return { headers: { "content-type": "application/xml" }, body };
  });
  test = await openTestHub();
  profileId = await addTestProfile(test.hub, server.endpoint);
});
afterAll(async () => {
  await test.close();
  await server[Symbol.asyncDispose]();
});

it.each(["+", " "])("every list of a hub reads names in which a plus sign is %j", async (sign) => {
  plus = sign;
  const [file, deep] = [`p/a${sign}b.json`, `p/x${sign}y/c`];
  const { bucket, browserTransfers } = callAs(test.hub, "operator");
  const at = { profileId, prefix: "p/" };
  const { signal } = new AbortController();
  expect(await bucket.list(at)).toMatchObject({ objects: [{ key: file }], folders: [`p/x${sign}y/`] });
  expect(await bucket.walk({ ...at, words: "" })).toMatchObject({ looked: { objects: 2 } });
  expect(await bucket.versions(at)).toMatchObject({ versions: [{ key: file }], folders: [`p/x${sign}y/`] });
  const { uploads } = await bucket.orphans(at);
  expect(uploads.map(({ key }) => key)).toEqual([file, deep]);
  const { files } = await browserTransfers.folder({ ...at, cursor: null });
  expect(files.map(({ path }) => path)).toEqual([file, deep].map((key) => key.slice("p/".length)));
  const store = await test.hub.stores.open(profileId);
  const found = await findObjects(test.hub, { store, place: "p/", kind: "folder", signal });
  expect(found.objects.map(({ key }) => key)).toEqual([file]);
});
