import { createHash } from "node:crypto";
import { readFileSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { encodeObjects, ENCODINGS } from "../stage/encode-objects.ts";
import { putOdd, serveOdd } from "../stage/odd-objects.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { addProfile, addToken } from "../stage/provision.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";

/** Objects that another tool stored with an encoding: as parts of a checkpoint, and on the pages of a hub. */
let stage: Stage;
let said = "";
let profileId: string;
let token: string;
let close: () => Promise<void>;
beforeAll(async () => {
  stage = await openStage();
  const odd = await serveOdd(
    stage.store,
    encodeObjects(() => said),
  );
  ({ close } = odd);
  profileId = await addProfile(stage.client, { name: "encoded", store: { ...stage.store, endpoint: odd.endpoint } });
  token = await addToken(stage.client, { profileId, maxUses: 100 });
});
afterAll(async () => {
  await close();
  await stage.close();
});

test.each(ENCODINGS)(
  "a checkpoint whose objects are stored as %s is registered and restored as its bytes are stored",
  async (encoding) => {
    said = encoding;
    const name = encoding.replaceAll(/\W/g, "-");
    const folder = stage.folderOf(`${name}-source`);
    const written = writeCheckpoint({ folder, step: 10, modelBytes: 3_000_000, optimizerBytes: 64 * 1024, loss: 1 });
    // With an optimizer under a name that Trainers use it is a step to go on from, not weights alone.
    renameSync(join(written, "optimizer.safetensors"), join(written, "optimizer.pt"));
    for (const file of readdirSync(written)) {
      const Body = readFileSync(join(written, file));
      await putOdd(stage.store, `${name}/checkpoint-10/${file}`, { Body });
    }
    const place = `${name}/checkpoint-10/`;
    const { runs } = await stage.client.inspect.recognise.query({
      profileId,
      prefix: place,
      cursor: null,
      limit: 1_000,
    });
    const shown = runs.flatMap(({ steps }) => steps).find((one) => one.place === place);
    const looked = await stage.client.inspect.file.query({ place: { profileId, key: `${place}model.safetensors` } });
    expect(looked).toMatchObject({ format: "safetensors", fault: null });
    await stage.client.adoptions.adopt.mutate({
      profileId,
      run: runName.parse(name),
      place,
      kind: "folder",
      step: 10,
      verdict: shown?.verdict ?? "unknown",
    });
    const node = await stage.startNode({
      name,
      token,
      run: name,
      program: ["sh", "-c", 'echo "goes on at $TIDEMARK_RESUME_STEP"'],
    });
    expect(await node.exited).toMatchObject({ code: 0 });
    expect(node.lines.join("\n")).toContain("goes on at 10");
    expect(hashFolder(join(stage.folderOf(name), "checkpoint-10"))).toEqual(hashFolder(written));
  },
);

test.each(ENCODINGS)(
  "an object stored as %s comes as it is stored through a link of the hub",
  async (encoding, encode) => {
    said = encoding;
    const key = "shared/log";
    const stored = encode(Buffer.from("hello hello hello ".repeat(100)));
    await putOdd(stage.store, key, { Body: stored });
    const { url } = await stage.client.bucket.share.mutate({ profileId, key, lifetimeMs: 60_000 });
    // As browsers do, fetch undoes an encoding that it knows.
    const came = Buffer.from(await (await fetch(url)).arrayBuffer());
    expect(createHash("sha256").update(came).digest("hex")).toBe(createHash("sha256").update(stored).digest("hex"));
  },
);
