import { afterEach, describe, expect, it } from "vitest";
import { listPage, uploadsPage, versionsPage } from "./browse.ts";
import { createControlClient } from "./client.ts";
import { deleteMany } from "./delete-many.ts";
import { traitsOf } from "../providers/providers.ts";
import { serveCanned, type Canned, type CannedServer, type Seen } from "../testing/canned-server.ts";

let server: CannedServer;
let close: () => void = () => undefined;
afterEach(async () => {
  close();
  await server[Symbol.asyncDispose]();
});

async function clientOf(answer: (seen: Seen) => Canned) {
  server = await serveCanned(answer);
  const { endpoint } = server;
  const client = createControlClient({
    access: { endpoint, region: "us-east-1", bucket: "b", addressing: "path", traits: traitsOf("other") },
    credential: { accessKeyId: "k", secretAccessKey: "s" },
  });
  close = () => client.destroy();
  return client;
}

const xml = (root: string, inner: string): Canned => ({
  headers: { "content-type": "application/xml" },
  body: `<?xml version="1.0" encoding="UTF-8"?><${root}>${inner}</${root}>`,
});
const at = (prefix: string) => ({
  bucket: "b",
  prefix,
  delimiter: "/" as const,
  from: null,
  startAfter: null,
  limit: 10,
  signal: new AbortController().signal,
});
const object = (key: string) =>
  `<Contents><Key>${key}</Key><Size>1</Size><ETag>&quot;e&quot;</ETag><LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>`;

describe("a page of a listing", () => {
  it("reads names as the store says it wrote them", async () => {
    const client = await clientOf((seen) =>
      xml(
        "ListBucketResult",
        seen.query.get("prefix") === "p/"
          ? `<EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>${object("p/a+b%2Bc%01")}<CommonPrefixes><Prefix>p/d+e/</Prefix></CommonPrefixes>`
          : `<IsTruncated>false</IsTruncated>${object("q/a+b%20")}`,
      ),
    );
    expect(await listPage(client, at("p/"))).toMatchObject({
      folders: ["p/d e/"],
      objects: [{ key: "p/a b+c\u0001" }],
    });
    expect(await listPage(client, at("q/"))).toMatchObject({ objects: [{ key: "q/a+b%20" }] });
  });

  it("tells names that are no UTF-8 apart where somebody looks, and refuses them where all objects are meant", async () => {
    const answer = `<EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>${object("p/caf%E9")}${object("p/b")}`;
    const client = await clientOf(() =>
      xml("ListBucketResult", `${answer}<CommonPrefixes><Prefix>p/%FF/</Prefix></CommonPrefixes>`),
    );
    expect(await listPage(client, { ...at("p/"), mayName: true })).toMatchObject({
      folders: [],
      objects: [{ key: "p/b" }],
      unreadable: ["p/caf\ufffd", "p/\ufffd/"],
    });
    await expect(listPage(client, at("p/"))).rejects.toMatchObject({ code: "UNEXPECTED_ANSWER" });
  });

  it.each([
    ["no word on whether more follows", object("p/a")],
    ["a page that does not say where the next one starts", "<IsTruncated>true</IsTruncated>"],
    ["a key of somewhere else", `<IsTruncated>false</IsTruncated>${object("elsewhere")}`],
    ["another bucket's", "<Name>other</Name><IsTruncated>false</IsTruncated>"],
    ["an encoding that is none", `<EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>${object("p/%zz")}`],
  ])("with %s is a fault and not a shorter folder", async (_, inner) => {
    const client = await clientOf(() => xml("ListBucketResult", inner));
    await expect(listPage(client, at("p/"))).rejects.toMatchObject({ code: "UNEXPECTED_ANSWER" });
  });
});

describe("versions", () => {
  it("come with what was deleted, by key and newest first, and go on where the page ended", async () => {
    const version = (id: string, day: string, latest = "false") =>
      `<Version><Key>p/a</Key><VersionId>${id}</VersionId><IsLatest>${latest}</IsLatest><Size>3</Size><ETag>&quot;e&quot;</ETag><LastModified>2026-01-0${day}T00:00:00.000Z</LastModified></Version>`;
    const marker = `<DeleteMarker><Key>p/a</Key><VersionId>m</VersionId><IsLatest>true</IsLatest><LastModified>2026-01-04T00:00:00.000Z</LastModified></DeleteMarker>`;
    const client = await clientOf((seen) =>
      seen.query.get("key-marker") === "p/a"
        ? xml("ListVersionsResult", `<IsTruncated>false</IsTruncated>${version("v0", "1")}`)
        : xml(
            "ListVersionsResult",
            `<IsTruncated>true</IsTruncated><NextKeyMarker>p/a</NextKeyMarker><NextVersionIdMarker>v1</NextVersionIdMarker>${version("v1", "2")}${version("v2", "3")}${marker}`,
          ),
    );
    const page = await versionsPage(client, at("p/"));
    expect(page.versions.map(({ versionId, isDeleteMarker }) => [versionId, isDeleteMarker])).toEqual([
      ["m", true],
      ["v2", false],
      ["v1", false],
    ]);
    const next = await versionsPage(client, { ...at("p/"), from: page.next });
    expect([next.versions[0]?.versionId, next.next]).toEqual(["v0", null]);
    expect(server.seen.at(-1)?.query.get("version-id-marker")).toBe("v1");
  });
});

