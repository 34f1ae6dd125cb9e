import { describe, expect, it } from "vitest";
import { readQuirks } from "./quirks.ts";
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

  it("that is not known is refused with the list of those that are", () => {
    expect(readQuirks("equal-parts, max-parts=7")).toMatchObject({ quirks: { equalParts: "on", maxParts: 7 } });
    for (const wrong of ["equalparts", "max-parts", "max-parts=x", "equal-parts=1", "toString"]) {
      expect(readQuirks(wrong)).toEqual({ problem: expect.stringMatching(/is not known. Use one of: equal-parts/) });
    }
  });
});
