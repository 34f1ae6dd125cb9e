import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import * as z from "zod";
import { flushInput, restoreInput, saveInput, stepInput } from "#protocol/local.ts";

/** The Python file has its tests beside it, in Python; they need nothing but the interpreter. */

const PYTHON = process.env["PYTHON"] ?? "python3";

test("tidemark.py does what its own tests say", () => {
  const ran = spawnSync(PYTHON, ["-B", "-m", "unittest", "test_tidemark"], {
    cwd: import.meta.dirname,
    encoding: "utf8",
    timeout: 50_000,
  });
  if (ran.error !== undefined) {
    throw new Error(`The tests of tidemark.py need Python 3.8 or newer as "${PYTHON}"; set PYTHON to yours.`, {
      cause: ran.error,
    });
  }
  const said = ran.stderr;
  expect(ran.status, said).toBe(0);
  expect(Number(/^Ran (\d+) tests?/m.exec(said)?.[1] ?? 0), said).toBeGreaterThan(0);
  expect(said).toMatch(/^OK$/m);
});

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
  const ran = spawnSync(PYTHON, ["-B", "-c", SENDS], { cwd: import.meta.dirname, encoding: "utf8", timeout: 50_000 });
  expect(ran.status, ran.stderr).toBe(0);
  const sent = z.array(z.tuple([z.string(), z.unknown()])).parse(JSON.parse(ran.stdout));
  expect(new Set(sent.map(([path]) => path))).toEqual(new Set(Object.keys(SCHEMAS)));
  for (const [path, body] of sent) {
    const parsed = SCHEMAS[path]?.safeParse(body);
    expect(parsed?.error?.issues ?? [], `${path} ${JSON.stringify(body)}`).toEqual([]);
  }
});
