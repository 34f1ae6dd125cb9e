import { randomUUID } from "node:crypto";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { dataKey } from "#protocol/checkpoint/keys.ts";
import { attemptId, filePath, runName } from "#protocol/base/names.ts";
import { packPath } from "#protocol/checkpoint/packing.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import type { Stage } from "../../../stage/open-stage.ts";
import { manifestOf, putOf, type RogueNode, send, signOne, type Staged } from "../../../stage/rogue-node.ts";
import type { Call } from "./hold-inputs.ts";

/** Stages checkpoints of as many files as are allowed, one byte each: one of a node, and one that another tool left. */

const FILES = 50_000;

/** Puts the objects of a checkpoint that another tool left, and returns the call that registers it. */
export async function stageManyForeign(stage: Stage): Promise<Call> {
  const { endpoint, accessKey, secretKey, bucket } = stage.store;
  const client = new S3Client({
    endpoint,
    region: "us-east-1",
    credentials: { accessKeyId: accessKey, secretAccessKey: secretKey },
    forcePathStyle: true,
  });
  const place = "foreign/checkpoint-4/";
  const names = Array.from({ length: FILES - 2 }, (_, index) => `layer-${index % 100}/part-${index}.bin`);
  await forEachOf([...names, "trainer_state.json", "model.safetensors"], 32, async (name) => {
    await client.send(
      new PutObjectCommand({ Bucket: bucket, Key: place + name, Body: name.endsWith(".json") ? "{}" : "x" }),
    );
  });
  client.destroy();
  const verdict = "assumed complete";
  const input = { profileId: stage.profileId, run: "foreign", place, kind: "folder", step: 4, verdict };
  return { path: "adoptions.adopt", type: "mutation", as: "admin", input };
}

export interface ManyFiles {
  checkpointId: string;
  announce: Call;
  /** Uploads the pack and returns the call that commits it. */
  commit: () => Promise<Call>;
}

export async function stageManyFiles(stage: Stage, rogue: RogueNode, step: number): Promise<ManyFiles> {
  const run = runName.parse("many-files");
  const { epoch } = await rogue.node.claimEpoch.mutate({ run });
  const attempt = attemptId.parse(randomUUID().replaceAll("-", "").slice(0, 20));
  const key = dataKey("", { run, epoch, attempt, path: filePath.parse(packPath(1)) });
  const checkpointId = randomUUID();
  const body = "x".repeat(FILES);
  const staged: Staged = { checkpointId, run, epoch, parent: null, step, attempt, key, body };
  const paths = Array.from({ length: FILES }, (_, index) => filePath.parse(`layer-${index % 100}/part-${index}.bin`));
  const as = "node" as const;
  const announced = {
    checkpointId,
    run,
    writerEpoch: epoch,
    step,
    attempt,
    framework: null,
    capturedAt: 1,
    files: paths.map((path) => ({ path, sizeBytes: 1 })),
  };
  return {
    checkpointId,
    announce: { path: "node.announce", type: "mutation", as, input: announced },
    commit: async () => {
      const { etag } = await send(await signOne(rogue, putOf(staged)), body);
      const like = manifestOf(stage, rogue, { staged, etag });
      const files = paths.map((path, offset) => ({
        path,
        sizeBytes: 1,
        mtimeMs: 1,
        sha256: null,
        extents: [{ key, offset, length: 1, crc32: crc32Hex(Buffer.from("x")), etag }],
      }));
      return { path: "node.commit", type: "mutation", as, input: { manifest: { ...like, files } } };
    },
  };
}
