import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openTester, type StoreTester } from "./store-tester.ts";

let tester: StoreTester;
let bucket = "";
let count = 0;
beforeAll(async () => {
  tester = await openTester();
});
afterAll(() => tester.close());
beforeEach(async () => {
  bucket = `/kept${count++}`;
  await tester.send({ method: "PUT", path: bucket });
  const body = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
  expect((await tester.send({ method: "PUT", path: bucket, query: "versioning=", body })).status).toBe(200);
});

const put = async (key: string, body: string): Promise<string> =>
  String((await tester.send({ method: "PUT", path: `${bucket}/${key}`, body })).headers["x-amz-version-id"]);
const get = (key: string, query = "") => tester.send({ path: `${bucket}/${key}`, query });
const remove = (key: string, query = "") => tester.send({ method: "DELETE", path: `${bucket}/${key}`, query });

/** Each version as its key, what it is, and a star at the newest. */
async function listed(query = ""): Promise<string[]> {
  const { text } = await tester.send({ path: bucket, query: query === "" ? "versions=" : `${query}&versions=` });
  return [...text.matchAll(/<(Version|DeleteMarker)>(.*?)<\/\1>/g)].map(([, kind, inner = ""]) => {
    const key = /<Key>(.*?)<\/Key>/.exec(inner)?.[1];
    const size = /<Size>(\d+)<\/Size>/.exec(inner)?.[1];
    return `${key} ${kind === "Version" ? size : "deleted"}${inner.includes("<IsLatest>true<") ? "*" : ""}`;
  });
}
const idsOf = async (): Promise<string[]> => {
  const { text } = await tester.send({ path: bucket, query: "versions=" });
  return [...text.matchAll(/<VersionId>(.*?)<\/VersionId>/g)].map(([, id = ""]) => id);
};

describe("a bucket that keeps versions", () => {
  it("says so, and a bucket that does not knows nothing of them", async () => {
    expect((await tester.send({ path: bucket, query: "versioning=" })).text).toContain("<Status>Enabled</Status>");
    await tester.send({ method: "PUT", path: "/plain" });
    expect((await tester.send({ path: "/plain", query: "versions=" })).code).toBe("NotImplemented");
    await tester.send({ method: "PUT", path: "/plain/a", body: "x" });
    expect((await tester.send({ path: "/plain/a", query: "versionId=1" })).code).toBe("NotImplemented");
    const body = "<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>";
    expect((await tester.send({ method: "PUT", path: bucket, query: "versioning=", body })).code).toBe(
      "NotImplemented",
    );
  });

  it("keeps what was written over and what was deleted, and gives each back by its id", async () => {
    const first = await put("a", "one");
    const second = await put("a", "two!");
    expect([(await get("a")).text, (await get("a", `versionId=${first}`)).text]).toEqual(["two!", "one"]);
    expect((await remove("a")).headers["x-amz-delete-marker"]).toBe("true");
    expect((await get("a")).code).toBe("NoSuchKey");
    expect((await get("a", `versionId=${second}`)).text).toBe("two!");
    expect(await listed()).toEqual(["a deleted*", "a 4", "a 3"]);
    const [mark = ""] = await idsOf();
    expect((await get("a", `versionId=${mark}`)).status).toBe(405);
    expect((await get("a", "versionId=nothing")).code).toBe("NoSuchVersion");
  });

  it("has an object again when the mark of its deletion is deleted", async () => {
    await put("a", "one");
    await remove("a");
    const [mark = ""] = await idsOf();
    const answer = await remove("a", `versionId=${mark}`);
    expect([answer.status, answer.headers["x-amz-delete-marker"]]).toEqual([204, "true"]);
    expect([(await get("a")).text, await listed()]).toEqual(["one", ["a 3*"]]);
  });

  it("loses a version for good when that is deleted, and the one below comes up", async () => {
    await put("a", "one");
    const second = await put("a", "two!");
    await remove("a", `versionId=${second}`);
    expect([(await get("a")).text, await listed()]).toEqual(["one", ["a 3*"]]);
    expect((await tester.send({ method: "DELETE", path: bucket })).code).toBe("BucketNotEmpty");
    await remove("a", `versionId=${(await idsOf())[0]}`);
    expect((await tester.send({ method: "DELETE", path: bucket })).status).toBe(204);
  });

  it("takes an older version as the source of a copy, also onto its own key, and not the newest onto itself", async () => {
    const first = await put("a", "one");
    await put("a", "two!");
    const copy = (source: string) =>
      tester.send({ method: "PUT", path: `${bucket}/a`, signedHeaders: { "x-amz-copy-source": source } });
    expect((await copy(`${bucket}/a`)).code).toBe("InvalidRequest");
    expect((await copy(`${bucket}/a?versionId=${first}`)).status).toBe(200);
    expect([(await get("a")).text, await listed()]).toEqual(["one", ["a 3*", "a 4", "a 3"]]);
  });

  it("is listed by pages and by folders", async () => {
    for (const body of ["1", "22", "333"]) await put("a", body);
    await put("b/c", "x");
    await put("d", "4444");
    const all = ["a 3*", "a 2", "a 1", "b/c 1*", "d 4*"];
    expect(await listed()).toEqual(all);
    const seen: string[] = [];
    let at = "";
    for (let page = 0; page < 9; page++) {
      const query = `max-keys=2${at}&versions=`;
      const { text } = await tester.send({ path: bucket, query: query.split("&").toSorted().join("&") });
      seen.push(...(await listed(`max-keys=2${at}`)));
      const [key, id] = ["NextKeyMarker", "NextVersionIdMarker"].map(
        (tag) => new RegExp(`<${tag}>(.*?)<`).exec(text)?.[1],
      );
      if (key === undefined) break;
      at = `&key-marker=${encodeURIComponent(key)}&version-id-marker=${id}`;
    }
    expect(seen).toEqual(all);
    const grouped = await tester.send({ path: bucket, query: "delimiter=%2F&versions=" });
    expect(grouped.text).toContain("<CommonPrefixes><Prefix>b/</Prefix></CommonPrefixes>");
    expect(await listed("delimiter=%2F")).toEqual(["a 3*", "a 2", "a 1", "d 4*"]);
  });
});
