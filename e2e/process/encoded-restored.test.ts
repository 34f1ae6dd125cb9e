import { readFileSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { putOdd } from "../stage/odd-objects.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";

/** Objects that another tool stored with an encoding, as parts of a checkpoint. */
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

test.each(["gzip", "br", "zstd"])(
  "a checkpoint whose objects are stored as %s is registered and restored as its bytes are stored",
  async (encoding) => {
    const name = encoding.replaceAll(/\W/g, "-");
    const folder = stage.folderOf(`${name}-source`);
    const written = writeCheckpoint({ folder, step: 10, modelBytes: 3_000_000, optimizerBytes: 64 * 1024, loss: 1 });
    // With an optimizer under a name that Trainers use it is a step to go on from, not weights alone.
    renameSync(join(written, "optimizer.safetensors"), join(written, "optimizer.pt"));
    for (const file of readdirSync(written)) {
      const Body = readFileSync(join(written, file));
      await putOdd(stage.store, `${name}/checkpoint-10/${file}`, { Body, ContentEncoding: encoding });
    }
    const { profileId } = stage;
    const place = `${name}/checkpoint-10/`;
    const { runs } = await stage.client.inspect.recognise.query({
      profileId,
      prefix: place,
      cursor: null,
      limit: 1_000,
    });
    const shown = runs.flatMap(({ steps }) => steps).find((one) => one.place === place);
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
      run: name,
      program: ["sh", "-c", 'echo "goes on at $TIDEMARK_RESUME_STEP"'],
    });
    expect(await node.exited).toMatchObject({ code: 0 });
    expect(node.lines.join("\n")).toContain("goes on at 10");
    expect(hashFolder(join(stage.folderOf(name), "checkpoint-10"))).toEqual(hashFolder(written));
  },
);
