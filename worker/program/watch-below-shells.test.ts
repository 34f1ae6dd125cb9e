import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { listProcesses, maySeeEnd, readProcess, signalProcess } from "../host/list-processes.ts";
import { runAsOtherUser } from "../testing/as-other-user.ts";
import { lookAtProcess } from "./choose-told.ts";
import { shellsToHold, watchBelowShells } from "./watch-below-shells.ts";

/** Starts a shell that waits for a program of its own, and returns both as they are told SIGTERM. */
async function startBelow(program: string) {
  const shell = spawn("sh", ["-c", `${program}; true`], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(shell, "exit");
  await once(shell.stdout, "data");
  const isOurs = ({ pid, parent }: { pid: number; parent: number }) => pid === shell.pid || parent === shell.pid;
  const told = listProcesses()
    .filter(isOurs)
    .map((one) => lookAtProcess(one, "SIGTERM"));
  return { shell, exited, told };
}

const ENDS_WITH_3 = `node -e 'process.on("SIGTERM", () => setTimeout(() => process.exit(3), 300)); setInterval(() => {}, 1e6); console.log("ready")'`;

test("a shell that would die first is stopped until what trains below it has ended, and that end is learned", async () => {
  const { exited, told } = await startBelow(ENDS_WITH_3);
  const held = shellsToHold(told);
  expect(held).toHaveLength(1);
  const ended: { pid: number; status: number }[] = [];
  await watchBelowShells(held, {
    tell: () => {
      for (const one of told) signalProcess(one, "SIGTERM");
    },
    ended: (end) => void ended.push(end),
  });
  expect(ended).toEqual([{ pid: held[0]?.children[0]?.pid, status: 3 << 8 }]);
  expect(await exited).toEqual([null, "SIGTERM"]);
});

test("a shell that is killed while it is stopped ends the wait", async () => {
  const { shell, exited, told } = await startBelow(
    `node -e 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1e6); console.log("ready")'`,
  );
  const held = shellsToHold(told);
  const training = held[0]?.children[0];
  if (training === undefined) throw new Error("no shell is held");
  await watchBelowShells(held, { tell: () => shell.kill("SIGKILL"), ended: () => expect.unreachable() });
  expect(await exited).toEqual([null, "SIGKILL"]);
  signalProcess(training, "SIGKILL");
});

test.runIf(process.getuid?.() === 0)(
  "what may not be read of another user's process is not taken for an exit with 0",
  () => {
    expect(maySeeEnd(process.pid)).toBe(true);
    expect(readProcess(process.pid)).not.toBeNull();
    const script = `
    const { maySeeEnd } = await import(${JSON.stringify(import.meta.resolve("../host/list-processes.ts"))});
    console.log(JSON.stringify([maySeeEnd(process.pid), maySeeEnd(${process.pid})]));`;
    expect(JSON.parse(runAsOtherUser(script))).toEqual([true, false]);
  },
);
