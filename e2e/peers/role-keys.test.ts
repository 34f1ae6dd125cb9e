import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inCi, installServer } from "../servers/install.ts";
import type { S3Server } from "../servers/run-binary.ts";
import { startMinio } from "../servers/start-minio.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { testedWorker } from "../stage/start-worker.ts";

/** Sessions of a real Security Token Service: a hub's bucket profile, and a command with a profile of AWS. */

const minio = await installServer("minio", { ci: inCi() });
if ("missing" in minio) console.warn(`NOT RUN: roles need MinIO: ${minio.missing}.`);

describe.skipIf("missing" in minio)("a role at MinIO", () => {
  let server: S3Server;
  let stage: Stage;
  let dir: string;
  beforeAll(async () => {
    if ("missing" in minio) return;
    server = await startMinio(minio.program);
    stage = await openStage();
    dir = mkdtempSync(join(tmpdir(), "tidemark-role-"));
  });
  afterAll(async () => {
    await stage?.close();
    await server?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  test("signs for a bucket profile, and every operation that the product needs works with it", async () => {
    const { client } = stage;
    const { id } = await client.profiles.create.mutate({
      profile: {
        name: "by role",
        provider: "minio",
        bucket: server.bucket,
        region: server.region,
        prefix: "",
        endpoint: server.endpoint,
        workerEndpoint: null,
        browserEndpoint: null,
        addressing: "path",
      },
      credential: { accessKeyId: server.accessKey, secretAccessKey: server.secretKey },
      keyBy: { call: "sts", endpoint: server.endpoint, roleArn: null, externalId: null },
    });
    const view = await client.profiles.test.mutate({ id, profile: null, credential: null });
    expect([view.ok, view.checks.filter(({ outcome }) => outcome === "failed" || outcome === "refused")]).toEqual([
      true,
      [],
    ]);
  });

  test("is taken by a command with role_arn and source_profile", async () => {
    mkdirSync(join(dir, ".aws"));
    const config = [
      "[profile base]",
      `aws_access_key_id = ${server.accessKey}`,
      `aws_secret_access_key = ${server.secretKey}`,
      "[profile training]",
      "role_arn = arn:minio:iam:::role/any",
      "source_profile = base",
      `endpoint_url = ${server.endpoint}`,
      `region = ${server.region}`,
    ];
    writeFileSync(join(dir, ".aws/config"), config.join("\n"));
    writeFileSync(join(dir, "file"), "by role");
    const env = {
      HOME: dir,
      AWS_PROFILE: "training",
      AWS_ENDPOINT_URL_STS: server.endpoint,
      TIDEMARK_STATE: join(dir, "state"),
    };
    const at = `s3://${server.bucket}/by-role`;
    const sent = await runOnce(testedWorker(), ["cp", join(dir, "file"), at], { env });
    expect([sent.code, sent.stderr]).toEqual([0, expect.anything()]);
    expect((await runOnce(testedWorker(), ["cp", at, join(dir, "back")], { env })).code).toBe(0);
    expect(readFileSync(join(dir, "back"), "utf8")).toBe("by role");
  });
});