/** Answers as a listing that writes names percent-encoded. */
const encoded = (root: string, inner: string): Canned =>
  xml(root, `<EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>${inner}`);

describe("names that are no UTF-8", () => {
  const day = "<LastModified>2026-01-01T00:00:00.000Z</LastModified>";
  const version = (key: string) => `<Version><Key>${key}</Key><VersionId>v</VersionId><Size>1</Size>${day}</Version>`;
  const marker = (key: string) => `<DeleteMarker><Key>${key}</Key><VersionId>m</VersionId>${day}</DeleteMarker>`;
  const upload = (key: string) => `<Upload><Key>${key}</Key><UploadId>u</UploadId></Upload>`;

  it("harm no other version and no other upload, and are told apart", async () => {
    const client = await clientOf((seen) =>
      seen.query.has("uploads")
        ? encoded("ListMultipartUploadsResult", upload("p/caf%E9") + upload("p/b%01"))
        : encoded(
            "ListVersionsResult",
            `${version("p/caf%E9")}${version("p/b")}${marker("p/d%FF")}${marker("p/c")}<CommonPrefixes><Prefix>p/%FE/</Prefix></CommonPrefixes>`,
          ),
    );
    const page = await versionsPage(client, at("p/"));
    expect(page.versions.map(({ key }) => key)).toEqual(["p/b", "p/c"]);
    expect([page.folders, page.unreadable]).toEqual([[], ["p/caf\ufffd", "p/d\ufffd", "p/\ufffd/"]]);
    const { uploads, unreadable } = await uploadsPage(client, at("p/"));
    expect([uploads.map(({ key }) => key), unreadable]).toEqual([["p/b\u0001"], ["p/caf\ufffd"]]);
  });

  it("at the end of a page do not keep the next one from being asked for", async () => {
    const client = await clientOf((seen) =>
      seen.query.has("key-marker")
        ? encoded("ListMultipartUploadsResult", upload("p/caf%E9") + upload("p/z"))
        : xml(
            "ListMultipartUploadsResult",
            `<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated><NextKeyMarker>p/caf%E9</NextKeyMarker><NextUploadIdMarker>u</NextUploadIdMarker>${upload("p/a")}${upload("p/caf%E9")}`,
          ),
    );
    const first = await uploadsPage(client, at("p/"));
    const second = await uploadsPage(client, { ...at("p/"), from: first.next });
    expect([...first.uploads, ...second.uploads].map(({ key }) => key)).toEqual(["p/a", "p/z"]);
    expect(server.seen.at(-1)?.query.has("upload-id-marker")).toBe(false);
  });

  it("a plus sign is asked for where it would be: among uploads and versions, which no listing of objects shows", async () => {
    const client = await clientOf((seen) => {
      if (seen.query.has("list-type")) return encoded("ListBucketResult", "");
      return seen.query.has("uploads")
        ? encoded("ListMultipartUploadsResult", upload("p/a+b"))
        : encoded("ListVersionsResult", marker("p/a+b"));
    });
    expect((await uploadsPage(client, at("p/"))).uploads.map(({ key }) => key)).toEqual(["p/a+b"]);
    expect((await versionsPage(client, at("p/"))).versions.map(({ key }) => key)).toEqual(["p/a+b"]);
  });
});

/** A store that encodes names where it is asked to, and never says so. */
const unsaid =
  (root: string, rowOf: (key: string) => string) =>
  ({ query }: Seen): Canned => {
    const after = query.get("key-marker") ?? query.get("continuation-token");
    const key = after === null ? "p/5% of epoch=5-step=600.ckpt" : "p/z%41+b";
    const marker = `<NextContinuationToken>${key}</NextContinuationToken><NextKeyMarker>${key}</NextKeyMarker>`;
    const written = query.get("encoding-type") === "url" ? encodeURIComponent(key).replaceAll("%2F", "/") : key;
    return xml(root, `<IsTruncated>${String(after === null)}</IsTruncated>${marker}${rowOf(written)}`);
  };

