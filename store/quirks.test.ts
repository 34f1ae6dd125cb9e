import { describe, expect, it } from "vitest";
import { readQuirks } from "./quirks.ts";
import { STRICT_PROFILES } from "./strict-profiles.ts";
import { openTester, type StoreTester } from "./store-tester.ts";

async function withQuirks(quirks: string, work: (tester: StoreTester) => Promise<void>): Promise<void> {
  const tester = await openTester(["--quirks", quirks]);
  try {
    await work(tester);
  } finally {
    await tester.close();
  }
}

async function upload(tester: StoreTester, bodies: readonly string[]): Promise<string> {
  const created = await tester.send({ method: "POST", path: "/box/k", query: "uploads=" });
  const uploadId = /<UploadId>([^<]*)/.exec(created.text)?.[1] ?? "";
  const lines: string[] = [];
  for (const [index, body] of bodies.entries()) {
    const query = `partNumber=${index + 1}&uploadId=${uploadId}`;
    const sent = await tester.send({ method: "PUT", path: "/box/k", query, body });
    if (sent.status !== 200) return sent.code;
    lines.push(`<Part><PartNumber>${index + 1}</PartNumber><ETag>${sent.headers.etag}</ETag></Part>`);
  }
  const body = `<CompleteMultipartUpload>${lines.join("")}</CompleteMultipartUpload>`;
  const done = await tester.send({ method: "POST", path: "/box/k", query: `uploadId=${uploadId}`, body });
  return done.code === "" ? "done" : done.code;
}

