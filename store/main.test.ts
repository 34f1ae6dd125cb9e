import { spawn, type ChildProcess } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { allRows, openDatabase, textOf } from "./database.ts";
import { canonicalQuery, canonicalRequest, requestSignature, scopeText, signingKey } from "./sigv4.ts";

let folder: string;
const running = new Set<ChildProcess>();
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-store-main-"));
});
afterEach(async () => {
  for (const child of running) child.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

type Ended = { readonly code: number | null; readonly stderr: string };
type Started = { readonly child: ChildProcess; readonly endpoint: Promise<string>; readonly ended: Promise<Ended> };

function start(...flags: readonly string[]): Started {
  const main = join(import.meta.dirname, "main.ts");
  const child = spawn(process.execPath, [main, "--data", join(folder, "data"), "--bucket", "box", ...flags], {
    env: { ...process.env, TIDEMARK_STORE_ACCESS_KEY: "key", TIDEMARK_STORE_SECRET_KEY: "secret" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  let stdout = "";
  let stderr = "";
  const endpoint = new Promise<string>((resolve) => {
    child.stdout.on("data", (chunk: Buffer) => {
      stdout += chunk.toString();
      const line = stdout.split("\n")[0] ?? "";
      if (stdout.includes("\n")) resolve((JSON.parse(line) as { endpoint: string }).endpoint);
    });
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const ended = new Promise<Ended>((resolve) => {
    child.once("close", (code) => {
      running.delete(child);
      resolve({ code, stderr });
    });
  });
  return { child, endpoint, ended };
}

function presign(endpoint: string, given: { method: string; path: string; query?: string }): string {
  const date = `${new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z`;
  const scope = { date: date.slice(0, 8), region: "us-east-1", service: "s3" };
  const own = `X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=${encodeURIComponent(`key/${scopeText(scope)}`)}&X-Amz-Date=${date}&X-Amz-Expires=600&X-Amz-SignedHeaders=host`;
  const rawQuery = canonicalQuery(given.query === undefined ? own : `${given.query}&${own}`);
  const canonical = canonicalRequest({
    method: given.method,
    rawPath: given.path,
    rawQuery,
    headers: new Map([["host", new URL(endpoint).host]]),
    signedHeaders: ["host"],
    payloadHash: "UNSIGNED-PAYLOAD",
  });
  const signature = requestSignature({ key: signingKey("secret", scope), amzDate: date, scope }, canonical);
  return `${endpoint}${given.path}?${rawQuery}&X-Amz-Signature=${signature}`;
}

/** Every file of bytes there is, kept or not. */
async function blobFiles(): Promise<string[]> {
  const entries = await readdir(join(folder, "data"), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith("index.sqlite"));
  return files.map((entry) => entry.name).toSorted((left, right) => left.localeCompare(right));
}

/** Every blob that the index of a stopped store needs. */
function indexedBlobs(): string[] {
  const database = openDatabase(join(folder, "data", "index.sqlite"), "process-kill");
  const rows = allRows(database, "SELECT blob FROM segments UNION ALL SELECT blob FROM parts");
  database.close();
  return rows.map((row) => textOf(row, "blob")).toSorted((left, right) => left.localeCompare(right));
}

const md5 = (bytes: Buffer): string => createHash("md5").update(bytes).digest("hex");

describe("the program", () => {
  it("says when it is ready, and ends cleanly when it is told to", async () => {
    const { child, endpoint, ended } = start("--port", "0");
    const url = presign(await endpoint, { method: "PUT", path: "/box/k" });
    expect((await fetch(url, { method: "PUT", body: "x" })).status).toBe(200);
    child.kill("SIGTERM");
    expect(await ended).toEqual({ code: 0, stderr: "" });
  });

  it("says that its port is in use", async () => {
    const squatter = createServer();
    await new Promise<void>((resolve) => {
      squatter.listen(0, "127.0.0.1", resolve);
    });
    const { port } = squatter.address() as AddressInfo;
    const { code, stderr } = await start("--port", String(port)).ended;
    squatter.close();
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`^Port ${port} on 127.0.0.1 is in use\\. .*--port.*\\n$`));
  });

  it("says that its folder cannot be written", async () => {
    await writeFile(join(folder, "data"), "a file where the folder should be");
    const { code, stderr } = await start().ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^The folder .* cannot be written \(E[A-Z]+\)\. .*\n$/);
  });

  it("refuses a folder that another store uses", async () => {
    await start().endpoint;
    const { code, stderr } = await start().ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/is used by another store/);
  });
});

describe("a store killed at any time", () => {
  it("has every object and part that it acknowledged, whole, and nothing half-written", async () => {
    const acknowledged = new Map<string, string>();
    const parts = new Map<number, string>();
    let uploadId = "";
    for (let round = 0; round < 4; round++) {
      const { child, endpoint, ended } = start();
      const at = await endpoint;
      if (uploadId === "") {
        const created = await fetch(presign(at, { method: "POST", path: "/box/multi", query: "uploads=" }), {
          method: "POST",
        });
        uploadId = /<UploadId>([^<]*)/.exec(await created.text())?.[1] ?? "";
      }
      let acknowledgedNow = 0;
      const worker = async (lane: number): Promise<void> => {
        for (let turn = 0; ; turn++) {
          const bytes = randomBytes(20_000 + Math.floor(Math.random() * 200_000));
          const partNumber = 1 + round * 1000 + lane * 100 + turn;
          const query = lane === 0 ? `partNumber=${partNumber}&uploadId=${uploadId}` : undefined;
          const key = lane === 0 ? "multi" : `k${lane}-${turn % 3}`;
          const request = { method: "PUT", path: `/box/${key}`, ...(query === undefined ? {} : { query }) };
          const answer = await fetch(presign(at, request), { method: "PUT", body: Uint8Array.from(bytes) }).catch(
            () => null,
          );
          if (answer?.status !== 200) {
            if (lane !== 0) acknowledged.delete(key);
            return;
          }
          acknowledgedNow += 1;
          if (lane === 0) parts.set(partNumber, md5(bytes));
          else acknowledged.set(key, md5(bytes));
        }
      };
      const lanes = [0, 1, 2, 3].map(worker);
      await expect.poll(() => acknowledgedNow).toBeGreaterThan(5 + round * 7);
      child.kill("SIGKILL");
      await Promise.all([...lanes, ended]);
    }
    const last = start();
    const at = await last.endpoint;
    expect(acknowledged.size + parts.size).toBeGreaterThan(20);
    for (const [key, digest] of acknowledged) {
      const read = await fetch(presign(at, { method: "GET", path: `/box/${key}` }));
      expect(md5(Buffer.from(await read.arrayBuffer()))).toBe(digest);
    }
    const listed = await fetch(presign(at, { method: "GET", path: "/box/multi", query: `uploadId=${uploadId}` }));
    const xml = await listed.text();
    const found = new Map(
      [...xml.matchAll(/<PartNumber>(\d+)<.*?<ETag>&quot;([0-9a-f]+)/g)].map((match) => [Number(match[1]), match[2]]),
    );
    for (const [number, digest] of parts) expect(found.get(number)).toBe(digest);
    last.child.kill("SIGTERM");
    expect((await last.ended).code).toBe(0);
    expect(await blobFiles()).toEqual(indexedBlobs());
  });
});
