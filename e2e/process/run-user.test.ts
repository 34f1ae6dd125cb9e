import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";

/** `tidemark run --user`: these tests need root, which alone starts programs as somebody else; without it they are skipped. */
const isRoot = process.getuid?.() === 0;
/** Debian's; every system has it. */
const NOBODY = 65534;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

/** Writes down who it is, tries to read what is the worker's, tells a step, and saves a checkpoint. */
const PROGRAM = `const fs = require("fs"), http = require("http"), [log, state, folder] = process.argv.slice(1);
  const opens = (path) => { try { fs.closeSync(fs.openSync(path, "r")); return true; } catch { return false; } };
  const lists = (path) => { try { fs.readdirSync(path); return true; } catch { return false; } };
  const { HOME, USER, TIDEMARK_SOCKET: socketPath, TIDEMARK_STEP_RECORD: steps } = process.env;
  const canWrite = (() => { try { fs.closeSync(fs.openSync(steps, "r+")); return true; } catch { return false; } })();
  const worker = "/proc/" + process.ppid;
  const seen = {
    uid: process.getuid(), gid: process.getgid(), groups: process.getgroups(), HOME, USER, socketPath,
    opened: [state + "/credential.json", state + "/ledger.jsonl", worker + "/environ", worker + "/mem", worker + "/maps"].filter(opens),
    listed: [state, require("path").dirname(socketPath)].filter(lists),
    steps: canWrite, caps: /CapEff:\\s*(\\S+)/.exec(fs.readFileSync("/proc/self/status", "utf8"))[1],
  };
  fs.mkdirSync(folder + "/checkpoint-10");
  fs.writeFileSync(folder + "/checkpoint-10/model.safetensors", Buffer.concat([Buffer.from([2,0,0,0,0,0,0,0]), Buffer.from("{}")]));
  http.get({ socketPath, path: "/v1/status" }, (answer) => {
    fs.writeFileSync(log, JSON.stringify({ ...seen, answered: answer.statusCode }));
    answer.resume();
  });`;

test.runIf(isRoot)(
  "is who it is asked to be, reads nothing of the worker's, and is saved and heard as any other",
  async () => {
    // Whoever starts a test may have made the folder of temporary files its own alone.
    chmodSync(stage.dir, 0o755);
    const folder = stage.folderOf("other");
    mkdirSync(folder, { recursive: true });
    for (const path of [folder, dirname(folder)]) chmodSync(path, 0o755);
    chownSync(folder, NOBODY, NOBODY);
    const home = mkdtempSync(join(stage.dir, "log-"));
    chownSync(home, NOBODY, NOBODY);
    const log = join(home, "seen.json");
    const state = join(stage.dir, "nodes", "other", "state");
    const worker = await stage.startNode({
      name: "other",
      run: "other",
      flags: ["--user", String(NOBODY), "--settle", "100ms"],
      program: [process.execPath, "-e", PROGRAM, log, state, folder],
    });
    expect(await worker.exited).toMatchObject({ code: 0 });
    expect(existsSync(join(state, "ledger.jsonl"))).toBe(true);
    const seen = JSON.parse(readFileSync(log, "utf8")) as Record<string, unknown>;
    const name = /^([^:]+):[^:]*:65534:/m.exec(readFileSync("/etc/passwd", "utf8"))?.[1];
    expect(seen).toMatchObject({
      uid: NOBODY,
      groups: [NOBODY],
      USER: name,
      opened: [],
      listed: [],
      steps: true,
      caps: "0000000000000000",
      answered: 200,
    });
    rmSync(dirname(String(seen["socketPath"])), { recursive: true });
    const { checkpoints } = await stage.client.runs.get.query({ run: runName.parse("other") });
    expect(checkpoints.map(({ step, state: how }) => [step, how])).toEqual([[10, "complete"]]);
  },
);

test.runIf(isRoot)("is refused where there is no such user, and to a worker that is not root", async () => {
  const node = { run: "nobody", program: ["true"] };
  const unknown = await stage.startNode({ ...node, name: "unknown", flags: ["--user", "no-such-user"] });
  expect(await unknown.exited).toMatchObject({ code: 2 });
  expect(unknown.lines.join("\n")).toContain("this machine has no such user");
  chmodSync(stage.dir, 0o777);
  const under = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
  const plain = await stage.startNode({ ...node, name: "plain", flags: ["--user", "root"], under });
  expect(await plain.exited).toMatchObject({ code: 2 });
  expect(plain.lines.join("\n")).toContain("only a worker of root can start its program as another user");
});

test.runIf(isRoot)("that is not there is named as it is without the flag", async () => {
  const node = { name: "missing", run: "missing", flags: ["--user", String(NOBODY)], program: ["no-such-program"] };
  const worker = await stage.startNode(node);
  expect((await worker.exited).code).not.toBe(0);
  expect(worker.lines.join("\n")).toContain("no-such-program");
});
