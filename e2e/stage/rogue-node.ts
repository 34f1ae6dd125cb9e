import { createHash, randomUUID } from "node:crypto";
import { createTRPCClient, httpLink } from "@trpc/client";
import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { dataKey } from "#protocol/checkpoint/keys.ts";
import { attemptId, filePath, nodeName, type runName } from "#protocol/base/names.ts";
import type { Operation, SignedRequest } from "#protocol/wire/operations.ts";
import { PROTOCOL_VERSION } from "#protocol/base/version.ts";
import type { HubRouter } from "#server/router.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { faultOf } from "./hub-client.ts";
import type { Stage } from "./open-stage.ts";

/** Emulates a malicious node, which sends arbitrary requests to hub and store with a valid credential. */

type Run = ReturnType<typeof runName.parse>;

export interface Staged {
  checkpointId: string;
  run: Run;
  epoch: number;
  parent: Manifest["parent"];
  step: number;
  attempt: Manifest["attempt"];
  key: string;
  body: string;
}

export type RogueNode = Awaited<ReturnType<typeof enrolRogue>>;

const FACTS = {
  hostname: "rogue",
  platform: "linux",
  cpus: 1,
  memoryBytes: 1,
  gpu: null,
  labels: {},
  machineId: null,
  workerVersion: "0",
};
const PATH = filePath.parse("model.safetensors");

export async function enrolRogue(stage: Stage, about: { name: string; token?: string; machineId?: string }) {
  const { token = stage.token, name, machineId = null } = about;
  const enrolled = await stage.client.node.enrol.mutate({
    token,
    name: nodeName.parse(name),
    protocol: PROTOCOL_VERSION,
    facts: { ...FACTS, machineId },
  });
  const headers = { authorization: `Bearer ${enrolled.credential}` };
  const { node } = createTRPCClient<HubRouter>({ links: [httpLink({ url: `${stage.hub.url}/api/trpc`, headers })] });
  return { ...enrolled, node };
}

/** Announces a checkpoint of one small file. */
export async function announce(
  rogue: RogueNode,
  at: { run: Run; epoch: number; step: number; parent?: Staged["parent"] },
) {
  const attempt = attemptId.parse(randomUUID().replaceAll("-", "").slice(0, 20));
  const { run, epoch, step, parent = null } = at;
  const key = dataKey("", { run, epoch, attempt, path: PATH });
  const body = `weights of step ${step} by ${rogue.name}`;
  const staged: Staged = { checkpointId: randomUUID(), run, epoch, parent, step, attempt, key, body };
  const files = [{ path: PATH, sizeBytes: Buffer.byteLength(body) }];
  const { checkpointId } = staged;
  const announcement = { checkpointId, run, writerEpoch: epoch, step, attempt, framework: null, capturedAt: 1, files };
  await rogue.node.announce.mutate(announcement);
  return staged;
}

export const putOf = ({ key, body }: Pick<Staged, "key" | "body">): Operation => ({
  op: "put",
  key,
  sizeBytes: Buffer.byteLength(body),
  crc32: crc32Hex(Buffer.from(body)),
  nonce: "n",
});

/** Signs one operation. @throws the hub's error */
export async function signOne(rogue: RogueNode, operation: Operation): Promise<SignedRequest> {
  const { requests } = await rogue.node.sign.mutate({ operations: [operation] });
  const [request] = requests;
  if (request === undefined) throw new Error("nothing was signed");
  return request;
}

/** Sends a signed request unchanged, with any body. */
export async function send(request: SignedRequest, body: string | null): Promise<{ status: number; etag: string }> {
  const { "content-length": _counted, ...headers } = request.headers;
  const answer = await fetch(request.url, { method: request.method, headers, body });
  await answer.text();
  return { status: answer.status, etag: answer.headers.get("etag") ?? "" };
}

/** Returns the manifest that an honest node would submit for its upload. */
export function manifestOf(stage: Stage, rogue: RogueNode, about: { staged: Staged; etag: string }): Manifest {
  const { checkpointId, run, epoch, parent, step, attempt, key, body } = about.staged;
  const bytes = Buffer.from(body);
  const extent = { key, offset: 0, length: bytes.length, crc32: crc32Hex(bytes), etag: about.etag };
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return {
    format: "tidemark.checkpoint",
    version: 1,
    id: checkpointId,
    run,
    step,
    writerEpoch: epoch,
    parent,
    attempt,
    node: { id: rogue.nodeId, name: nodeName.parse(rogue.name) },
    framework: null,
    metrics: {},
    capturedAt: 1,
    sizeBytes: bytes.length,
    homes: [{ profileId: stage.profileId, bucket: stage.store.bucket, prefix: "" }],
    transform: { kind: "none" },
    files: [{ path: PATH, sizeBytes: bytes.length, mtimeMs: 1, sha256, extents: [extent] }],
  };
}

/** Returns the fault code with which a call is refused; null when it succeeds. */
export async function refusal(work: Promise<unknown>): Promise<string | null> {
  try {
    await work;
    return null;
  } catch (error) {
    return faultOf(error)?.code ?? String(error);
  }
}
