import { describe, expect, it } from "vitest";
import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { packPath } from "#protocol/checkpoint/packing.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { fault } from "#server/testing/match-fault.ts";
import { callAs } from "#server/testing/open-test-hub.ts";
import { claim, node, pairForEach, test } from "#server/testing/pair-for-each.ts";
import { announce, keyOf, manifestOf, type Staged } from "#server/testing/stage-checkpoint.ts";

describe("committing a pack", () => {
  pairForEach();

  const texts = ["first", "second file", "3"];
  const stored = texts.join("");

  async function stagePack(): Promise<{ staged: Staged; manifest: Manifest; key: string }> {
    await claim(node);
    const files = texts.map((text, index) => ({ path: `f${index}`, text }));
    const staged = await announce(test.hub, node, { epoch: 1, step: 1, files });
    const key = keyOf(staged, packPath(1));
    const { requests } = await callAs(test.hub, node.caller).node.sign({
      operations: [{ op: "put", key, sizeBytes: stored.length, crc32: crc32Hex(Buffer.from(stored)), nonce: "n" }],
    });
    const [request] = requests;
    if (request === undefined) throw new Error("nothing was signed");
    const { "content-length": _, ...headers } = request.headers;
    const answer = await fetch(request.url, { method: request.method, headers, body: stored });
    const etag = answer.headers.get("etag") ?? "";
    const alone = manifestOf(test.hub, node, { staged, etags: new Map() });
    let offset = 0;
    const packed = alone.files.map((file) => {
      const extents = file.extents.map((extent) => ({ ...extent, key, offset, etag }));
      offset += file.sizeBytes;
      return { ...file, extents };
    });
    return { staged, manifest: { ...alone, files: packed }, key };
  }
  const commit = (manifest: Manifest) => callAs(test.hub, node.caller).node.commit({ manifest });
  /** The manifest with other offsets for its files. */
  const at = (manifest: Manifest, offsets: readonly number[]): Manifest => ({
    ...manifest,
    files: manifest.files.map((file, index) => ({
      ...file,
      extents: file.extents.map((extent) => ({ ...extent, offset: offsets[index] ?? 0 })),
    })),
  });

  it("makes it safe, shows its files, and lets exactly it be read", async () => {
    const { manifest, staged, key } = await stagePack();
    await commit(manifest);
    const view = await callAs(test.hub, "viewer").checkpoints.get({ id: staged.checkpointId });
    expect(view).toMatchObject({ state: "complete", fileCount: 3 });
    expect(view.files.map(({ path }) => path)).toEqual(["f0", "f1", "f2"]);
    const get = { op: "get", offset: 0, length: 5, etag: null } as const;
    const sign = (name: string) => callAs(test.hub, node.caller).node.sign({ operations: [{ ...get, key: name }] });
    expect((await sign(key)).requests).toHaveLength(1);
    await expect(sign(keyOf(staged, packPath(2)))).rejects.toEqual(fault("NOT_THIS_NODES"));
  });

  it("refuses files that lie outside of it, over each other, in the same bytes, or leave some to nobody", async () => {
    const { manifest, staged } = await stagePack();
    await expect(commit(at(manifest, [0, 5, 16 + 4]))).rejects.toEqual(fault("BAD_INPUT"));
    await expect(commit(at(manifest, [0, 4, 15]))).rejects.toEqual(fault("BAD_INPUT"));
    await expect(commit(at(manifest, [0, 0, 11]))).rejects.toEqual(fault("BAD_INPUT"));
    const { state } = await callAs(test.hub, "viewer").checkpoints.get({ id: staged.checkpointId });
    expect(state).toBe("uploading");
    await commit(manifest);
  });

  it("refuses a pack that has other bytes in the bucket than its files add up to", async () => {
    const { manifest, key } = await stagePack();
    /** The last file in another object. */
    const moved = (key: string): Manifest => ({
      ...manifest,
      files: manifest.files.map((file, index) =>
        index < 2 ? file : { ...file, extents: file.extents.map((extent) => ({ ...extent, key, offset: 0 })) },
      ),
    });
    await expect(commit(moved(key.replace("00001.pack", "00002.pack")))).rejects.toEqual(fault("SIZE_MISMATCH"));
    await expect(commit(moved("team/runs/llama/e000001/bbbbbbbbbbbb/x"))).rejects.toEqual(fault("NOT_THIS_NODES"));
  });
});
