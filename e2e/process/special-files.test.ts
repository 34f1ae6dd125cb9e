import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, renameSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { basename, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { testedWorker } from "../stage/start-worker.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";

/** Pipes, sockets and devices in a watched folder: none of them is read, waited for or left out without a word. */
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const rowsOf = async (run: string) =>
  (await stage.client.runs.get.query({ run: runName.parse(run) })).checkpoints.filter(
    ({ state }) => state === "complete",
  );

test("a pipe, a socket and a device in a checkpoint are named on node and hub, and the rest is safe and is gone on from", async () => {
  const folder = stage.folderOf("special");
  mkdirSync(folder, { recursive: true });
  // Names that savers use: opening one of these would wait for a writer, or read without end.
  execFileSync("mkfifo", [join(folder, "latest"), join(folder, "ckpt.pt"), join(folder, "trainer_state.json")]);
  symlinkSync("/dev/zero", join(folder, "last.pt"));
  const prepare = (step: number) => {
    const path = writeCheckpoint({ folder: stage.dir, step, modelBytes: 64 * 1024, optimizerBytes: 0, loss: 1 });
    execFileSync("mkfifo", [join(path, "control")]);
    symlinkSync("/dev/null", join(path, "sink"));
    return path;
  };
  /** Puts a checkpoint into the watched folder with all that is in it. */
  const put = (path: string) => renameSync(path, join(folder, basename(path)));
  const first = await stage.startNode({ name: "special", run: "special", flags: ["--settle", "1s"] });
  const withSocket = prepare(10);
  const server = createServer().listen(join(withSocket, "ipc"));
  await once(server, "listening");
  put(withSocket);
  await waitUntil("it is safe", async () => (await rowsOf("special")).length === 1);
  put(prepare(20));
  await waitUntil("the next one is safe", async () => (await rowsOf("special")).length === 2);
  server.close();
  expect((await rowsOf("special")).map(({ doubt }) => doubt)).toEqual([null, null]);
  const control = join(folder, "checkpoint-10/control");
  const why = "it is a pipe, which has no bytes of its own (and 2 more)";
  expect(first.lines.filter((line) => line.includes("which has no bytes"))).toEqual([
    expect.stringContaining(`Did not take ${control}.`),
  ]);
  await waitUntil("the hub was told", async () => {
    const { rows } = await stage.client.events.list.query({ nodeId: null, run: null, cursor: null, limit: 50 });
    return rows.some(({ detail, fault, text }) => {
      const said = `${text} ${detail} ${fault?.subject} ${fault?.detail}`;
      return said.includes("checkpoint-10/control") && said.includes(why);
    });
  });
  await first.stop();
  const second = await stage.startNode({ name: "special-2", run: "special", program: ["true"] });
  expect(await second.exited).toMatchObject({ code: 0 });
  expect(readdirSync(join(stage.folderOf("special-2"), "checkpoint-20"))).not.toContain("control");
});

test("`save` of a pipe is refused, and of a folder with one it names what it leaves out", async () => {
  const path = writeCheckpoint({ folder: stage.dir, step: 30, modelBytes: 64 * 1024, optimizerBytes: 0, loss: 1 });
  const pipe = join(path, "control");
  execFileSync("mkfifo", [pipe]);
  const save = (what: string) =>
    runOnce(
      testedWorker(),
      ["save", what, "--step", "30", "--run", "by-hand", "--hub", stage.hub.url, "--state", join(stage.dir, "by-hand")],
      { env: { TIDEMARK_TOKEN: stage.token } },
    );
  const refused = await save(pipe);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("it is a pipe, a socket or a device")]);
  const saved = await save(path);
  expect([saved.code, saved.stderr]).toEqual([0, expect.stringContaining(`${pipe}: This is not a checkpoint`)]);
  expect((await rowsOf("by-hand")).map(({ step, doubt }) => [step, doubt])).toEqual([[30, null]]);
});
