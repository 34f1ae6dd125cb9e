import { join } from "node:path";
import { ListObjectsV2Command } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { EngineName } from "#protocol/benchmarks/engines.ts";
import { inCi, installServer } from "../servers/install.ts";
import { installEngines } from "../servers/install-engines.ts";
import { plainClient, type S3Server } from "../servers/run-binary.ts";
import { startMinio } from "../servers/start-minio.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { addProfile, addToken } from "../stage/provision.ts";
import { runOnce } from "../stage/run-once.ts";
import { waitUntil } from "../stage/wait-until.ts";

/** Every engine that is here, with keys that a real store makes for the turn. */

const INSTALL_LIMIT_MS = 25 * 60_000;
const minio = await installServer("minio", { ci: inCi() });
if ("missing" in minio) console.warn(`NOT RUN: temporary keys need MinIO: ${minio.missing}.`);

let server: S3Server;
let stage: Stage;
let engines: Awaited<ReturnType<typeof installEngines>>;
beforeAll(async () => {
  if ("missing" in minio) return;
  engines = await installEngines();
  server = await startMinio(minio.program);
  stage = await openStage();
}, INSTALL_LIMIT_MS);
afterAll(async () => {
  await stage?.close();
  await server?.stop();
});

interface Line {
  type: string;
  engine?: EngineName;
  direction?: string;
  fault?: { code: string; detail?: string } | null;
}

test.skipIf("missing" in minio)(
  "engines that need a key move the bytes with one that the store made for the turn's folder",
  { timeout: 400_000 },
  async () => {
    const { client } = stage;
    const profileId = await addProfile(client, { name: "real store", store: server, prefix: "team/" });
    const token = await addToken(client, { profileId, maxUses: 1 });
    const worker = await stage.startNode({ name: "gpu", run: "gpu", token });
    await waitUntil("it has joined", async () =>
      (await client.nodes.list.query()).some(({ state }) => state === "online"),
    );
    await worker.stop();
    const way = { call: "sts", endpoint: server.endpoint, roleArn: null } as const;
    await client.benchmarks.setKey.mutate({ profileId, key: { kind: "temporary", way }, grant: null });

    const state = join(stage.dir, "nodes", "gpu", "state");
    const small = ["--size", "12MB", "--part-size", "5MiB", "--concurrency", "3", "--seed", "7"];
    const { code, stdout, stderr } = await runOnce(
      "worker/main.ts",
      [
        "bench",
        "--profile",
        "real store",
        "--state",
        state,
        "--scratch",
        join(stage.dir, "scratch"),
        ...small,
        "--json",
      ],
      { env: { ...engines.env, AWS_ACCESS_KEY_ID: "", AWS_SECRET_ACCESS_KEY: "" }, withinMs: 380_000 },
    );
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line): Line => JSON.parse(line));
    const cases = lines.filter(({ type }) => type === "case");
    expect(cases.filter(({ fault }) => fault !== null)).toEqual([]);
    expect([code, stderr]).toEqual([0, ""]);
    const done = cases.map(({ engine, direction }) => `${String(engine)} ${String(direction)}`);
    const wanted = engines.able.flatMap((name) =>
      name === "aria2" ? [`${name} down`] : [`${name} up`, `${name} down`],
    );
    expect(done.toSorted()).toEqual(wanted.toSorted());
    expect(stdout).not.toContain(server.secretKey);

    const owner = plainClient(server);
    const folder = { Bucket: server.bucket, Prefix: "team/_tidemark/bench/" };
    const left = async () => (await owner.send(new ListObjectsV2Command(folder))).KeyCount;
    await waitUntil("the hub has tidied up", async () => (await left()) === 0);
    owner.destroy();
  },
);
