import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { inCi, installPythonClients, installRclone, type Tool, withAllPeers } from "../servers/install.ts";
import type { S3Server } from "../servers/run-binary.ts";
import { startEmbeddedStore } from "../servers/start-store.ts";
import { MIB } from "./case.ts";

/** Clients that we did not write use the embedded store: if it were only our own idea of S3, they would stumble. */

const run = promisify(execFile);
const tools = await installPythonClients({ ci: inCi() });
const rclone = withAllPeers() ? await installRclone({ ci: inCi() }) : null;
const SIZE_BYTES = 20 * MIB;

let server: S3Server;
let folder: string;
let source: string;
let target: string;
let sha256Hex: string;

beforeAll(async () => {
  server = await startEmbeddedStore();
  folder = await mkdtemp(join(tmpdir(), "tidemark-clients-"));
  source = join(folder, "source.bin");
  target = join(folder, "target.bin");
  const bytes = randomBytes(SIZE_BYTES);
  sha256Hex = createHash("sha256").update(bytes).digest("hex");
  await writeFile(source, bytes);
});

afterAll(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

const hashOf = async (path: string): Promise<string> =>
  createHash("sha256")
    .update(await readFile(path))
    .digest("hex");

/** An environment that holds these keys and none of the machine's own configuration. */
function environment(more: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return {
    ...process.env,
    AWS_ACCESS_KEY_ID: server.accessKey,
    AWS_SECRET_ACCESS_KEY: server.secretKey,
    AWS_DEFAULT_REGION: server.region,
    AWS_CONFIG_FILE: join(folder, "none"),
    AWS_SHARED_CREDENTIALS_FILE: join(folder, "none"),
    AWS_EC2_METADATA_DISABLED: "true",
    ENDPOINT: server.endpoint,
    ...more,
  };
}

/** A suite for a client, or a note that it did not run. */
function suite(name: string, tool: Tool, body: (program: string) => void): void {
  if ("missing" in tool) {
    console.warn(`NOT RUN with ${name}: ${tool.missing}. In CI this is a failure.`);
    describe.skip(`${name} (not run: ${tool.missing})`, () => it("uses the embedded store", () => undefined));
  } else {
    describe(name, () => body(tool.program));
  }
}

for (const provider of rclone === null ? [] : ["Other", "AWS"]) {
  suite(`rclone as provider ${provider}`, rclone ?? { missing: "it is not built here" }, (program) => {
    it("uploads in parts, lists, verifies, downloads, copies and purges", async () => {
      const prefix = `rclone-${provider}`;
      const env = environment({
        RCLONE_CONFIG: join(folder, "rclone.conf"),
        RCLONE_CONFIG_T_TYPE: "s3",
        RCLONE_CONFIG_T_PROVIDER: provider,
        RCLONE_CONFIG_T_ENDPOINT: server.endpoint,
        RCLONE_CONFIG_T_ACCESS_KEY_ID: server.accessKey,
        RCLONE_CONFIG_T_SECRET_ACCESS_KEY: server.secretKey,
        RCLONE_CONFIG_T_FORCE_PATH_STYLE: "true",
        RCLONE_S3_UPLOAD_CUTOFF: "5M",
        RCLONE_S3_CHUNK_SIZE: "5M",
        RCLONE_RETRIES: "1",
        RCLONE_LOW_LEVEL_RETRIES: "1",
      });
      const rclone = async (...args: string[]): Promise<string> => (await run(program, args, { env })).stdout;
      const remote = `T:${server.bucket}/${prefix}`;
      await rclone("copyto", source, `${remote}/a b/ü.bin`);
      await rclone("copyto", `${remote}/a b/ü.bin`, `${remote}/copy.bin`);
      const listed = await rclone("lsf", "-R", "--files-only", "--format", "ps", remote);
      expect(
        listed
          .trim()
          .split("\n")
          .toSorted((left, right) => left.localeCompare(right)),
      ).toEqual([`a b/ü.bin;${SIZE_BYTES}`, `copy.bin;${SIZE_BYTES}`]);
      await rclone(
        "copyto",
        "--multi-thread-cutoff",
        "5M",
        "--multi-thread-streams",
        "4",
        `${remote}/copy.bin`,
        target,
      );
      expect(await hashOf(target)).toBe(sha256Hex);
      await rclone("purge", remote);
      expect(await rclone("lsf", "-R", `T:${server.bucket}/${prefix}/`).catch(() => "")).toBe("");
    });
  });
}

suite("boto3", tools.python, (program) => {
  it("uploads in parts, lists, downloads, copies and deletes", async () => {
    const script = join(import.meta.dirname, "boto3-smoke.py");
    const args = [script, source, target, server.bucket, "boto3/"];
    const { stdout } = await run(program, args, { env: environment({}) });
    const shape = z.object({
      listed: z.array(z.string()),
      etag: z.string(),
      metadata: z.record(z.string(), z.string()),
      copied: z.string(),
      left: z.number(),
    });
    const result = shape.parse(JSON.parse(stdout));
    expect(result.listed).toEqual(["boto3/boto 3/ü.bin"]);
    expect(result.etag).toMatch(/^"[0-9a-f]{32}-4"$/);
    expect(result.metadata).toEqual({ step: "7" });
    expect(result.copied).toBe(sha256Hex);
    expect(result.left).toBe(0);
    expect(await hashOf(target)).toBe(sha256Hex);
  });
});

suite("the aws command", tools.aws, (program) => {
  it("uploads in parts, lists, downloads, copies and removes", async () => {
    const env = environment({});
    const aws = async (...args: string[]): Promise<string> =>
      (await run(program, ["--endpoint-url", server.endpoint, ...args], { env })).stdout;
    const at = `s3://${server.bucket}/aws`;
    await aws("s3", "cp", "--no-progress", source, `${at}/a b/ü.bin`);
    await aws("s3", "cp", "--no-progress", `${at}/a b/ü.bin`, `${at}/copy.bin`);
    const listed = await aws("s3", "ls", "--recursive", `${at}/`);
    expect(listed).toContain(`${SIZE_BYTES} aws/a b/ü.bin`);
    expect(listed).toContain(`${SIZE_BYTES} aws/copy.bin`);
    await aws("s3", "cp", "--no-progress", `${at}/copy.bin`, target);
    expect(await hashOf(target)).toBe(sha256Hex);
    await aws("s3", "rm", "--recursive", `${at}/`);
    expect(await aws("s3", "ls", `s3://${server.bucket}/`)).not.toContain("aws/");
  });
});
