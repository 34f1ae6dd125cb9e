import type { FinishedUpload } from "#protocol/buckets/browser-transfers.ts";
import { toFault } from "#protocol/faults/fault.ts";
import type { Operation, SignedRequest } from "#protocol/wire/operations.ts";
import type { ListedPart } from "../s3/answers.ts";
import { createControlClient } from "../s3/client.ts";
import { faultOfNetwork, type PlainAnswer } from "../answers/faults.ts";
import { completeUpload, createUpload, listParts, statObject } from "../s3/multipart.ts";
import { cutEvenly } from "../s3/plan.ts";
import { presignOperation } from "../signing/signing.ts";
import type { OpenedStore } from "./open-store.ts";

/** For tests: the real store, and in place of the hub just what an upload needs, with the hub's answers. */
export interface UploadStage {
  key: string;
  partBytes: number;
  /** The calls of a page's upload tools to hub and store. */
  tools: {
    sign: (id: string, parts: { partNumber: number; crc32: string }[]) => Promise<SignedRequest[]>;
    listParts: (id: string) => Promise<ListedPart[]>;
    finish: (id: string) => Promise<FinishedUpload>;
    put: (
      request: SignedRequest,
      body: Blob,
      watch: { onSent: (bytes: number) => void; signal: AbortSignal },
    ) => Promise<PlainAnswer>;
  };
  /** Begins an upload of this size and returns its id. */
  begin: (sizeBytes: number) => Promise<string>;
  /** `agoMs` backdates the next signatures, ms. */
  signing: { agoMs: number };
  read: () => Promise<Uint8Array>;
}

const NONCE = "a-nonce";

export function stageUpload(store: OpenedStore, at: { key: string; partBytes: number }): UploadStage {
  const { access, credential } = store;
  const { key, partBytes } = at;
  const client = createControlClient({ access, credential });
  const where = { bucket: access.bucket, key };
  const sizes = new Map<string, number>();
  const signing = { agoMs: 0 };
  const presign = (operation: Operation, lifetimeMs: number) =>
    presignOperation({ access, credential, operation, nowMs: Date.now() - signing.agoMs, lifetimeMs });
  const lengthOf = (id: string, partNumber: number): number =>
    cutEvenly(sizes.get(id) ?? 0, partBytes)[partNumber - 1]?.length ?? 0;
  const finish = async (id: string): Promise<FinishedUpload> => {
    const sizeBytes = sizes.get(id) ?? 0;
    const listed = id.startsWith("put") ? [] : await listParts(client, { ...where, uploadId: id });
    const there = new Map(listed.map((part) => [part.partNumber, part.sizeBytes]));
    const wanted = id.startsWith("put") ? [] : cutEvenly(sizeBytes, partBytes);
    const partNumbers = wanted.flatMap((part) => (there.get(part.partNumber) === part.length ? [] : [part.partNumber]));
    if (partNumbers.length > 0) return { id, outcome: "missing", partNumbers };
    if (wanted.length > 0) await completeUpload(client, { ...where, uploadId: id, parts: listed, ifAbsent: {} });
    const found = await statObject(client, { ...where, checksum: "crc32" });
    if (found?.nonce !== NONCE || found.sizeBytes !== sizeBytes) return { id, outcome: "missing", partNumbers: [1] };
    return { id, outcome: "done", etag: found.etag, sizeBytes };
  };
  const tools: UploadStage["tools"] = {
    sign: async (id, parts) =>
      parts.map(({ partNumber, crc32 }) => {
        const sizeBytes = lengthOf(id, partNumber);
        return id.startsWith("put")
          ? presign({ op: "put", key, sizeBytes, crc32, nonce: NONCE }, 60_000)
          : presign({ op: "part", key, uploadId: id, partNumber, sizeBytes, crc32 }, 60_000);
      }),
    listParts: (id) => (id.startsWith("put") ? Promise.resolve([]) : listParts(client, { ...where, uploadId: id })),
    finish: (id) =>
      finish(id).catch((error: unknown) => ({ id, outcome: "failed" as const, fault: toFault(error).toData() })),
    put: async (request, body, { onSent, signal }) => {
      const { "content-length": _, ...headers } = request.headers;
      try {
        const answer = await fetch(request.url, { method: request.method, headers, body, signal });
        onSent(body.size);
        const bytes = new Uint8Array(await answer.arrayBuffer());
        return { status: answer.status, headers: Object.fromEntries(answer.headers), body: bytes };
      } catch (error) {
        throw faultOfNetwork(error, { op: "UploadPart", subject: key });
      }
    },
  };
  return {
    key,
    partBytes,
    tools,
    signing,
    begin: async (sizeBytes) => {
      const id =
        sizeBytes <= partBytes
          ? `put ${sizes.size}`
          : (await createUpload(client, { ...where, nonce: NONCE, checksum: "crc32" })).uploadId;
      sizes.set(id, sizeBytes);
      return id;
    },
    read: async () => {
      const { url, headers } = presign({ op: "get", key, offset: 0, length: 1, etag: null }, 60_000);
      const { range: _, ...rest } = headers;
      return new Uint8Array(await (await fetch(url, { headers: rest })).arrayBuffer());
    },
  };
}
