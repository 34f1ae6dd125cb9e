import { execFileSync, spawn } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { putOdd, serveOdd } from "../stage/odd-objects.ts";
import { ROOT, inShell } from "../stage/start-process.ts";
import { testedWorker } from "../stage/start-worker.ts";
import { armFault, clearFaults, readCounters } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { at, does, here, keysOf, lines, MIB, round, run, start, store, useVerbs, write } from "./verbs-stage.ts";

/** A copy says which files it does not carry, and removes nothing elsewhere that it did not see. */

useVerbs();

test("a pipe, a device and a file of the system are read as stdin is", async () => {
  const pipe = join(here, "pipe");
  execFileSync("mkfifo", [pipe]);
  const copied = start(["cp", pipe, `${at}/piped`]);
  const writer = spawn("sh", ["-c", `printf 'out of a pipe' > '${pipe}'`], { stdio: "ignore" });
  const outcome = await copied.ended;
  await (writer.exitCode === null ? once(writer, "exit") : undefined);
  expect(outcome, outcome.talk).toMatchObject({ code: 0 });
  expect((await does(["cat", `${at}/piped`])).text).toBe("out of a pipe");
  await does(["cp", "/proc/self/status", `${at}/status`]);
  expect((await does(["cat", `${at}/status`])).text).toContain("VmRSS");
  await does(["cp", "/dev/null", `${at}/null`]);
  expect((await does(["cat", `${at}/null`])).out).toHaveLength(0);
  const folder = await run(["cp", pipe, `${at}/folder/`]);
  expect([folder.code, folder.talk.includes("give the whole key")]).toEqual([2, true]);
});

test("what a shell's <(command) writes is sent, and with --dry-run neither it nor stdin nor an object is read", async () => {
  const worker = (args: string, to: string) =>
    spawn("bash", ["-c", `${inShell(testedWorker())} cp ${args} <(printf one; sleep 0.2; printf two) '${to}'`], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...keysInEnv(store) },
    });
  const drained = (child: ReturnType<typeof worker>) => (child.stdout.resume(), child);
  const codeOf = async (args: string, to: string) => (await once(drained(worker(args, to)), "close"))[0] as unknown;
  expect(await codeOf("", `${at}/sub`)).toBe(0);
  expect((await does(["cat", `${at}/sub`])).text).toBe("onetwo");
  expect(await codeOf("-n", `${at}/dry`)).toBe(0);
  const planned = await does(["cp", "-n", "--json", "-", `${at}/dry`], Buffer.from("from stdin"));
  expect(JSON.parse(planned.text)).toMatchObject({ type: "would", action: "copy", from: "-", to: `${at}/dry` });
  expect((await run(["cp", "-n", "-", `${at}/folder/`])).code).toBe(2);
  expect((await does(["cp", "-n", `${at}/sub`, "-"])).text).toBe(`copy  ${at}/sub -> stdout  (6 B)\n`);
  expect(await keysOf(at)).toEqual(["sub"]);
});

/** A folder with one of each that is no file, and two files. */
async function writeMixed(): Promise<{ folder: string; close: () => void }> {
  const folder = join(here, "mixed");
  write("mixed/a", "a");
  write("mixed/sub/b", "b");
  write("elsewhere/c", "c");
  symlinkSync(join(here, "elsewhere"), join(folder, "linked"));
  mkdirSync(join(folder, "none"));
  execFileSync("mkfifo", [join(folder, "pipe")]);
  const server = createServer().listen(join(folder, "socket"));
  await once(server, "listening");
  return { folder, close: () => void server.close() };
}

test("what is no file is in the last sentence and in the last line, and nothing is verified without that clause", async () => {
  const { folder, close } = await writeMixed();
  const clause = "without 1 linked folder (linked), 1 empty folder (none), 1 pipe (pipe) and 1 socket (socket)";
  expect((await does(["cp", folder, `${at}/m`])).text).toContain(`verified, ${clause}`);
  const synced = await does(["sync", "--json", folder, `${at}/n`]);
  expect(JSON.parse(lines(synced).at(-1) ?? "")).toMatchObject({
    type: "done",
    files: 2,
    leftOut: [
      { kind: "linked-folder", count: 1, names: ["linked"] },
      { kind: "empty-folder", count: 1, names: ["none"] },
      { kind: "pipe", count: 1, names: ["pipe"] },
      { kind: "socket", count: 1, names: ["socket"] },
    ],
  });
  expect((await does(["sync", folder, `${at}/n`])).text).toContain(`nothing to do, 2 files (2 B), ${clause}`);
  expect((await does(["cp", "-n", folder, `${at}/o`])).talk).toContain("Left out: 1 linked folder (linked)");
  expect((await does(["check", folder, `${at}/n`])).talk).toContain("Left out: 1 linked folder (linked)");
  close();
});

