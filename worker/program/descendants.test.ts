import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { readProcess } from "../host/list-processes.ts";
import { descendantsOf } from "./descendants.ts";

/** Says which signals it got; ends at TERM, after CONT. */
const SAYS = `trap 'echo CONT; told=yes' CONT; trap 'echo TERM' TERM; echo ready; while test -z "$told"; do sleep 0.05; done`;

test("a process that is asked to end is continued whether or not it shows as stopped yet", async () => {
  const program = spawn("sh", ["-c", SAYS], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(program, "exit");
  let out = "";
  program.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  await expect.poll(() => out).toContain("ready");
  const started = readProcess(program.pid ?? 0);
  if (started === null) throw new Error("the program has ended");
  descendantsOf({ id: "no-such-record", process: { ...started, session: null } }, { patienceMs: 60_000 }).tell(
    "SIGTERM",
  );
  await exited;
  expect(out).toContain("TERM");
  expect(out).toContain("CONT");
});
