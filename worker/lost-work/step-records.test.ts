import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { parseStepRecord, STEP_RECORD_BYTES } from "./parse-step-record.ts";
import { openStepRecords, type StepRecords } from "./step-records.ts";

const PYTHON = process.env["PYTHON"] ?? "python3";
const CLIENT = resolve(import.meta.dirname, "../../clients/python");
const run = runName.parse("story");

let folder: string;
let records: StepRecords;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tidemark-steps-"));
  records = openStepRecords(join(folder, "steps"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** What a program with the real client writes, without any worker. */
function program(path: string, code: string): void {
  const env = { ...process.env, TIDEMARK_STEP_RECORD: path, TIDEMARK_SOCKET: join(folder, "nobody") };
  execFileSync(PYTHON, ["-B", "-c", `import os, tidemark\n${code}`], { cwd: CLIENT, env });
}

test("reads what the Python client wrote, and the next program goes on where it left off", () => {
  const path = records.renew(run);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(records.read(run)).toBeNull();
  const before = Date.now();
  program(path, "for n in range(1, 38): tidemark.step(n)");
  const first = records.read(run);
  expect(first).toMatchObject({ turn: 37, step: 37, id: expect.stringMatching(/^[0-9a-f]{32}$/) });
  expect(first?.at).toBeGreaterThanOrEqual(before);
  expect(first?.at).toBeLessThanOrEqual(Date.now());
  program(path, `tidemark.step(20, "story"); tidemark.step(999_999_999_999, "story")`);
  expect(records.read(run)).toMatchObject({ id: first?.id, turn: 39, step: 999_999_999_999 });
  expect(readFileSync(path).length).toBe(STEP_RECORD_BYTES);
});

test("a step that is none, and one of another run, are not written", () => {
  const path = records.renew(run);
  program(path, `tidemark.step(-1); tidemark.step(10**12); tidemark.step("x"); tidemark.step(5, "another")`);
  expect(records.read(run)).toBeNull();
  program(path, "tidemark.step(0)");
  expect(records.read(run)).toMatchObject({ turn: 1, step: 0 });
});

test("of two processes one writes, and another may when it has ended", () => {
  const path = records.renew(run);
  const code = `tidemark.step(5)
pid = os.fork()
if pid == 0:
  tidemark.step(6)
  os._exit(0)
os.waitpid(pid, 0)`;
  program(path, code);
  expect(records.read(run)?.step).toBe(5);
  program(path, "tidemark.step(7)");
  expect(records.read(run)?.step).toBe(7);
});

test("whatever bit of it is changed, what is read is what was written last, what was written before, or nothing", () => {
  const path = records.renew(run);
  program(path, "tidemark.step(41); tidemark.step(42)");
  const whole = readFileSync(path);
  const [last, before] = [parseStepRecord(whole, run), { turn: 1, step: 41 }];
  expect(last).toMatchObject({ turn: 2, step: 42 });
  for (let bit = 0; bit < STEP_RECORD_BYTES * 8; bit++) {
    const torn = Buffer.from(whole);
    torn[bit >> 3] = (torn[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    const read = parseStepRecord(torn, run);
    if (bit < 64 * 8) expect(read).toBeNull();
    // An even turn is in the first slot.
    else if (bit < 128 * 8) expect(read).toMatchObject(before);
    else expect(read).toEqual(last);
  }
  for (let bytes = 0; bytes < STEP_RECORD_BYTES; bytes++) {
    const cut = parseStepRecord(whole.subarray(0, bytes), run);
    expect(cut === null || cut.step === 42).toBe(true);
  }
});

test("half of a new turn over an older one is torn: the one between counts", () => {
  const path = records.renew(run);
  program(path, "for n in (41, 42, 43): tidemark.step(n)");
  const older = readFileSync(path);
  program(path, "tidemark.step(44)");
  const torn = Buffer.concat([readFileSync(path).subarray(0, 64 + 30), older.subarray(64 + 30)]);
  expect(parseStepRecord(torn, run)).toMatchObject({ turn: 3, step: 43 });
});

test("a file of another run, a slot of another file, a link and rubbish count for nothing", () => {
  const path = records.renew(run);
  program(path, "tidemark.step(42)");
  const other = runName.parse("other");
  const earlier = readFileSync(path);
  writeFileSync(records.renew(other), earlier);
  expect(records.read(other)).toBeNull();
  const renewed = readFileSync(records.renew(run));
  writeFileSync(path, Buffer.concat([renewed.subarray(0, 64), earlier.subarray(64)]));
  expect(records.read(run)).toBeNull();
  writeFileSync(path, "x".repeat(1000));
  expect(records.read(run)).toBeNull();
  writeFileSync(join(folder, "elsewhere"), earlier);
  rmSync(path);
  symlinkSync(join(folder, "elsewhere"), path);
  expect(records.read(run)).toBeNull();
});

test("a worker that starts again beside its program keeps the file, and makes anew what is none", () => {
  const path = records.keep(run);
  program(path, "tidemark.step(42)");
  expect(records.keep(run)).toBe(path);
  expect(records.read(run)?.step).toBe(42);
  writeFileSync(path, "rubbish");
  records.keep(run);
  expect(records.read(run)).toBeNull();
  program(path, "tidemark.step(43)");
  expect(records.read(run)?.step).toBe(43);
});

test("after a new start of the program nobody reads what one of the start before still writes", () => {
  const path = records.renew(run);
  const code = `tidemark.step(1)
os.rename(${JSON.stringify(`${path}.next`)}, ${JSON.stringify(path)})
tidemark.step(99)`;
  const next = openStepRecords(join(folder, "next"));
  writeFileSync(`${path}.next`, readFileSync(next.renew(run)));
  program(path, code);
  expect(records.read(run)).toBeNull();
});

test("where no file can be made, that is said", () => {
  writeFileSync(join(folder, "steps"), "");
  expect(() => records.renew(run)).toThrow(/could not be written/);
});
