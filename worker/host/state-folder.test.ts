import { chmod, chown, lstat, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { openJournal } from "../base/journal.ts";
import { serveLocal } from "../local-api/serve-local.ts";
import { writeStateFile } from "./state-file.ts";
import { stateFolder, statesBeside, unusualState } from "./state-folder.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "tidemark-state-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const refused = { code: "FOLDER_NOT_OWN" };
const rightsOf = async (path: string) => (await stat(path)).mode & 0o7777;

describe("a state folder", () => {
  test("that everybody may write to is refused once something is in it", async () => {
    const state = join(dir, "state");
    await mkdir(state);
    await writeFile(join(state, "planted"), "");
    await chmod(state, 0o777);
    await expect(stateFolder(state, null)).rejects.toMatchObject(refused);
  });

  test("that was just made for it loses the rights of others", async () => {
    const state = join(dir, "volume");
    await mkdir(state);
    await chmod(state, 0o1777);
    expect(await stateFolder(state, null)).toBe(state);
    expect(await rightsOf(state)).toBe(0o755);
    await writeFile(join(state, "ledger.jsonl"), "");
    await chmod(state, 0o775);
    await stateFolder(state, null);
    expect(await rightsOf(state)).toBe(0o755);
  });

  test.runIf(process.getuid?.() === 0)("of another user is refused, also by root", async () => {
    const state = join(dir, "state");
    await mkdir(state, { mode: 0o700 });
    await chown(state, 1_000, 1_000);
    await expect(stateFolder(state, null)).rejects.toMatchObject(refused);
  });
});

describe("a link that was planted in it", () => {
  test("is replaced by the token of the local API, not written through", async () => {
    const victim = join(dir, "victim");
    await writeFile(victim, "precious");
    await symlink(victim, join(dir, "local.token"));
    const signal = new AbortController().signal;
    const listener = await serveLocal({
      state: dir,
      port: 0,
      answer: () => Promise.reject(new Error("unused")),
      signal,
    });
    expect((await lstat(join(dir, "local.token"))).isSymbolicLink()).toBe(false);
    await listener.close();
    expect(await readFile(victim, "utf8")).toBe("precious");
  });

  test("is replaced by a state file, and keeps a journal from being opened", async () => {
    const victim = join(dir, "victim");
    await writeFile(victim, "precious");
    await symlink(victim, join(dir, "stand.json.new"));
    await writeStateFile(join(dir, "stand.json"), { held: true });
    await symlink(victim, join(dir, "outbox.jsonl"));
    await expect(openJournal(join(dir, "outbox.jsonl"), z.string())).rejects.toMatchObject({ code: "WRITE_FAILED" });
    await symlink(victim, join(dir, "ledger.jsonl.new"));
    const journal = await openJournal(join(dir, "ledger.jsonl"), z.string());
    await journal.append("a");
    await journal.compact(() => ["b"]);
    await journal.close();
    expect(await readFile(join(dir, "ledger.jsonl"), "utf8")).toMatch(/^[0-9a-f]{8} "b"\n$/);
    expect(await readFile(victim, "utf8")).toBe("precious");
  });
});

test("beside watched folders it is chosen only where no usual one can be had, and that is said", async () => {
  const usual = join(dir, "home");
  const [beside = ""] = statesBeside([join(dir, "volume/checkpoints")]);
  expect(beside).toBe(join(dir, "volume/.tidemark-state"));
  expect(unusualState(join(usual, ".tidemark"), { requested: null, home: usual })).toBeNull();
  expect(unusualState(beside, { requested: null, home: usual })).toContain(`--state ${beside}`);
  // One that was asked for and cannot be had is not replaced in silence.
  await writeFile(join(dir, "file"), "");
  await expect(stateFolder(join(dir, "file"), null, [beside])).rejects.toMatchObject({ code: "FOLDER_UNWRITABLE" });
});