test("sync --delete says what of DST it did not look into, in the last sentence and the last line: it stays", async () => {
  write("src/a", "a");
  await does(["sync", join(here, "src"), `${at}/q`]);
  const { folder, close } = await writeMixed();
  writeFileSync(Buffer.concat([Buffer.from(join(folder, "caf")), Buffer.from([0xe9])]), "x");
  const clause = "1 linked folder (linked), 1 empty folder (none), 1 pipe (pipe) and 1 socket (socket)";
  const first = await run(["sync", "--delete", "--json", `${at}/q`, folder]);
  expect(first.code, first.talk).toBe(8);
  const told = lines(first).map((line) => JSON.parse(line));
  expect(told.filter(({ type }) => type === "failed")).toMatchObject([{ name: expect.stringContaining("caf") }]);
  const staying = { kind: "pipe", count: 1, names: ["pipe"], side: "dst" };
  expect(told.at(-1)).toMatchObject({ type: "removed", deleted: 1, leftOut: expect.arrayContaining([staying]) });
  const again = await run(["sync", "--delete", `${at}/q`, folder]);
  expect(again.code, again.talk).toBe(8);
  expect(again.text).toContain(
    `nothing to do, 1 files (1 B), 1 failed; not looked into at DST, where it stays: ${clause}`,
  );
  writeFileSync(join(folder, "extra"), "x");
  const removing = await run(["sync", "--delete", `${at}/q`, folder]);
  expect(removing.text).toContain(`1 files removed; not looked into at DST, where it stays: ${clause}`);
  expect((await run(["sync", "-n", "--delete", `${at}/q`, folder])).talk).toContain(`where it stays: ${clause}`);
  expect(statSync(join(folder, "linked/c")).size).toBe(1);
  expect((await does(["sync", `${at}/q`, folder])).text).not.toContain("DST, where");
  close();
});

test("what lies behind a folder that was not entered is not removed, the rest of what is too much is", async () => {
  const names = ["a", "extra", "linked/x", "none/y", "closed/z", "linked-2"];
  for (const name of names) write(`dst/${name}`, name);
  await does(["cp", join(here, "dst"), `${at}/d`]);
  write("src/a", "a");
  mkdirSync(join(here, "src/none"));
  symlinkSync(join(here, "dst"), join(here, "src/linked"));
  const isRoot = process.getuid?.() === 0;
  // Root reads every folder: a link that leads nowhere is as unknown to it.
  if (isRoot) symlinkSync(join(here, "nowhere"), join(here, "src/closed"));
  else mkdirSync(join(here, "src/closed"), { mode: 0o000 });
  const synced = await run(["sync", "--delete", join(here, "src"), `${at}/d`]);
  if (!isRoot) chmodSync(join(here, "src/closed"), 0o700);
  expect(synced.code, synced.talk).toBe(8);
  expect(synced.talk).toContain("Kept 3 files of DST");
  expect(await keysOf(`${at}/d`)).toEqual(["d/a", "d/closed/z", "d/linked/x", "d/none/y"]);
  rmSync(join(here, "src/closed"), { recursive: true });
  await does(["sync", "--delete", "--delete-all", join(here, "src"), `${at}/d`]);
  expect(await keysOf(`${at}/d`)).toEqual(["d/a", "d/linked/x"]);
});

test("a file of the same size that came with an older date is sent", async () => {
  write("src/model", "old!");
  await does(["sync", join(here, "src"), `${at}/s`]);
  write("other/model", "new!");
  utimesSync(join(here, "other/model"), new Date(0), new Date(2_000_000));
  execFileSync("cp", ["-p", join(here, "other/model"), join(here, "src/model")]);
  expect(statSync(join(here, "src/model")).mtimeMs).toBe(2_000_000);
  await does(["sync", join(here, "src"), `${at}/s`]);
  expect((await does(["cat", `${at}/s/model`])).text).toBe("new!");
  expect((await does(["sync", join(here, "src"), `${at}/s`])).text).toContain("nothing to do");
});

test("a change is sent although the store's clock is before the node's, so that its objects are dated later", async () => {
  const AHEAD_MS = 40_000;
  const later = (date: string) => new Date(Date.parse(date) + AHEAD_MS);
  const odd = await serveOdd(store, (answer) => ({
    ...answer,
    headers: { ...answer.headers, date: later(answer.headers.date ?? "").toUTCString() },
    body: answer.url.includes("list-type=2")
      ? Buffer.from(answer.body.toString().replaceAll(/(?<=<LastModified>)[^<]+/g, (date) => later(date).toISOString()))
      : answer.body,
  }));
  const sync = () => start(["sync", join(here, "src"), `${at}/k`], { ...store, endpoint: odd.endpoint }).ended;
  write("src/model", "one!");
  expect((await sync()).code).toBe(0);
  write("src/model", "two!");
  expect((await sync()).code).toBe(0);
  await odd.close();
  expect((await does(["cat", `${at}/k/model`])).text).toBe("two!");
});

