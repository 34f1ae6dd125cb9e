import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readTemporaryKey } from "#storage/signing/read-temporary-key.ts";
import { sendSigned } from "#storage/s3/send.ts";
import type { Credential } from "#storage/signing/sigv4.ts";
import { askTemporaryKey } from "#storage/signing/temporary-key.ts";
import { plainClient, type S3Server } from "../servers/run-binary.ts";
import { inCi, installServer } from "../servers/install.ts";
import { startMinio } from "../servers/start-minio.ts";

/** A key that a real store makes for one folder, and what that store lets it do. */

const FOLDER = "team/_tidemark/bench/0123456789abcdef/";
const minio = await installServer("minio", { ci: inCi() });
if ("missing" in minio) console.warn(`NOT RUN: temporary keys need MinIO: ${minio.missing}.`);

async function makeKey(server: S3Server): Promise<Credential> {
  const op = "AssumeRole";
  const { url, headers, body } = askTemporaryKey(
    {
      way: { call: "sts", endpoint: server.endpoint, roleArn: null },
      isAws: false,
      region: server.region,
      bucket: server.bucket,
      folder: FOLDER,
      lifetimeMs: 900_000,
    },
    { credential: { accessKeyId: server.accessKey, secretAccessKey: server.secretKey }, nowMs: Date.now() },
  );
  const request = { method: "POST", url, headers, expiresAt: 0 } as const;
  const answer = await sendSigned(request, { fetch, op, subject: url, body, timeoutMs: 20_000 });
  return readTemporaryKey(answer, { op, subject: url });
}

describe.skipIf("missing" in minio)("a temporary key", () => {
  let server: S3Server;
  let owner: S3Client;
  let lent: S3Client;
  beforeAll(async () => {
    if ("missing" in minio) return;
    server = await startMinio(minio.program);
    owner = plainClient(server);
    const { accessKeyId, secretAccessKey, sessionToken } = await makeKey(server);
    lent = plainClient({
      ...server,
      accessKey: accessKeyId,
      secretKey: secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
    });
  });
  afterAll(async () => {
    owner?.destroy();
    lent?.destroy();
    await server?.stop();
  });
  const at = (Key: string) => ({ Bucket: server.bucket, Key });
  const refused = { name: "AccessDenied" };

  it("opens its folder for reading, writing and listing", async () => {
    await lent.send(new PutObjectCommand({ ...at(`${FOLDER}one`), Body: "bytes" }));
    const { Body } = await lent.send(new GetObjectCommand(at(`${FOLDER}one`)));
    expect(await Body?.transformToString()).toBe("bytes");
    const { Contents } = await lent.send(new ListObjectsV2Command({ Bucket: server.bucket, Prefix: FOLDER }));
    expect(Contents?.map(({ Key }) => Key)).toEqual([`${FOLDER}one`]);
  });

  it("opens nothing else, and deletes nothing", async () => {
    await owner.send(new PutObjectCommand({ ...at("runs/llama/model.bin"), Body: "bytes" }));
    await owner.send(new PutObjectCommand({ ...at(`${FOLDER}kept`), Body: "bytes" }));
    await expect(lent.send(new GetObjectCommand(at("runs/llama/model.bin")))).rejects.toMatchObject(refused);
    await expect(lent.send(new PutObjectCommand({ ...at("runs/x"), Body: "b" }))).rejects.toMatchObject(refused);
    await expect(lent.send(new DeleteObjectCommand(at(`${FOLDER}kept`)))).rejects.toMatchObject(refused);
    for (const Prefix of ["", "runs/", "team/"]) {
      const list = lent.send(new ListObjectsV2Command({ Bucket: server.bucket, Prefix }));
      await expect(list, Prefix).rejects.toMatchObject(refused);
    }
  });
});
