import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { readProcess } from "../host/list-processes.ts";
import { descendantsOf } from "./descendants.ts";

/** Says which signals it got; ends at TERM, after CONT. */
const SAYS = `trap 'echo CONT; told=yes' CONT; trap 'echo TERM' TERM; echo ready; while test -z "$told"; do sleep 0.05; done`;

/** Starts a shell in a session of its own. `closed`: all processes that could write to its output have ended. */
async function startShell(script: string, patienceMs: number) {
  const program = spawn("sh", ["-c", script], { stdio: ["ignore", "pipe", "inherit"], detached: true });
  const exited = once(program, "exit");
  const closed = once(program, "close");
  let out = "";
  program.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  await expect.poll(() => out).toContain("ready");
  const started = readProcess(program.pid ?? 0);
  if (started === null) throw new Error("the program has ended");
  const record = { id: "no-such-record", process: { ...started, session: started.pid } };
  return { exited, closed, said: () => out, descendants: descendantsOf(record, { patienceMs }) };
}

test("a process that is asked to end is continued whether or not it shows as stopped yet", async () => {
  const { exited, said, descendants } = await startShell(SAYS, 60_000);
  descendants.tell("SIGTERM");
  await exited;
  expect(said()).toContain("TERM");
  expect(said()).toContain("CONT");
});

/** A training that takes signals and saves for 1.5 s; its second signal would interrupt the save. Node would undo `&`. */
const SAVES = `
import os, signal, time
def stop(number, _):
    os.write(1, (signal.Signals(number).name + "\\n").encode())
    end = time.monotonic() + 1.5
    while time.monotonic() < end: time.sleep(0.05)
    os.write(1, b"saved\\n")
    os._exit(0)
for number in (signal.SIGTERM, signal.SIGINT): signal.signal(number, stop)
os.write(1, b"ready\\n")
while True: signal.pause()
`;
const train = `python3 -c '${SAVES}'`;
/** A launcher without handlers, which waits for its child. */
const launch = `exec flock '${import.meta.filename}' ${train}`;

test.each([
  [
    "by the trap of its shell, which ends then",
    "SIGTERM",
    `trap 'kill -TERM $P; exit 3' TERM; ${train} & P=$!; wait $P`,
  ],
  ["by the trap of its shell, which waits", "SIGTERM", `trap 'kill -TERM $P; wait $P' TERM; ${train} & P=$!; wait $P`],
  ["by us, as the trap of its shell does nothing", "SIGTERM", `trap : TERM; ${train} & wait $!; wait $!`],
  ["by us, and the shell above dies", "SIGTERM", `${train}; true`],
  ["by us, and the launcher above dies", "SIGINT", launch],
] as const)("a training that is told %s, gets no signal after its %s while it saves", async (_, signal, script) => {
  const patienceMs = 2_400;
  const { exited, closed, said, descendants } = await startShell(script, patienceMs);
  descendants.tell(signal);
  await exited;
  const isGone = await descendants.settle({
    isStopping: () => true,
    policy: "end",
    patienceMs,
    signal: AbortSignal.timeout(10_000),
    onLeft: () => undefined,
  });
  expect(isGone).toBe(true);
  await closed;
  expect(said().trim().split("\n")).toEqual(["ready", signal, "saved"]);
});
