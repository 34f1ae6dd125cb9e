import { createHash } from "node:crypto";
import { zstdDecompressSync } from "node:zlib";
import { GetObjectCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { epochClaim, manifest, type EpochClaim, type Manifest } from "#protocol/checkpoint/checkpoint.ts";
import type { Place } from "./start-life.ts";

/** A checkpoint whose manifest lies in the bucket. */
export interface Complete {
  key: string;
  manifest: Manifest;
}

/** Reads what a run left in its bucket with the SDK alone, so that the product is not judged by its own reader. */
export interface BucketReader {
  /** Lists checkpoints from which a run may resume, the highest epoch and then the highest step first. */
  complete(): Promise<Complete[]>;
  /** Lists claims of epochs, oldest first. */
  claims(): Promise<EpochClaim[]>;
  /** Returns the SHA-256 of every file of a checkpoint, read from the objects that its manifest names. */
  hash(checkpoint: Complete): Promise<Record<string, string>>;
  close(): void;
}

export function openBucket(place: Place): BucketReader {
  const { endpoint, accessKey, secretKey, bucket, prefix, run } = place.address();
  const client = new S3Client({
    endpoint,
    region: "us-east-1",
    credentials: { accessKeyId: accessKey, secretAccessKey: secretKey },
    forcePathStyle: true,
    maxAttempts: 6,
  });
  const setClock = () => {
    client.config.systemClockOffset = place.clockOffsetMs();
  };
  const manifests = new Map<string, Manifest>();
  const read = async (key: string, range?: { offset: number; length: number }): Promise<Buffer> => {
    const Range = range === undefined ? undefined : `bytes=${range.offset}-${range.offset + range.length - 1}`;
    setClock();
    const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key, Range }));
    return Buffer.from((await Body?.transformToByteArray()) ?? []);
  };
  const list = async (folder: string): Promise<string[]> => {
    const found: string[] = [];
    let token: string | undefined;
    do {
      setClock();
      const page = await client.send(
        new ListObjectsV2Command({ Bucket: bucket, Prefix: `${prefix}/${folder}`, ContinuationToken: token }),
      );
      found.push(...(page.Contents ?? []).map(({ Key = "" }) => Key));
      token = page.NextContinuationToken;
    } while (token !== undefined);
    return found;
  };
  return {
    complete: async () => {
      const all: Complete[] = [];
      for (const key of await list(`manifests/${run}/`)) {
        const known = manifests.get(key) ?? manifest.parse(JSON.parse((await read(key)).toString()));
        manifests.set(key, known);
        if (known.doubt === undefined && known.role === undefined) all.push({ key, manifest: known });
      }
      return all.toSorted(({ manifest: a }, { manifest: b }) => b.writerEpoch - a.writerEpoch || b.step - a.step);
    },
    claims: async () => {
      const claims: EpochClaim[] = [];
      for (const key of await list(`epochs/${run}/`))
        claims.push(epochClaim.parse(JSON.parse((await read(key)).toString())));
      return claims.toSorted((a, b) => a.epoch - b.epoch);
    },
    hash: async ({ manifest: { files } }) => {
      const hashes: Record<string, string> = {};
      for (const { path, extents } of files) {
        const hash = createHash("sha256");
        for (const { key, offset, length, stored } of extents) {
          const bytes = await read(key, { offset, length: stored?.length ?? length });
          hash.update(stored === undefined ? bytes : zstdDecompressSync(bytes));
        }
        hashes[path] = hash.digest("hex");
      }
      return hashes;
    },
    close: () => client.destroy(),
  };
}
