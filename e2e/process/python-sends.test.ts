import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";
import { flushInput, restoreInput, saveInput, stepInput } from "#protocol/local-api/local.ts";
import { ROOT } from "../stage/start-process.ts";

/** The one file that programs copy, and the worker that answers it, have only words on a socket in common. */

const PYTHON = process.env["PYTHON"] ?? "python3";
const CLIENT = join(ROOT, "clients/python");

const SENDS = `
import json, tidemark
from fake_worker import FakeWorker
worker = FakeWorker()
try:
    client = tidemark.Client(socket_path=worker.socket_path)
    client.save("out/checkpoint-1")
    client.save("/c", run="llama", step=0, wait=True)
    for seconds in (None, 0, -1, 0.0004, 1.5, 86_400, 90_000.5, float("inf")):
        client.flush(seconds, run="llama")
    client.restore("/c", run="llama", step=500)
    client.step(7)
    print(json.dumps([[asked.path, asked.body] for asked in worker.asked]))
finally:
    worker.close()
`;
const SCHEMAS: Record<string, z.ZodType> = {
  "/v1/save": saveInput,
  "/v1/flush": flushInput,
  "/v1/restore": restoreInput,
  "/v1/step": stepInput,
};

test("what tidemark.py sends is what the worker takes", () => {
  const ran = spawnSync(PYTHON, ["-B", "-c", SENDS], { cwd: CLIENT, encoding: "utf8", timeout: 300_000 });
  expect(ran.status, ran.stderr).toBe(0);
  const sent = z.array(z.tuple([z.string(), z.unknown()])).parse(JSON.parse(ran.stdout));
  expect(new Set(sent.map(([path]) => path))).toEqual(new Set(Object.keys(SCHEMAS)));
  for (const [path, body] of sent) {
    const parsed = SCHEMAS[path]?.safeParse(body);
    expect(parsed?.error?.issues ?? [], `${path} ${JSON.stringify(body)}`).toEqual([]);
  }
});
