import { randomUUID } from "node:crypto";
import { dataKey } from "#protocol/checkpoint/keys.ts";
import { attemptId, filePath, runName } from "#protocol/base/names.ts";
import { packPath } from "#protocol/checkpoint/packing.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import type { Stage } from "../../../stage/open-stage.ts";
import { manifestOf, putOf, type RogueNode, send, signOne, type Staged } from "../../../stage/rogue-node.ts";
import type { Call } from "./hold-inputs.ts";

/** Stages a checkpoint of as many files as are allowed: one byte each, all in one pack. */

const FILES = 50_000;

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