describe("a quirk", () => {
  it("can demand parts of one size and allow only so many", async () => {
    await withQuirks("equal-parts,max-parts=3,min-part-bytes=1", async (tester) => {
      expect(await upload(tester, ["aaa", "bbb", "c"])).toBe("done");
      expect(await upload(tester, ["aaa", "bb", "c"])).toBe("InvalidPart");
      expect(await upload(tester, ["a", "a", "aaa"])).toBe("InvalidPart");
      expect(await upload(tester, ["a", "a", "a", "a"])).toBe("InvalidArgument");
    });
  });

  it("can refuse checksum headers, ignore conditions and give ETags that are no MD5", async () => {
    await withQuirks("reject-checksums,ignore-conditions,opaque-etags", async (tester) => {
      const put = (signedHeaders: Record<string, string>) =>
        tester.send({ method: "PUT", path: "/box/k", body: "x", signedHeaders });
      expect((await put({ "x-amz-checksum-crc32": "AAAAAA==" })).text).toContain("Unsupported header");
      expect((await put({ "if-none-match": "*" })).status).toBe(200);
      const again = await put({ "if-none-match": "*" });
      expect([again.status, String(again.headers.etag).startsWith('"opaque-')]).toEqual([200, true]);
    });
  });

  it("can insist on a region and say which", async () => {
    await withQuirks("region=eu-west-9", async (tester) => {
      const wrong = await tester.send({ path: "/box", query: "location=" });
      expect([wrong.code, wrong.headers["x-amz-bucket-region"]]).toEqual(["AuthorizationHeaderMalformed", "eu-west-9"]);
      const right = await tester.send({ path: "/box", query: "location=", region: "eu-west-9" });
      expect(right.text).toContain(">eu-west-9<");
    });
  });

  it.each([
    ["reject-checksums", 400, "InvalidArgument"],
    ["reject-checksums=not-implemented", 501, "NotImplemented"],
    ["reject-checksums=signature", 403, "SignatureDoesNotMatch"],
  ])("can refuse checksum headers in another way: %s", async (quirks, status, code) => {
    await withQuirks(quirks, async (tester) => {
      for (const header of ["x-amz-checksum-crc32", "x-amz-sdk-checksum-algorithm", "x-amz-checksum-mode"]) {
        const given = { method: "PUT", path: "/box/k", body: "x", signedHeaders: { [header]: "AAAAAA==" } };
        const refused = await tester.send(given);
        expect([refused.status, refused.code]).toEqual([status, code]);
      }
      const md5 = { "content-md5": "nd1OOVyehA5l7xAWASzs5Q==" };
      expect((await tester.send({ method: "PUT", path: "/box/k", body: "x", signedHeaders: md5 })).code).toBe(
        "BadDigest",
      );
    });
  });

  it("can overlook checksum headers, and refuse even a Content-MD5", async () => {
    await withQuirks("ignore-checksums,reject-md5", async (tester) => {
      const put = (signedHeaders: Record<string, string>) =>
        tester.send({ method: "PUT", path: "/box/k", body: "x", signedHeaders });
      const overlooked = await put({ "x-amz-checksum-crc32": "AAAAAA==" });
      expect([overlooked.status, overlooked.headers["x-amz-checksum-crc32"]]).toEqual([200, undefined]);
      expect((await put({ "content-md5": "nd1OOVyehA5l7xAWASzs5Q==" })).status).toBe(501);
    });
  });

  it("can let a key be written only so often", async () => {
    await withQuirks("write-gap-ms=60000", async (tester) => {
      const put = (path: string) => tester.send({ method: "PUT", path, body: "x" });
      expect((await put("/box/a")).status).toBe(200);
      expect((await put("/box/b")).status).toBe(200);
      expect([(await put("/box/a")).status, (await put("/box/a")).code]).toEqual([429, "TooManyRequests"]);
    });
  });

  it("can keep to itself when a connection ends", async () => {
    const hint = async (quirks: string): Promise<unknown> => {
      let found: unknown;
      await withQuirks(quirks, async (tester) => {
        found = (await tester.send({ path: "/box", query: "location=" })).headers["keep-alive"];
      });
      return found;
    };
    expect(await hint("keep-alive-ms=2000")).toBe("timeout=2");
    expect(await hint("keep-alive-ms=2000,hide-keep-alive")).toBeUndefined();
  });

  it("can list open uploads only under a folder", async () => {
    await withQuirks("slash-prefixes", async (tester) => {
      const listed = (prefix: string) => tester.send({ path: "/box", query: `prefix=${prefix}&uploads=` });
      expect((await listed("a%2F")).status).toBe(200);
      expect((await listed("a")).code).toBe("NotImplemented");
    });
  });

  it("is one of many that a provider's name stands for, and later ones win", () => {
    expect(readQuirks("b2,no-continue")).toMatchObject({ quirks: { rejectChecksums: "argument", noContinue: "on" } });
    expect(readQuirks("scaleway,max-parts=7")).toMatchObject({ quirks: { maxParts: 7, rejectChunked: "on" } });
    expect(readQuirks("aws")).toEqual(readQuirks(""));
    expect(Object.keys(STRICT_PROFILES)).toHaveLength(14);
  });

  it("is counted against the client that sends what some stores refuse", async () => {
    await withQuirks("", async (tester) => {
      await tester.send({ method: "PUT", path: "/box/k", body: "x", headers: { expect: "100-continue" } });
      await tester.send({ path: "/box/k", query: "x-id=GetObject" });
      await tester.send({ path: "/box/k" });
      expect((await tester.control("GET", "/counters"))["risky"]).toEqual({ expect: 1, "x-id": 1 });
      // Requests are written down when their answers have left.
      const risky = async () => {
        const { requests } = (await tester.control("GET", "/log")) as { requests: { risky: string[] }[] };
        return requests.map((one) => one.risky);
      };
      await expect.poll(risky).toEqual([["expect"], ["x-id"], []]);
      await tester.control("DELETE", "/counters");
      expect((await tester.control("GET", "/counters"))["risky"]).toEqual({});
    });
  });

  it("that is not known is refused with the list of those that are", () => {
    expect(readQuirks("equal-parts, max-parts=7")).toMatchObject({ quirks: { equalParts: "on", maxParts: 7 } });
    const wrongs = [
      "equalparts",
      "max-parts",
      "max-parts=x",
      "equal-parts=1",
      "toString",
      "b2=1",
      "reject-checksums=418",
    ];
    for (const wrong of wrongs) {
      expect(readQuirks(wrong)).toEqual({ problem: expect.stringMatching(/is not known. Use one of: equal-parts/) });
    }
  });
});
