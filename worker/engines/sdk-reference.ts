import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { GetObjectCommand, HeadObjectCommand, S3Client, S3ServiceException } from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { Fault } from "#protocol/faults/fault.ts";
import { BY_CODE } from "#storage/answers/fault-codes.ts";
import { faultOfNetwork } from "#storage/answers/faults.ts";
import { createAgents } from "#storage/network/agents.ts";
import { isPathAddressed } from "#storage/signing/signing.ts";
import type { EngineRequest } from "./engine-request.ts";
import { BY_STATUS } from "./by-status.ts";

/**
 * Moves a file the way a careful engineer would with the AWS SDK: lib-storage up, ranged GETs down, the SDK's own retries.
 * It is the reference in benchmarks; no Tidemark transfer uses it.
 */

/** Smallest part size that the SDK accepts. */
const LEAST_PART_BYTES = 5 * 1024 * 1024;

/** Moves one file with the SDK. @throws Faults of the store and the link, BAD_CREDENTIALS */
export async function moveWithSdk(asked: EngineRequest): Promise<void> {
  const { access, credential, direction } = asked;
  if (credential === null) throw new Fault("BAD_CREDENTIALS", { op: "bench", detail: "the SDK needs a key" });
  const { sessionToken, ...key } = credential;
  const client = new S3Client({
    endpoint: access.endpoint,
    region: access.region,
    forcePathStyle: isPathAddressed(access),
    credentials: sessionToken === undefined ? key : { ...key, sessionToken },
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: createAgents({ keepAlive: true, maxSockets: 50 }, { trust: access.trust ?? null }),
  });
  try {
    await (direction === "up" ? send(client, asked) : fetchRanges(client, asked));
  } catch (error) {
    throw faultOf(error, { op: direction === "up" ? "PutObject" : "GetObject", subject: asked.key });
  } finally {
    client.destroy();
  }
}

async function send(client: S3Client, { access, key, path, partBytes, connections }: EngineRequest): Promise<void> {
  const params = { Bucket: access.bucket, Key: key, Body: createReadStream(path) };
  const partSize = Math.max(LEAST_PART_BYTES, partBytes);
  await new Upload({ client, params, queueSize: connections, partSize }).done();
}

async function fetchRanges(client: S3Client, asked: EngineRequest): Promise<void> {
  const { access, key, path, partBytes, connections } = asked;
  const about = { Bucket: access.bucket, Key: key };
  const { ContentLength: sizeBytes = 0 } = await client.send(new HeadObjectCommand(about));
  const file = await open(path, "w");
  try {
    const starts = Array.from({ length: Math.ceil(sizeBytes / partBytes) }, (_, index) => index * partBytes).values();
    const lane = async () => {
      for (const start of starts) {
        const Range = `bytes=${start}-${Math.min(start + partBytes, sizeBytes) - 1}`;
        const { Body } = await client.send(new GetObjectCommand({ ...about, Range }));
        if (Body === undefined) throw new Fault("UNEXPECTED_ANSWER", { op: "GetObject", detail: "it has no body" });
        const bytes = await Body.transformToByteArray();
        await file.write(bytes, 0, bytes.length, start);
      }
    };
    await Promise.all(Array.from({ length: connections }, lane));
  } finally {
    await file.close();
  }
}

/** Makes an SDK error a Fault. The client of Tidemark's control requests does this itself, but this client is a plain SDK one. */
function faultOf(error: unknown, about: { op: string; subject: string }): Fault {
  if (!(error instanceof S3ServiceException)) return faultOfNetwork(error, about);
  const { name, $metadata } = error;
  const status = $metadata.httpStatusCode ?? 0;
  const code = (Object.hasOwn(BY_CODE, name) ? BY_CODE[name] : undefined) ?? BY_STATUS[status];
  return new Fault(code ?? "UNEXPECTED_ANSWER", { ...about, detail: name, ...(status === 0 ? {} : { status }) });
}