test("a log that grows while it is sent is sent as it was, it is said, and --delete goes on", async () => {
  write("dst/extra", "x");
  await does(["cp", join(here, "dst"), `${at}/g`]);
  const path = write("src/train.log", Buffer.alloc(6 * MIB, "line\n"));
  const begun = async () =>
    (await readCounters(store, "CreateMultipartUpload")).targets.some(({ key }) => key === `t${round}/g/train.log`);
  // An operation is counted when it was answered: the parts are on their way then.
  await armFault(store, { op: "UploadPart", times: 2, action: { kind: "delay", ms: 4_000 } });
  const synced = start(["sync", "--delete", "--part-size", "5MiB", join(here, "src"), `${at}/g`]);
  await waitUntil("the upload is begun", begun);
  appendFileSync(path, "more\n");
  const outcome = await synced.ended;
  await clearFaults(store);
  expect(outcome, outcome.talk).toMatchObject({ code: 0 });
  expect(outcome.text).toContain("without 1 end of a log that was written meanwhile (train.log)");
  expect((await does(["cat", `${at}/g/train.log`])).out.equals(Buffer.alloc(6 * MIB, "line\n"))).toBe(true);
  expect(await keysOf(`${at}/g`)).toEqual(["g/train.log"]);
  writeFileSync(path, "");
});

test("a log that is cut while it is sent is named, and --delete of others goes on", async () => {
  write("dst/extra", "x");
  await does(["cp", join(here, "dst"), `${at}/g`]);
  const path = write("src/train.log", Buffer.alloc(12 * MIB, "line\n"));
  const begun = async () =>
    (await readCounters(store, "CreateMultipartUpload")).targets.some(({ key }) => key === `t${round}/g/train.log`);
  await armFault(store, { op: "UploadPart", times: 3, action: { kind: "delay", ms: 4_000 } });
  const synced = start(["sync", "--delete", "--part-size", "5MiB", join(here, "src"), `${at}/g`]);
  await waitUntil("the upload is begun", begun);
  truncateSync(path, 5);
  const outcome = await synced.ended;
  await clearFaults(store);
  expect(outcome.talk).toMatch(/failed {2}.*train\.log: The file changed while it was being read/);
  expect(outcome.code).not.toBe(0);
  expect(outcome.text).toContain("1 files removed");
  expect(await keysOf(`${at}/g`)).toEqual([]);
  await does(["sync", "--delete", join(here, "src"), `${at}/g`]);
  expect((await does(["cat", `${at}/g/train.log`])).text).toBe("line\n");
});

test("what of DST no file can have is named by sync --delete, which lets it stay", async () => {
  write("src/one", "1");
  await putOdd(store, `t${round}/m/mark/`, { Body: "five5" });
  await putOdd(store, `t${round}/m/extra`);
  const synced = await run(["sync", "--delete", join(here, "src"), `${at}/m`]);
  expect(synced.code).toBe(8);
  expect(synced.talk).toContain(`Kept 1 of DST that cannot be compared with SRC, by name (t${round}/m/mark/)`);
  expect(await keysOf(`${at}/m`)).toEqual(["m/mark/", "m/one"]);
  const again = await run(["sync", "--delete", "--json", join(here, "src"), `${at}/m`]);
  expect(lines(again).map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ type: "kept", files: 1, names: [`t${round}/m/mark/`] }),
  );
  expect((await does(["sync", `${at}/nothing`, join(here, "src")])).text).toContain("nothing to do, SRC holds no file");
});

test("filters that leave nothing of SRC are said by cp and sync, and it is not said that SRC is not there", async () => {
  write("src/one.pt", "1");
  write("src/two.pt", "2");
  const filters = ["--include", "*.safetensors"];
  const sent = await run(["cp", ...filters, join(here, "src"), `${at}/f`]);
  expect([sent.code, sent.talk]).toEqual([3, expect.stringContaining("the filters leave nothing of what is below it")]);
  const synced = await does(["sync", ...filters, join(here, "src"), `${at}/f`]);
  expect(synced.text).toContain("nothing to do, the filters leave nothing of the 2 files (2 B) of SRC");
});

test("a link that leads nowhere, or in a circle, is named as that, and the others are sent", async () => {
  write("src/file", "x");
  symlinkSync("gone/weights.bin", join(here, "src/dangling"));
  symlinkSync("circle", join(here, "src/circle"));
  const copied = await run(["cp", join(here, "src"), `${at}/l`]);
  expect(copied.code).toBe(8);
  expect(copied.talk).toContain("it is a link to gone/weights.bin, where nothing is");
  expect(copied.talk).toContain("it is a link that leads in a circle");
  expect(await keysOf(`${at}/l`)).toEqual(["l/file"]);
});

test("a reader that is slower than the command gets all of its output", () => {
  // The output is more than a pipe holds. The reader begins when a command that did not wait for it would have ended.
  const script = `${inShell(testedWorker())} help --markdown | (sleep 2; cat)`;
  const told = execFileSync("sh", ["-c", script], { encoding: "utf8" });
  expect(told).toBe(readFileSync(join(ROOT, "docs/cli.md"), "utf8"));
});
