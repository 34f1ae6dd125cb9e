import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { attemptPrefix } from "#protocol/checkpoint/keys.ts";
import type { Hub } from "../core/api/hub.ts";
import {
  addTestNode,
  addTestProfile,
  callAs,
  openTestHub,
  openTestStore,
  type TestNode,
  type TestStore,
} from "./open-test-hub.ts";
import { makeSafe, manifestOf, newAttempt, run, type Staged } from "./stage-checkpoint.ts";

/** Makes `close` idempotent: tests close a store to simulate an outage, and the stage closes both in the end. */
function closedOnce(store: TestStore): TestStore {
  let closing: Promise<void> | null = null;
  return { ...store, close: () => (closing ??= store.close()) };
}

/**
 * Opens a hub with two bucket profiles over two stores, and a node of the first whose run has both as replicas. For
 * tests.
 */
export async function openTwoHomes() {
  const [near, far] = (await Promise.all([openTestStore(), openTestStore()])).map(closedOnce);
  if (near === undefined || far === undefined) throw new Error("two stores were opened");
  const test = await openTestHub();
  const first = await addTestProfile(test.hub, near.endpoint);
  const second = await addTestProfile(test.hub, far.endpoint, { name: "second" });
  const node = await addTestNode(test.hub, first, "gpu-1");
  const { epoch } = await callAs(test.hub, node.caller).node.claimEpoch({ run });
  await callAs(test.hub, "operator").homes.set({ run, profileIds: [first, second], copies: null });
  const close = async () => {
    await test.close();
    await Promise.allSettled([near.close(), far.close()]);
  };
  return { test, near, far, first, second, node, epoch, close };
}

/** Returns the manifest of the same checkpoint in another bucket, under another attempt. */
export function movedTo(
  manifest: Manifest,
  home: Manifest["homes"][number],
  etags: ReadonlyMap<string, string>,
): Manifest {
  const attempt = newAttempt();
  const { run: name, writerEpoch: epoch } = manifest;
  const files = manifest.files.map((file) => ({
    ...file,
    extents: file.extents.map((piece) => ({
      ...piece,
      key: attemptPrefix(home.prefix, { run: name, epoch, attempt }) + file.path,
      etag: etags.get(file.path) ?? piece.etag,
    })),
  }));
  return { ...manifest, attempt, homes: [home], files };
}

/** Uploads the files of a staged checkpoint to another bucket and commits the copy. */
export async function copyTo(
  hub: Hub,
  node: TestNode,
  about: { staged: Staged; profileId: string; change?: (manifest: Manifest) => Manifest },
): Promise<Manifest> {
  const { staged, profileId, change = (same) => same } = about;
  const moved = movedTo(
    manifestOf(hub, node, { staged, etags: new Map() }),
    { profileId, bucket: "training", prefix: "team/" },
    new Map(),
  );
  const { attempt } = moved;
  const client = callAs(hub, node.caller).node;
  await client.beginCopy({ checkpointId: staged.checkpointId, profileId, attempt });
  const etags = new Map<string, string>();
  for (const { path, extents } of moved.files) {
    const [piece] = extents;
    const file = staged.files.find((one) => one.path === path);
    if (piece === undefined || file === undefined) throw new Error("a file without a piece");
    const { key, length: sizeBytes, crc32 } = piece;
    const { requests } = await client.sign({
      profileId,
      operations: [{ op: "put", key, sizeBytes, crc32, nonce: "n" }],
    });
    for (const request of requests) {
      const { "content-length": _, ...headers } = request.headers;
      const answer = await fetch(request.url, { method: request.method, headers, body: file.text });
      if (!answer.ok) throw new Error(`PUT ${answer.status}: ${await answer.text()}`);
      etags.set(path, answer.headers.get("etag") ?? "");
    }
  }
  const manifest = change({
    ...moved,
    files: moved.files.map((file) => ({
      ...file,
      extents: file.extents.map((piece) => ({ ...piece, etag: etags.get(file.path) ?? "" })),
    })),
  });
  await client.commitCopy({ manifest });
  return manifest;
}

/** Makes a safe checkpoint in the node's own bucket, and a copy of it in the second. */
export async function makeBoth(stage: Awaited<ReturnType<typeof openTwoHomes>>, step: number): Promise<Staged> {
  const { test, node, epoch, second } = stage;
  const staged = await makeSafe(test.hub, node, { epoch, step });
  await copyTo(test.hub, node, { staged, profileId: second });
  return staged;
}
