import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";

const PROGRAM = `
  import { readFileSync } from "node:fs";
  import { spawnSync } from "node:child_process";
  const { takeSecrets } = await import(${JSON.stringify(join(import.meta.dirname, "take-secrets.ts"))});
  const before = readFileSync("/proc/self/environ", "utf8");
  const taken = takeSecrets(["A_SECRET", "NOT_SET", "EMPTY"]);
  const after = readFileSync("/proc/self/environ", "utf8");
  const child = spawnSync(process.execPath, ["-p", "JSON.stringify([process.env.A_SECRET ?? null, process.env.STAYS])"]);
  console.log(JSON.stringify({ before, after, taken, own: process.env.A_SECRET ?? null, child: JSON.parse(child.stdout) }));
`;

it.runIf(process.platform === "linux")("a secret is gone from what others see, from here and from children", () => {
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", PROGRAM], {
    env: { NODE_ENV: "test", A_SECRET: "word=with=signs", EMPTY: "", STAYS: "A_SECRET", ZZ: "last" },
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  const { before, after, taken, own, child } = JSON.parse(stdout);
  expect(before).toContain("word=with=signs");
  expect(after).not.toContain("word");
  expect(after.length).toBe(before.length);
  for (const kept of ["STAYS=A_SECRET", "ZZ=last"]) expect(after).toContain(kept);
  expect(taken).toEqual({ values: { A_SECRET: "word=with=signs" }, isHidden: true });
  expect([own, child]).toEqual([null, [null, "A_SECRET"]]);
});
