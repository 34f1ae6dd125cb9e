import { spawn } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { ROOT } from "../stage/start-process.ts";

/** Commands of users without a home, an entry in passwd or a folder that they may write, as containers start them. */
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const NOBODY = 54_321;

interface Ended {
  code: number | null;
  output: string;
}

/** Returns Node and the worker where everybody can run them: the folders above this project may be private. */
function programs(): [node: string, worker: string] {
  const given = [process.execPath, join(ROOT, "dist/tidemark.mjs")] as const;
  const [node, worker] = given.map((file) => join(openFolder("programs"), basename(file)));
  if (node === undefined || worker === undefined) throw new Error("there are two programs");
  if (!existsSync(node)) {
    copyFileSync(given[0], node);
    copyFileSync(given[1], worker);
    chmodSync(node, 0o755);
    chmodSync(worker, 0o644);
  }
  return [node, worker];
}

/** Runs as a user whom nothing knows, with nothing in the environment but what is named. */
function asNobody(args: readonly string[], env: Record<string, string>): Promise<Ended> {
  const [node, worker] = programs();
  const child = spawn(node, [worker, ...args], {
    cwd: openFolder("here"),
    uid: NOBODY,
    gid: NOBODY,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env["PATH"] ?? "", NODE_ENV: "production", ...env },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, output })));
}

/** Lets everybody enter the folders above, as far as the tests made them: theirs are private. */
function letIn(folder: string): void {
  for (let at = folder; at !== dirname(at); at = dirname(at)) {
    const { mode, uid } = statSync(at);
    if (uid === process.getuid?.() && (mode & 0o001) === 0) chmodSync(at, mode | 0o011);
  }
}

/** A folder that everybody may write to. */
function openFolder(...names: string[]): string {
  letIn(stage.dir);
  let at = stage.dir;
  for (const name of names) {
    at = join(at, name);
    mkdirSync(at, { recursive: true });
    chmodSync(at, 0o777);
  }
  return at;
}

describe.runIf(process.getuid?.() === 0)("a user without passwd entry", () => {
  test.each([
    ["without HOME, TZ and LANG", {}],
    ["with HOME=/nonexistent", { HOME: "/nonexistent" }],
    ["with an empty HOME", { HOME: "" }],
    ["with HOME=~ that nothing expanded", { HOME: "~" }],
  ])("%s copies a file, and is told once where its journal is", async (_, home) => {
    const temporary = openFolder("temporary");
    const file = join(openFolder("files"), "a.bin");
    writeFileSync(file, Buffer.alloc(1_000, 1), { mode: 0o644 });
    const env = { ...keysInEnv(stage.store), TMPDIR: temporary, ...home };
    const { code, output } = await asNobody(["cp", file, `s3://${stage.store.bucket}/odd/a.bin`], env);
    expect({ code, output }).toMatchObject({ code: 0 });
    // A HOME that is no absolute path would be a folder below the current one.
    expect(readdirSync(openFolder("here"))).toEqual([]);
    expect(output.match(new RegExp(`in ${temporary}/tidemark-${NOBODY}: .*--state`, "g"))).toHaveLength(1);
  });

  test("with the home of another user copies with the keys that it was given, and is told of a file that it was told to read", async () => {
    const home = join(stage.dir, "home-of-another");
    mkdirSync(join(home, ".aws"), { recursive: true });
    writeFileSync(join(home, ".aws/config"), "[default]\nregion = eu-west-1\n");
    chmodSync(home, 0o700);
    const file = join(openFolder("files"), "c.bin");
    writeFileSync(file, "c", { mode: 0o644 });
    const env = { ...keysInEnv(stage.store), TMPDIR: openFolder("temporary"), HOME: home };
    const copy = ["cp", file, `s3://${stage.store.bucket}/odd/c.bin`];
    expect(await asNobody(copy, env)).toMatchObject({ code: 0 });
    const { code, output } = await asNobody(copy, { ...env, AWS_CONFIG_FILE: join(home, ".aws/config") });
    expect([code, output]).toEqual([2, expect.stringContaining("this file cannot be read")]);
  });

  test("is told which flag helps where no folder at all may be written", async () => {
    const file = join(openFolder("files"), "b.bin");
    writeFileSync(file, "b", { mode: 0o644 });
    const env = { ...keysInEnv(stage.store), TMPDIR: "/nonexistent" };
    const { code, output } = await asNobody(["cp", file, `s3://${stage.store.bucket}/odd/b.bin`], env);
    expect(code).toBe(1);
    expect(output).toContain("--state DIR");
  });

  test("runs a program with its state beside the watched folder, and finds it again", async () => {
    const watched = openFolder("volume", "checkpoints");
    const env = { TMPDIR: openFolder("temporary"), TIDEMARK_HUB: stage.hub.url, TIDEMARK_TOKEN: stage.token };
    const run = ["run", "--watch", watched, "--run", "odd", "--", "sh", "-c", "echo trained"];
    const first = await asNobody(run, env);
    expect(first).toMatchObject({ code: 0 });
    expect(first.output).toContain("trained");
    const state = join(stage.dir, "volume/.tidemark-state");
    expect(first.output).toContain(`--state ${state}`);
    expect(existsSync(state)).toBe(true);
    expect(readdirSync(watched)).toEqual([]);
    // The credential is there: it does not enrol again.
    expect((await asNobody(run, { ...env, TIDEMARK_TOKEN: "" })).code).toBe(0);
  });
});
