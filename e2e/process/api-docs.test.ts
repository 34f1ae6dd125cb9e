import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createHubClient, signIn } from "../stage/hub-client.ts";
import { addProfile } from "../stage/provision.ts";
import { startHub, type RunningHub } from "../stage/start-hub.ts";
import { ROOT } from "../stage/start-process.ts";

/** docs/api.md does what it says: its examples are run in one shell, in their order, against a hub that was just started. */

const ADMIN = { email: "ada@example.com", password: "a-long-enough-password" };
const MARK = "=== example ===";

interface Example {
  shell: string;
  /** What stands below it; null where nothing does. */
  shown: unknown;
}

function readExamples(): Example[] {
  const text = readFileSync(join(ROOT, "docs/api.md"), "utf8");
  const blocks = [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, kind = "", body = ""]) => ({ kind, body }));
  return blocks.flatMap(({ kind, body }, index) => {
    if (kind !== "sh") return [];
    const next = blocks[index + 1];
    return [{ shell: body, shown: next?.kind === "json" ? (JSON.parse(next.body) as unknown) : null }];
  });
}

/** A value with what changes from hub to hub left out: numbers and texts become their kind, but codes and names stay. */
function shapeOf(value: unknown, key = ""): unknown {
  if (Array.isArray(value)) return value.map((one) => shapeOf(one));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner, name)]));
  }
  const stays = [
    "code",
    "role",
    "fleet",
    "message",
    "action",
    "httpStatus",
    "kind",
    "email",
    "name",
    "text",
    "version",
  ];
  return stays.includes(key) || value === null || typeof value === "boolean" ? value : typeof value;
}

let hub: RunningHub;
let folder = "";
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tidemark-api-"));
  hub = await startHub({ dataDir: join(folder, "hub"), admin: ADMIN });
  const client = createHubClient(hub.url, await signIn(hub.url, ADMIN));
  const store = { endpoint: "http://127.0.0.1:9", bucket: "training", accessKey: "AKIATEST", secretKey: "secret-key" };
  await addProfile(client, { name: "training", store });
});
afterAll(async () => {
  await hub.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("the examples of docs/api.md answer as the page says", async () => {
  const examples = readExamples();
  expect(examples.length).toBeGreaterThan(7);
  const script = examples.map(({ shell }) => `echo '${MARK}'\n${shell}`).join("\necho\n");
  const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", script], {
    cwd: folder,
    env: { NODE_ENV: "test", PATH: process.env["PATH"], HUB: hub.url, EMAIL: ADMIN.email, PASSWORD: ADMIN.password },
  });
  const said = stdout.split(`${MARK}\n`).slice(1);
  expect(said).toHaveLength(examples.length);
  for (const [index, { shell, shown }] of examples.entries()) {
    const text = said[index] ?? "";
    if (shown === null) expect(text, shell).toContain("data: ");
    else expect(shapeOf(JSON.parse(text)), shell).toEqual(shapeOf(shown));
  }
});

test("the hub describes its API, and what it describes is there", async () => {
  const description = (await (await fetch(`${hub.url}/api/openapi.json`)).json()) as { paths: Record<string, object> };
  const paths = Object.entries(description.paths);
  expect(paths.length).toBeGreaterThan(40);
  for (const [path, methods] of paths) {
    const isQuery = "get" in methods;
    const init = isQuery ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
    const answer = await fetch(`${hub.url}${path}`, init);
    await answer.body?.cancel();
    // Refused, or asked wrongly: what is not there is neither.
    expect([200, 400, 401, 403], path).toContain(answer.status);
  }
});
