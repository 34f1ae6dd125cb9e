import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readExposition } from "#protocol/base/read-exposition.ts";
import { closeAlone, folderOf, openAlone, startAlone, type Alone } from "../stage/open-alone.ts";
import { armFault, clearFaults } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";

/** `--notify` and `--metrics-file`: a node without a hub tells by itself. */

interface Heard {
  text: string;
  headers: IncomingHttpHeaders;
}
const KEY = "a-key-of-16-letters";

let alone: Alone;
let receiver: Server;
const heard: Heard[] = [];
beforeAll(async () => {
  alone = await openAlone();
  receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      heard.push({ text: Buffer.concat(chunks).toString(), headers: request.headers });
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((done) => receiver.listen(0, "127.0.0.1", done));
});
afterAll(async () => {
  await closeAlone(alone);
  await new Promise((done) => receiver.close(done));
});

const address = () => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
const toldBy = (node: string) =>
  heard
    .map(({ text }) => JSON.parse(text) as { rule: string; kind: string; title: string; lines: string[] })
    .filter(({ rule }) => rule.endsWith(` ${node}`));
const write = (name: string, step: number): string =>
  writeCheckpoint({ folder: folderOf(alone, name), step, modelBytes: 500_000, optimizerBytes: 500_000, loss: 1 });

test("a program that fails is told before the worker ends, and a restore is told by the next", async () => {
  const at = { run: "llama", prefix: "told" };
  const flags = ["--notify", address(), "--notify-key", KEY];
  write("first", 10);
  const program = `console.log("CUDA error: device lost"); process.exit(3)`;
  const first = await startAlone(alone, { ...at, name: "first", program, flags });
  expect(await first.exited).toMatchObject({ code: 3 });
  const [failed] = toldBy("first");
  expect(failed).toMatchObject({ kind: "firing", rule: "program-failed llama first" });
  expect(failed?.title).toContain("the program of llama ended with exit code 3");
  expect(failed?.lines).toContain("CUDA error: device lost");
  const { text = "", headers } = heard[0] ?? {};
  const id = String(headers?.["webhook-id"]);
  const mac = createHmac("sha256", KEY).update(`${id}.${String(headers?.["webhook-timestamp"])}.${text}`);
  expect(headers?.["webhook-signature"]).toBe(`v1,${mac.digest("base64")}`);
  expect(first.lines.join("\n")).not.toContain("/hook");

  const second = await startAlone(alone, { ...at, name: "second", program: "process.exit(0)", flags });
  expect(await second.exited).toMatchObject({ code: 0 });
  expect(toldBy("second").map(({ title }) => title)).toEqual(["second: step 10 of llama was restored"]);
});

test("a checkpoint that waits for too long is told, that it is safe again too, and the metrics say the same", async () => {
  const file = join(alone.dir, "tidemark.prom");
  const flags = ["--notify", address(), "--notify-after", "1s", "--metrics-file", file];
  const node = await startAlone(alone, { run: "slow", prefix: "slow", name: "waits", flags });
  await armFault(alone.store, { op: "UploadPart", action: { kind: "stall", side: "request" } });
  await armFault(alone.store, {
    op: "PutObject",
    keyPattern: "*runs/slow/*",
    action: { kind: "stall", side: "request" },
  });
  write("waits", 5);
  await waitUntil("it is told", () => toldBy("waits").length === 1);
  expect(toldBy("waits")[0]).toMatchObject({ kind: "firing", rule: "not-safe slow waits" });
  const unsafe = () => {
    const family = readExposition(readFileSync(file, "utf8")).find(({ name }) => name.endsWith("_unsafe_checkpoints"));
    return family?.samples[0]?.value;
  };
  await waitUntil("the file says so", () => unsafe() === 1);
  await clearFaults(alone.store);
  await waitUntil("it is told to be safe", () => toldBy("waits").length === 2);
  expect(toldBy("waits")[1]).toMatchObject({ kind: "resolved", title: "waits: nothing of slow waits any more" });
  await waitUntil("the file says so", () => unsafe() === 0);
  await node.stop();
});
