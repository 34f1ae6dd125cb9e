import { createHash } from "node:crypto";
import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { dataKey } from "#protocol/checkpoint/keys.ts";
import { attemptId, filePath, nodeName, runName } from "#protocol/base/names.ts";
import type { Operation } from "#protocol/wire/operations.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import type { Hub } from "../core/api/hub.ts";
import { callAs, type TestNode } from "./open-test-hub.ts";
import { newId } from "../platform/random-id.ts";

/** For tests: makes the calls of a worker for one small checkpoint, one at a time. */

export const run = runName.parse("llama");
export const newAttempt = () => attemptId.parse(newId().replaceAll("-", "").slice(0, 20));

export interface StagedFile {
  path: string;
  text: string;
}

export interface Staged {
  checkpointId: string;
  attempt: ReturnType<typeof newAttempt>;
  epoch: number;
  step: number;
  /** The checkpoint that its epoch started from. */
  parent: Manifest["parent"];
  files: StagedFile[];
}

export const keyOf = (staged: Staged, path: string): string =>
  dataKey("team/", { run, epoch: staged.epoch, attempt: staged.attempt, path: filePath.parse(path) });

/** Announces a checkpoint with these files. */
export async function announce(
  hub: Hub,
  node: TestNode,
  at: { epoch: number; step: number; files?: StagedFile[]; checkpointId?: string },
): Promise<Staged> {
  const { epoch, step, files = [{ path: "model.safetensors", text: `weights of step ${step}` }] } = at;
  const row = await hub.db.epoch.findUnique({ where: { run_epoch: { run, epoch } } });
  const [parentEpoch, parentStep] = [row?.parentEpoch ?? null, row?.parentStep ?? null];
  const parent = parentEpoch === null || parentStep === null ? null : { epoch: parentEpoch, step: Number(parentStep) };
  const staged: Staged = {
    checkpointId: at.checkpointId ?? newId(),
    attempt: newAttempt(),
    epoch,
    step,
    parent,
    files,
  };
  await callAs(hub, node.caller).node.announce({
    checkpointId: staged.checkpointId,
    run,
    writerEpoch: epoch,
    step,
    attempt: staged.attempt,
    framework: null,
    capturedAt: hub.now(),
    files: files.map(({ path, text }) => ({ path: filePath.parse(path), sizeBytes: Buffer.byteLength(text) })),
  });
  return staged;
}

export const putOf = (staged: Staged, file: StagedFile): Operation => ({
  op: "put",
  key: keyOf(staged, file.path),
  sizeBytes: Buffer.byteLength(file.text),
  crc32: crc32Hex(Buffer.from(file.text)),
  nonce: "n",
});

/** Uploads the files with requests the hub signed; returns their ETags by path. */
export async function upload(hub: Hub, node: TestNode, staged: Staged): Promise<Map<string, string>> {
  const operations = staged.files.map((file) => putOf(staged, file));
  const { requests } = await callAs(hub, node.caller).node.sign({ operations });
  const etags = new Map<string, string>();
  for (const [index, request] of requests.entries()) {
    const file = staged.files[index];
    if (file === undefined) throw new Error("more requests than files");
    const { "content-length": _, ...headers } = request.headers;
    const answer = await fetch(request.url, { method: request.method, headers, body: file.text });
    if (!answer.ok) throw new Error(`PUT ${answer.status}: ${await answer.text()}`);
    etags.set(file.path, answer.headers.get("etag") ?? "");
  }
  return etags;
}

export function manifestOf(hub: Hub, node: TestNode, upload: { staged: Staged; etags: Map<string, string> }): Manifest {
  const { staged, etags } = upload;
  const { profileId } = hub.live.nodes.get(node.nodeId) ?? { profileId: "" };
  const files = staged.files.map(({ path, text }) => {
    const sizeBytes = Buffer.byteLength(text);
    return {
      path: filePath.parse(path),
      sizeBytes,
      mtimeMs: 1,
      sha256: createHash("sha256").update(text).digest("hex"),
      extents: [
        {
          key: keyOf(staged, path),
          offset: 0,
          length: sizeBytes,
          crc32: crc32Hex(Buffer.from(text)),
          etag: etags.get(path) ?? "",
        },
      ],
    };
  });
  return {
    format: "tidemark.checkpoint",
    version: 1,
    id: staged.checkpointId,
    run,
    step: staged.step,
    writerEpoch: staged.epoch,
    parent: staged.parent,
    attempt: staged.attempt,
    node: { id: node.nodeId, name: nodeName.parse(node.name) },
    framework: null,
    metrics: { loss: 0.5 },
    capturedAt: 1,
    sizeBytes: files.reduce((sum, file) => sum + file.sizeBytes, 0),
    homes: [{ profileId, bucket: "training", prefix: "team/" }],
    transform: { kind: "none" },
    files,
  };
}

/** Makes a safe checkpoint: announces, uploads and commits it. */
export async function makeSafe(hub: Hub, node: TestNode, at: Parameters<typeof announce>[2]): Promise<Staged> {
  const staged = await announce(hub, node, at);
  const etags = await upload(hub, node, staged);
  await callAs(hub, node.caller).node.commit({ manifest: manifestOf(hub, node, { staged, etags }) });
  return staged;
}
