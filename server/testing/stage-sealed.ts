import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { filePath } from "#protocol/base/names.ts";
import type { NodeSealing } from "#protocol/checkpoint/sealing.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import {
  fileKeyOf,
  hiddenPathOf,
  newCheckpointKey,
  sealInside,
  wrapCheckpointKey,
} from "#storage/encryption/checkpoint-key.ts";
import { boundOf } from "#storage/encryption/open-manifest.ts";
import { sealWhole } from "#storage/encryption/segments.ts";
import { keyOf, manifestOf, newAttempt, run, type Staged } from "./stage-checkpoint.ts";
import type { Hub } from "../core/api/hub.ts";
import { callAs, type TestNode } from "./open-test-hub.ts";
import { nodeStoreOf } from "../core/nodes/hello.ts";
import { newId } from "../platform/random-id.ts";

/** For tests: makes the calls of a worker for one small encrypted checkpoint. */

export interface SealedUpload {
  staged: Staged;
  key: Buffer;
  manifest: Manifest;
}

/** Returns the encryption settings that the nodes of a node's profile receive. */
export async function toldTo(hub: Hub, node: TestNode): Promise<NodeSealing> {
  const told = await nodeStoreOf(hub, hub.live.nodes.get(node.nodeId)?.profileId ?? "");
  if (told?.sealing == null) throw new Error("encryption is off");
  return told.sealing;
}

/** Announces and uploads an encrypted checkpoint without committing it. */
export async function uploadSealed(
  hub: Hub,
  node: TestNode,
  at: { epoch: number; step: number; files?: { path: string; bytes: Buffer }[] },
): Promise<SealedUpload> {
  const { epoch, step, files = [{ path: "model.safetensors", bytes: Buffer.from(`weights of step ${step}`) }] } = at;
  const sealing = await toldTo(hub, node);
  const key = newCheckpointKey();
  const staged: Staged = {
    checkpointId: newId(),
    attempt: newAttempt(),
    epoch,
    step,
    parent: null,
    files: files.map(({ path, bytes }) => ({ path, text: bytes.toString("latin1") })),
  };
  await callAs(hub, node.caller).node.announce({
    checkpointId: staged.checkpointId,
    run,
    writerEpoch: epoch,
    step,
    attempt: staged.attempt,
    framework: null,
    capturedAt: hub.now(),
    files: files.map(({ path, bytes }) => ({ path: filePath.parse(path), sizeBytes: bytes.length })),
    sealKeyId: sealing.keyId,
  });
  const shown = ({ path }: { path: string }) => (sealing.hideNames ? hiddenPathOf(key, path) : filePath.parse(path));
  const objects = files.map((file) => ({
    ...file,
    key: keyOf(staged, shown(file)),
    sealed: sealWhole(fileKeyOf(key, file.path), file.bytes),
  }));
  const { requests } = await callAs(hub, node.caller).node.sign({
    operations: objects.map((one) => ({
      op: "put",
      key: one.key,
      sizeBytes: one.sealed.length,
      crc32: crc32Hex(one.sealed),
      nonce: "n",
    })),
  });
  const etags: string[] = [];
  for (const [index, request] of requests.entries()) {
    const { "content-length": _, ...headers } = request.headers;
    const body = new Uint8Array(objects[index]?.sealed ?? []);
    const answer = await fetch(request.url, { method: request.method, headers, body });
    if (!answer.ok) throw new Error(`PUT ${answer.status}: ${await answer.text()}`);
    etags.push(answer.headers.get("etag") ?? "");
  }
  const { keyId, publicKey, hideNames } = sealing;
  const wrapped = wrapCheckpointKey(publicKey, key, { keyId, id: staged.checkpointId, run, step });
  const listed = objects.map((one, index) => ({
    path: shown(one),
    sizeBytes: one.bytes.length,
    mtimeMs: 1,
    sha256: null,
    extents: [
      {
        key: one.key,
        offset: 0,
        length: one.bytes.length,
        crc32: crc32Hex(one.sealed),
        etag: etags[index] ?? "",
        stored: { length: one.sealed.length, crc32: crc32Hex(one.sealed) },
      },
    ],
  }));
  const plain = manifestOf(hub, node, { staged, etags: new Map() });
  const paths = hideNames ? files.map(({ path }) => filePath.parse(path)) : null;
  const sums = files.map(({ bytes }) => [crc32Hex(bytes)]);
  const base = { ...plain, sizeBytes: files.reduce((sum, { bytes }) => sum + bytes.length, 0), files: listed };
  const inside = sealInside(key, { paths, sums }, boundOf(base));
  const transform = { kind: "sealed" as const, scheme: 1 as const, keyId, wrapped, inside, hideNames, zstd: false };
  return { staged, key, manifest: { ...base, transform } };
}

/** Announces, uploads and commits an encrypted checkpoint. */
export async function makeSealed(
  hub: Hub,
  node: TestNode,
  at: Parameters<typeof uploadSealed>[2],
): Promise<SealedUpload> {
  const upload = await uploadSealed(hub, node, at);
  await callAs(hub, node.caller).node.commit({ manifest: upload.manifest });
  return upload;
}
