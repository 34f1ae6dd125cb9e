import { describe, expect, it } from "vitest";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { putObjectText } from "#storage/s3/objects.ts";
import { claim, node, pairForEach, profileId, test } from "#server/testing/pair-for-each.ts";
import { keyOf, makeSafe } from "#server/testing/stage-checkpoint.ts";
import { readStored } from "#server/core/checkpoints/manifest/stored-manifest.ts";
import { fault } from "#server/testing/match-fault.ts";
import { callAs } from "#server/testing/open-test-hub.ts";

pairForEach();

const asked = (role: "viewer" | "operator") => callAs(test.hub, role).browserTransfers;

async function putObject(key: string, text: string): Promise<void> {
  const { client, access } = await test.hub.stores.open(profileId);
  await putObjectText(client, { bucket: access.bucket, key, text });
}

describe("a download to a browser", () => {
  it("of a checkpoint is for everybody who sees checkpoints, with the checksums of its manifest", async () => {
    await claim(node);
    const staged = await makeSafe(test.hub, node, { epoch: 1, step: 5 });
    const key = keyOf(staged, "model.safetensors");
    const [found] = await asked("viewer").lookAt({ profileId, keys: [key] });
    const crc32 = crc32Hex(Buffer.from("weights of step 5"));
    expect(found).toMatchObject({ key, sizeBytes: 17, sums: [{ offset: 0, length: 17, crc32 }] });
    const objects = [{ key, etag: found?.etag ?? "" }];
    const [signed] = await asked("viewer").signReads({ profileId, objects });
    const answer = await fetch(signed?.request.url ?? "", {
      headers: { ...signed?.request.headers, range: "bytes=8-16" },
    });
    expect([answer.status, await answer.text()]).toEqual([206, "of step 5"]);

    const page = await asked("viewer").folder({ checkpointId: staged.checkpointId });
    expect(page).toMatchObject({ name: "llama-step-5", cursor: null });
    expect(page.files).toMatchObject([{ path: "model.safetensors", sizeBytes: 17, pieces: [{ key, crc32 }] }]);
  });

  it("is refused for what is compressed, and for nothing else of the same checkpoint", async () => {
    await claim(node);
    const files = [
      { path: "model.safetensors", text: "weights" },
      { path: "trainer.json", text: "a long text that was compressed" },
    ];
    const { checkpointId } = await makeSafe(test.hub, node, { epoch: 1, step: 5, files });
    const { manifest, files: announced } = await test.hub.db.checkpointContent.findUniqueOrThrow({
      where: { checkpointId },
    });
    const committed = await readStored({ manifest: manifest ?? "", files: announced });
    const packed = committed.files.map((file) => {
      const stored = { length: 9, crc32: "00000000" };
      return file.path === "trainer.json"
        ? { ...file, extents: file.extents.map((one) => ({ ...one, stored })) }
        : file;
    });
    const text = JSON.stringify({ ...committed, transform: { kind: "zstd" }, files: packed });
    await test.hub.db.checkpointContent.update({ where: { checkpointId }, data: { manifest: text } });
    const folder = (path?: string) =>
      asked("viewer").folder(path === undefined ? { checkpointId } : { checkpointId, path });
    expect((await folder("model.safetensors")).files.map(({ path }) => path)).toEqual(["model.safetensors"]);
    await expect(folder("trainer.json")).rejects.toEqual(fault("UNSUPPORTED"));
    await expect(folder()).rejects.toEqual(fault("UNSUPPORTED"));
    await expect(folder("nothing.bin")).rejects.toEqual(fault("NOT_FOUND"));
  });

  it("of anything else in the bucket takes an operator", async () => {
    await putObject("team/notes/a.txt", "a");
    const keys = ["team/notes/a.txt"];
    await expect(asked("viewer").lookAt({ profileId, keys })).rejects.toEqual(fault("ROLE_REQUIRED"));
    const objects = [{ key: "team/notes/a.txt", etag: '"x"' }];
    await expect(asked("viewer").signReads({ profileId, objects })).rejects.toEqual(fault("ROLE_REQUIRED"));
    const folder = { profileId, prefix: "team/notes/", cursor: null };
    await expect(asked("viewer").folder(folder)).rejects.toEqual(fault("ROLE_REQUIRED"));
    expect((await asked("operator").folder(folder)).files.map(({ path }) => path)).toEqual(["a.txt"]);
    expect(await asked("operator").lookAt({ profileId, keys: [...keys, "team/nothing"] })).toHaveLength(1);
  });

  it("is pinned to the version that was looked at", async () => {
    await putObject("team/notes/b.txt", "first");
    const [found] = await asked("operator").lookAt({ profileId, keys: ["team/notes/b.txt"] });
    const objects = [{ key: "team/notes/b.txt", etag: found?.etag ?? "" }];
    const [signed] = await asked("operator").signReads({ profileId, objects });
    await putObject("team/notes/b.txt", "second");
    const { url = "", headers = {} } = signed?.request ?? {};
    expect((await fetch(url, { headers })).status).toBe(412);
    // Without the condition it is not what was signed.
    expect((await fetch(url, { headers: { range: "bytes=0-0" } })).status).toBe(403);
  });

  it("is preceded by the question whether the bucket lets this page in", async () => {
    const before = await asked("viewer").cors({ profileId });
    expect(before).toMatchObject({ isAllowed: false, origin: "http://hub.test" });
    const plan = await callAs(test.hub, "admin").profiles.corsPlan({ id: profileId });
    await callAs(test.hub, "admin").profiles.writeCors({ id: profileId, digest: plan.digest });
    expect(await asked("viewer").cors({ profileId })).toMatchObject({ isAllowed: true });
  });
});
