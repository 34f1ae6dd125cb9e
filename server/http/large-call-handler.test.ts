import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BARE_MANIFEST } from "../testing/bare-manifest.ts";
import { storedTextOf } from "../core/api/parsed-elsewhere.ts";
import { hashOf } from "../platform/random-id.ts";
import { hubRouter } from "../router.ts";
import { inputsOf } from "../core/api/limit-issues.ts";
import { createInputReader } from "../core/api/input-reader.ts";
import { LARGE_INPUTS } from "../core/api/large-inputs.ts";
import { addTestNode, addTestProfile, openTestHub, type TestHub } from "../testing/open-test-hub.ts";
import { serve, type Served } from "./serve.ts";

const FILES = 20_000;
const extent = (index: number) => ({ key: `k${index}`, offset: 0, length: 2, crc32: "00000000", etag: "e" });
const files = Array.from({ length: FILES }, (_, index) => ({
  path: `folder/file-${index}`,
  sizeBytes: 2,
  mtimeMs: 0,
  sha256: null,
  extents: [extent(index)],
}));
const manifest = {
  ...BARE_MANIFEST,
  metrics: { loss: 1 },
  sizeBytes: 2 * FILES,
  files,
};

it("large inputs have the schemas of their procedures", () => {
  const inputs = new Map(
    inputsOf(hubRouter)
      .entries()
      .flatMap(([schema, paths]) => paths.map((path) => [path, schema])),
  );
  for (const [path, { schema }] of LARGE_INPUTS) expect(inputs.get(path), path).toBe(schema);
});

describe("a large input that a thread reads", () => {
  const reader = createInputReader();
  const read = (path: string, value: unknown) =>
    reader.read({ caller: "a", path, bytes: Buffer.from(typeof value === "string" ? value : JSON.stringify(value)) });
  afterEach(() => reader.close());

  it("is what its schema makes of it, and is not parsed again", async () => {
    const schema = LARGE_INPUTS.get("node.commit")?.schema;
    const found = (await read("node.commit", { manifest: { ...manifest, unknown: 1 } })) as { manifest: object };
    expect(found).toEqual({ manifest });
    // The schema of the router makes a new object of everything that it parses.
    expect(schema?.parse(found)).toBe(found);
    expect(schema?.parse({ manifest })).not.toBe(found);
    expect(storedTextOf(found.manifest)).toEqual({
      text: JSON.stringify(manifest),
      sha256: hashOf(JSON.stringify(manifest)),
    });
  });

  it("is refused with the first thing that is wrong, and the next one is read", async () => {
    const bad = { manifest: { ...manifest, files: [...files.slice(1), { path: 1 }] } };
    await expect(read("node.commit", bad)).rejects.toMatchObject({
      cause: { code: "BAD_INPUT", context: { subject: expect.stringContaining("manifest.files.") } },
    });
    await expect(read("node.commit", "[".repeat(500_000))).rejects.toMatchObject({ code: "BAD_REQUEST" });
    expect(await read("node.commit", { manifest })).toEqual({ manifest });
  });

  it("of one caller that asks for many does not delay those of others", async () => {
    const asked = Array.from({ length: 6 }, (_, index) =>
      reader.read({
        caller: "much",
        path: "node.commit",
        bytes: Buffer.from(index === 5 ? "{" : JSON.stringify({ manifest })),
      }),
    );
    const ended: string[] = [];
    const all = asked.map((one, index) =>
      one.then(
        () => ended.push(`much ${index}`),
        () => ended.push(`refused ${index}`),
      ),
    );
    await read("node.commit", { manifest });
    ended.push("other");
    await Promise.all(all);
    expect(ended.indexOf("other")).toBeLessThan(4);
    expect(ended).toContain("refused 5");
  });
});

describe("a large call", () => {
  let test: TestHub;
  let served: Served;
  let node: Awaited<ReturnType<typeof addTestNode>>;
  beforeEach(async () => {
    test = await openTestHub();
    node = await addTestNode(test.hub, await addTestProfile(test.hub, "http://127.0.0.1:9"), "gpu-1");
    served = await serve(test.hub, async (_request, response) => void response.end(), 0);
  });
  afterEach(async () => {
    await served.close(0);
    await test.close();
  });
  const post = async (path: string, body: string, headers: Record<string, string>) => {
    const url = `${served.url}/api/trpc/${path}`;
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    });
    const told = (await answer.json()) as { error?: { data: { fault: { code: string } } } };
    return [answer.status, told.error?.data.fault.code];
  };

  it("is read once its sender was let in, and does what a small one does", async () => {
    const body = JSON.stringify({ manifest });
    expect(await post("node.commit", body, {})).toEqual([401, "NODE_UNKNOWN"]);
    const mine = { authorization: `Bearer ${node.credential}` };
    expect(await post("node.commit", body, mine)).toEqual([404, "NOT_FOUND"]);
    expect(await post("node.commit", body.replace("tidemark.checkpoint", "other"), mine)).toEqual([400, "BAD_INPUT"]);
    expect(await post("node.commitCopy", body, mine)).toEqual([404, "NOT_FOUND"]);
    const long = JSON.stringify({ events: [{ tail: "x".repeat(5_000_000) }] });
    expect(await post("node.record", long, mine)).toEqual([413, "TOO_LARGE"]);
    expect(await post("node.sign", long, mine)).toEqual([413, "TOO_LARGE"]);
  });
});
