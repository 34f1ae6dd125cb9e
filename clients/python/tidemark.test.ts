import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

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