describe("names that are encoded without a word", () => {
  const day = "<LastModified>2026-01-01T00:00:00.000Z</LastModified>";

  it("are asked for again as they are: of uploads, versions and objects, to the end of the list", async () => {
    const lists = {
      uploads: unsaid(
        "ListMultipartUploadsResult",
        (key) => `<Upload><Key>${key}</Key><UploadId>u</UploadId></Upload>`,
      ),
      versions: unsaid("ListVersionsResult", (key) => `<Version><Key>${key}</Key><Size>1</Size>${day}</Version>`),
      "list-type": unsaid("ListBucketResult", object),
    };
    const client = await clientOf((seen) => {
      const [, answer] = Object.entries(lists).find(([name]) => seen.query.has(name)) ?? [];
      return answer?.(seen) ?? { status: 404 };
    });
    const asked = { ...at("p/"), delimiter: "" as const };
    const all = ["p/5% of epoch=5-step=600.ckpt", "p/z%41+b"];
    const uploads = await uploadsPage(client, asked);
    const moreUploads = await uploadsPage(client, { ...asked, from: uploads.next });
    expect([...uploads.uploads, ...moreUploads.uploads].map(({ key }) => key)).toEqual(all);
    const versions = await versionsPage(client, asked);
    const moreVersions = await versionsPage(client, { ...asked, from: versions.next });
    expect([...versions.versions, ...moreVersions.versions].map(({ key }) => key)).toEqual(all);
    const objects = await listPage(client, asked);
    const moreObjects = await listPage(client, { ...asked, from: objects.next });
    expect([...objects.objects, ...moreObjects.objects].map(({ key }) => key)).toEqual(all);
    expect([moreUploads.next, moreVersions.next, moreObjects.next]).toEqual([null, null, null]);
  });

  it("are asked for once where nothing in them is encoded", async () => {
    const client = await clientOf(() => xml("ListBucketResult", `<IsTruncated>false</IsTruncated>${object("p/a+b")}`));
    expect(await listPage(client, at("p/"))).toMatchObject({ objects: [{ key: "p/a+b" }] });
    expect(server.seen).toHaveLength(1);
  });

  it.each([
    ["as it is", "p/c+d %41"],
    ["encoded", "p/c%2Bd%20%2541"],
  ])("a marker that is %s beside encoded names leads to the next page", async (_, marker) => {
    const version = (key: string) => `<Version><Key>${key}</Key><VersionId>v</VersionId><Size>1</Size>${day}</Version>`;
    const client = await clientOf(() =>
      xml(
        "ListVersionsResult",
        `<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated><NextKeyMarker>${marker}</NextKeyMarker>${version("p/a%2Bb")}${version("p/c%2Bd%20%2541")}`,
      ),
    );
    const { next } = await versionsPage(client, at("p/"));
    await versionsPage(client, { ...at("p/"), from: next }).catch(() => undefined);
    expect(server.seen.at(-1)?.query.get("key-marker")).toBe("p/c+d %41");
  });
});

describe("unfinished uploads", () => {
  it("of other prefixes, which some stores list all the same, are left out", async () => {
    const upload = (key: string) => `<Upload><Key>${key}</Key><UploadId>u</UploadId></Upload>`;
    const client = await clientOf(() =>
      xml("ListMultipartUploadsResult", `<IsTruncated>false</IsTruncated>${upload("p/a")}${upload("x/b")}`),
    );
    const { uploads } = await uploadsPage(client, at("p/"));
    expect(uploads).toEqual([{ key: "p/a", uploadId: "u", startedAt: 0 }]);
  });
});

describe("deleting many", () => {
  it("takes nothing for deleted of which the store says nothing, and sends the sum that every store takes", async () => {
    const client = await clientOf(() =>
      xml(
        "DeleteResult",
        "<Deleted><Key>a</Key></Deleted><Error><Key>b</Key><Code>AccessDenied</Code></Error><Error><Key>d</Key><Code>NoSuchKey</Code></Error>",
      ),
    );
    const failures = await deleteMany(client, "b", ["a", "b", "c", "d"]);
    expect([...failures].map(([key, { code }]) => [key, code])).toEqual([
      ["b", "ACCESS_DENIED"],
      ["c", "UNEXPECTED_ANSWER"],
    ]);
    const [seen] = server.seen;
    expect(seen?.headers["content-md5"]).toBeDefined();
    expect(Object.keys(seen?.headers ?? {}).filter((name) => name.includes("checksum"))).toEqual([]);
  });

  it("deletes one by one what XML cannot name, and all of it where the store has no such request", async () => {
    const client = await clientOf((seen) =>
      seen.method === "POST"
        ? {
            status: 501,
            headers: { "content-type": "application/xml" },
            body: "<Error><Code>NotImplemented</Code></Error>",
          }
        : { status: 204 },
    );
    expect(await deleteMany(client, "b", ["plain", "control\u0001", " space "])).toEqual(new Map());
    const singles = server.seen.filter(({ method }) => method === "DELETE").map(({ path }) => path);
    expect(new Set(singles)).toEqual(new Set(["/b/control%01", "/b/%20space%20", "/b/plain"]));
  });
});
