import { afterEach, describe, expect, it } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { createInspector, INSPECTOR_LIMITS, type Inspector } from "./inspector.ts";
import { inspectFile } from "./inspect-file.ts";
import { sourceOfBytes } from "./source.ts";

let inspector: Inspector;
afterEach(() => inspector.close());

const text = sourceOfBytes(Buffer.from('{"loss": 1}'));

describe("looking into a file in a thread", () => {
  it("finds what looking into it here finds, also beside it", async () => {
    inspector = createInspector();
    const tree = sourceOfBytes(
      Buffer.from(
        JSON.stringify({
          tree_metadata: { w: { key_metadata: [{ key: "w" }], value_metadata: { value_type: "jax.Array" } } },
          use_ocdbt: false,
        }),
      ),
    );
    const zarr = sourceOfBytes(Buffer.from(JSON.stringify({ shape: [2, 3], dtype: "<f4" })));
    const beside = (path: string) => Promise.resolve(path === "w/.zarray" ? zarr : null);
    const found = await inspector.inspect("_METADATA", tree, beside);
    expect(found.tensors).toMatchObject([{ name: "w", shape: [2, 3] }]);
    expect(found).toEqual(await inspectFile("_METADATA", tree, beside));
    expect(await inspector.inspect("a.json", text)).toEqual(await inspectFile("a.json", text));
  });

  it("throws what the source throws", async () => {
    inspector = createInspector();
    const fault = new Fault("NO_SUCH_KEY");
    const source = { sizeBytes: 9, read: () => Promise.reject(fault) };
    await expect(inspector.inspect("a.json", source)).rejects.toBe(fault);
    expect((await inspector.inspect("a.json", text)).format).toBe("json");
  });

  it("throws that a source delivers less than it was asked for", async () => {
    inspector = createInspector();
    const source = { sizeBytes: 9, read: () => Promise.resolve(new Uint8Array(2)) };
    await expect(inspector.inspect("a.json", source)).rejects.toMatchObject({ code: "TRUNCATED" });
  });

  it.each([
    ["loop", "took longer than"],
    ["fill", "more memory than"],
    ["exit", "was ended"],
    ["throw", "ended unexpectedly"],
  ])("answers with a sentence when it would %s, and goes on", async (what, says) => {
    const limits = { ...INSPECTOR_LIMITS, computeMs: what === "loop" ? 200 : 30_000, memoryMiB: 48 };
    inspector = createInspector(limits, new URL("../testing/hostile-thread.ts", import.meta.url));
    const { fault, format, tensors } = await inspector.inspect(what, text);
    expect([fault?.code, format, tensors]).toEqual(["TOO_MUCH_INSIDE", "binary", []]);
    expect(fault?.detail).toContain(says);
    expect((await inspector.inspect("other", text)).fault?.code).toBe("MALFORMED");
  });

  it("looks into several at once, each with its own bytes", async () => {
    inspector = createInspector();
    const all = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        inspector.inspect("a.txt", sourceOfBytes(Buffer.from(`text number ${index}`))),
      ),
    );
    expect(all.map(({ preview }) => preview)).toEqual(all.map((_, index) => `text number ${index}`));
  });
});
