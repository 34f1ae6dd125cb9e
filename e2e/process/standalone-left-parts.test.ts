import { expect, test } from "vitest";
import { createControlClient } from "#storage/s3/client.ts";
import { listUploads } from "#storage/s3/listing.ts";
import { PRESETS } from "#storage/providers/providers.ts";
import { closeAlone, folderOf, openAlone, startAlone, type Alone } from "../stage/open-alone.ts";
import { readLog, setClock } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";

/** Without a hub nobody but the next writer of a run removes the parts that a lost machine left in the bucket. */

const MEGABYTE = 1_000_000;

async function uploadsIn({ store }: Alone, prefix: string): Promise<string[]> {
  const { endpoint, bucket, accessKey, secretKey } = store;
  const client = createControlClient({
    access: { endpoint, region: "us-east-1", bucket, addressing: "path", traits: PRESETS.minio.traits },
    credential: { accessKeyId: accessKey, secretAccessKey: secretKey },
  });
  const keys: string[] = [];
  try {
    for await (const { key } of listUploads(client, { bucket, prefix })) keys.push(key);
  } finally {
    client.destroy();
  }
  return keys;
}

test("the next writer removes the parts that a lost machine left, and no others", async () => {
  const alone = await openAlone();
  try {
    const at = { run: "llama", prefix: "left" };
    const lost = await startAlone(alone, { ...at, name: "lost", flags: ["--limit-up", "4MB"] });
    const folder = folderOf(alone, "lost");
    writeCheckpoint({ folder, step: 10, modelBytes: 60 * MEGABYTE, optimizerBytes: MEGABYTE, loss: 1 });
    await waitUntil("a part is in the bucket", async () =>
      (await readLog(alone.store)).some(({ operation, status }) => operation === "UploadPart" && status === 200),
    );
    process.kill(lost.pid, "SIGKILL");
    await lost.exited;
    expect((await uploadsIn(alone, "left/runs/llama/")).length).toBeGreaterThan(0);

    await setClock(alone.store, 120_000);
    const heir = await startAlone(alone, { ...at, name: "heir", flags: ["--limit-up", "4MB"] });
    const heirs = folderOf(alone, "heir");
    writeCheckpoint({ folder: heirs, step: 20, modelBytes: 60 * MEGABYTE, optimizerBytes: MEGABYTE, loss: 1 });
    const said = () => heir.lines.join("\n");
    await waitUntil("it says what it removed", () => said().includes("that an earlier writer left unfinished"));
    expect(said()).toMatch(
      /Removed the parts of \d+ uploads? of llama that an earlier writer left unfinished: \d.*B\./,
    );
    await waitUntil(
      "its own upload is under way",
      async () => (await uploadsIn(alone, "left/runs/llama/e000002/")).length > 0,
    );
    expect(await uploadsIn(alone, "left/runs/llama/e000001/")).toEqual([]);
    await heir.stop();
  } finally {
    await closeAlone(alone);
  }
});
