import { createReadStream } from "node:fs";
import { mkdir, open, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
  paginateListObjectsV2,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";

/**
 * The AWS SDK reference, a program of its own: what a careful person writes with the SDK in an afternoon.
 *
 *   sdk-reference.ts up|down file|folder ENDPOINT BUCKET KEY PATH
 */

const PART_BYTES = 10_000_000;
const PARTS_IN_FLIGHT = 10;
const FILES_IN_FLIGHT = 64;

const [direction, kind, endpoint = "", Bucket = "", key = "", path = ""] = process.argv.slice(2);
const client = new S3Client({ endpoint, forcePathStyle: true });

/** Processes `items`, `width` of them at a time. */
async function inParallel<T>(items: readonly T[], width: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}

async function uploadFile(): Promise<void> {
  const Body = createReadStream(path);
  await new Upload({
    client,
    params: { Bucket, Key: key, Body },
    queueSize: PARTS_IN_FLIGHT,
    partSize: PART_BYTES,
  }).done();
}

async function downloadFile(): Promise<void> {
  const { ContentLength: size = 0 } = await client.send(new HeadObjectCommand({ Bucket, Key: key }));
  await using file = await open(path, "w");
  const starts = Array.from({ length: Math.ceil(size / PART_BYTES) }, (_, index) => index * PART_BYTES);
  await inParallel(starts, PARTS_IN_FLIGHT, async (start) => {
    const Range = `bytes=${start}-${Math.min(start + PART_BYTES, size) - 1}`;
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: key, Range }));
    if (Body === undefined) throw new Error("The answer has no body.");
    const bytes = await Body.transformToByteArray();
    await file.write(bytes, 0, bytes.length, start);
  });
}

async function uploadFolder(): Promise<void> {
  await inParallel(await readdir(path), FILES_IN_FLIGHT, async (name) => {
    await client.send(new PutObjectCommand({ Bucket, Key: `${key}/${name}`, Body: await readFile(join(path, name)) }));
  });
}

async function downloadFolder(): Promise<void> {
  await mkdir(path, { recursive: true });
  const keys: string[] = [];
  for await (const page of paginateListObjectsV2({ client }, { Bucket, Prefix: `${key}/` })) {
    for (const { Key } of page.Contents ?? []) if (Key !== undefined) keys.push(Key);
  }
  await inParallel(keys, FILES_IN_FLIGHT, async (Key) => {
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
    if (Body === undefined) throw new Error("The answer has no body.");
    await writeFile(join(path, Key.slice(key.length + 1)), await Body.transformToByteArray());
  });
}

const work = { up: { file: uploadFile, folder: uploadFolder }, down: { file: downloadFile, folder: downloadFolder } };
await work[direction === "up" ? "up" : "down"][kind === "folder" ? "folder" : "file"]();
client.destroy();
