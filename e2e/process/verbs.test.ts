import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { armFault, clearFaults, readCounters } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import {
  MIB,
  store,
  at,
  here,
  start,
  run,
  does,
  lines,
  write,
  tree,
  keysOf,
  writesSoFar,
  round,
  useVerbs,
} from "./verbs-stage.ts";

/** The verbs for plain objects, as a person uses them: the real program against a real store. */

useVerbs();

describe("cp", () => {
  test("copies folders up, inside the store and down, with what the filters take", async () => {
    write("src/a.bin", "a");
    write("src/deep/b.bin", "b");
    write("src/deep/b.log", "log");
    await does(["cp", "--exclude", "*.log", join(here, "src"), `${at}/up`]);
    expect(await keysOf(`${at}/up`)).toEqual(["up/a.bin", "up/deep/b.bin"]);
    await does(["cp", `${at}/up`, `${at}/other`]);
    await does(["cp", "--include", "deep/*", `${at}/other`, join(here, "back")]);
    expect(tree(join(here, "back"))).toEqual({ "deep/b.bin": "b" });
  });

  test("one file that cannot be read does not stop the others, is named at the end, and the code is 8", async () => {
    write("src/a", "a");
    write("src/c", "c");
    symlinkSync(join(here, "nowhere"), join(here, "src/broken"));
    const outcome = await run(["cp", join(here, "src"), `${at}/partly`]);
    expect(outcome.code).toBe(8);
    expect(outcome.talk).toContain("broken");
    expect(await keysOf(`${at}/partly`)).toEqual(["partly/a", "partly/c"]);
  });

  test("when every single name failed the code is 8 too, for one file of a folder and for sync; of a file that is named itself it says why", async () => {
    for (const name of ["a", "b"]) write(`src/${name}`, name);
    write("alone/a", "a");
    const keyPattern = `t${round}/none/*`;
    await armFault(store, {
      op: "PutObject",
      keyPattern,
      action: { kind: "error", status: 403, code: "AccessDenied" },
    });
    const codes = new Map<string, number | null>();
    for (const verb of ["cp", "sync"]) {
      for (const folder of ["src", "alone"]) {
        const outcome = await run([verb, join(here, folder), `${at}/none`]);
        codes.set(`${verb} ${folder}`, outcome.code);
        expect(outcome.talk.match(/^failed /gm)).toHaveLength(folder === "src" ? 2 : 1);
      }
    }
    codes.set("cp a file", (await run(["cp", join(here, "src/a"), `${at}/none/a`])).code);
    await clearFaults(store);
    codes.set("cp of nowhere", (await run(["cp", join(here, "src"), "s3://no-such-bucket/none"])).code);
    expect(Object.fromEntries(codes)).toEqual({
      "cp src": 8,
      "cp alone": 8,
      "sync src": 8,
      "sync alone": 8,
      "cp a file": 4,
      "cp of nowhere": 3,
    });
  });

  test("one object that the store refuses does not stop the others on their way down", async () => {
    for (const name of ["a", "b", "c"]) write(`src/${name}`, name);
    await does(["cp", join(here, "src"), `${at}/three`]);
    const key = `t${round}/three/b`;
    await armFault(store, {
      op: "GetObject",
      keyPattern: key,
      action: { kind: "error", status: 403, code: "AccessDenied" },
    });
    await armFault(store, {
      op: "HeadObject",
      keyPattern: key,
      action: { kind: "error", status: 403, code: "AccessDenied" },
    });
    const outcome = await run(["cp", "--json", `${at}/three`, join(here, "back")]);
    await clearFaults(store);
    expect(outcome.code).toBe(8);
    const facts = lines(outcome).map((line) => JSON.parse(line));
    expect(facts.find(({ type }) => type === "failed")).toMatchObject({ name: key, fault: { code: "ACCESS_DENIED" } });
    expect(facts.at(-1)).toMatchObject({ type: "done", filesFailed: 1 });
    expect(tree(join(here, "back"))).toMatchObject({ a: "a", c: "c" });
    expect(existsSync(join(here, "back/b"))).toBe(false);
    await does(["cp", `${at}/three`, join(here, "back")]);
    expect(tree(join(here, "back"))).toEqual({ a: "a", b: "b", c: "c" });
  });

  test("names of 255 bytes and names in other scripts go there and back", async () => {
    const names = [`${"n".repeat(251)}.bin`, "größe +%&'\"=#?.txt", "日本/語 .txt", "a b/c+d/e%20f"];
    for (const name of names) write(`src/${name}`, name);
    await does(["cp", join(here, "src"), `${at}/names`]);
    await does(["cp", `${at}/names`, join(here, "back")]);
    expect(tree(join(here, "back"))).toEqual(tree(join(here, "src")));
  });

  test("a link inside the target does not carry a file out of it", async () => {
    write("src/out/a", "a");
    await does(["cp", join(here, "src"), `${at}/links`]);
    mkdirSync(join(here, "elsewhere"));
    mkdirSync(join(here, "back"));
    symlinkSync(join(here, "elsewhere"), join(here, "back/out"));
    const outcome = await run(["cp", `${at}/links`, join(here, "back")]);
    expect(outcome.code).toBe(8);
    expect(readdirSync(join(here, "elsewhere"))).toEqual([]);
  });

  test("stopped by SIGINT it ends with 130 and says that the same command goes on, which it does", async () => {
    const content = randomBytes(16 * MIB);
    const path = write("large", content);
    const args = ["cp", "--part-size", "5MiB", "--concurrency", "1"];
    const { child, ended } = start([...args, "--limit-up", "6MB", path, `${at}/stopped`]);
    const parts = async () =>
      (await readCounters(store, "UploadPart")).targets.filter(({ key }) => key === `t${round}/stopped`);
    await waitUntil("a part is stored", async () => (await parts()).some((one) => one.succeeded > 0));
    child.kill("SIGINT");
    const stopped = await ended;
    expect(stopped.code).toBe(130);
    expect(stopped.talk).toContain("The same command goes on from there");
    expect((await does([...args, path, `${at}/stopped`])).text).toContain("were there already");
    expect((await does(["cat", `${at}/stopped`])).out.equals(content)).toBe(true);
  });

  test("a copy onto itself is refused", async () => {
    await does(["cp", "-", `${at}/k`], Buffer.from("a"));
    const outcome = await run(["cp", `${at}/k`, `${at}/k`]);
    expect(outcome.code).toBe(2);
    expect(outcome.talk).toContain("copied onto itself");
  });

  test("--dry-run says what would be copied and writes nothing, neither there nor here", async () => {
    write("src/a", "a");
    await does(["cp", join(here, "src/a"), `${at}/there`]);
    const before = await writesSoFar();
    expect((await does(["cp", "--dry-run", join(here, "src"), `${at}/dry`])).text).toContain("copy");
    expect((await does(["cp", "-n", `${at}/there`, `${at}/copy`])).text).toContain("/copy");
    expect((await does(["cp", "-n", `${at}/there`, join(here, "never")])).text).toContain("never");
    expect(await writesSoFar()).toBe(before);
    expect(existsSync(join(here, "never"))).toBe(false);
  });

  test.each([
    [["cp", "a", "b"], "both sides are local"],
    [["cp", "s3://", "b"], "the bucket is missing"],
    [["cp", "s3://b/k"], "tidemark cp SRC DST"],
    [["cp", "--exclude", "[a", ".", "s3://b/k"], "--exclude [a"],
    [["cat", "s3://b/"], "names no object"],
    [["presign", "--expires", "8d", "s3://b/k"], "seven days"],
    [["presign", "--method", "DELETE", "s3://b/k"], "GET or PUT"],
    [["sync", "a", "b"], "s3://bucket/folder"],
    [["ls", "a"], "s3://bucket/key"],
  ] as const)("%j is refused with a clear sentence", async (args, sentence) => {
    const outcome = await run([...args]);
    expect(outcome.code).toBe(2);
    expect(outcome.talk).toContain(sentence);
  });
});

describe("cp from stdin and to stdout", () => {
  test.each([0, 1, 5 * MIB, 23 * MIB + 7])("an input of %i bytes becomes an object and comes back", async (size) => {
    const content = randomBytes(size);
    await does(["cp", "--part-size", "5MiB", "--concurrency", "3", "-", `${at}/stdin`], content);
    const back = await does(["cp", `${at}/stdin`, "-"]);
    expect(back.out.equals(content)).toBe(true);
  });

  test("says how much memory it takes, and refuses a budget that holds no part", async () => {
    const said = await does(["cp", "--part-size", "8MiB", "--concurrency", "2", "-", `${at}/small`], Buffer.from("a"));
    expect(said.talk).toContain("2 parts of 8.0 MiB at a time, so at most 26.0 MiB");
    const refused = await run(["cp", "--part-size", "65MiB", "-", `${at}/small`], Buffer.from("a"));
    expect(refused.code).toBe(2);
    expect(refused.talk).toContain("need at least 130 MiB");
  });

  test("stopped by SIGINT it ends with 130, and the store keeps neither an object nor parts", async () => {
    const { child, ended } = start(["cp", "--part-size", "5MiB", "-", `${at}/stopped`]);
    child.stdin.write(randomBytes(12 * MIB));
    const parts = async () =>
      (await readCounters(store, "UploadPart")).targets.filter(({ key }) => key === `t${round}/stopped`);
    await waitUntil("two parts are stored", async () => (await parts()).filter((one) => one.succeeded > 0).length >= 2);
    child.kill("SIGINT");
    expect((await ended).code).toBe(130);
    const aborted = await readCounters(store, "AbortMultipartUpload");
    expect(aborted.targets.find(({ key }) => key === `t${round}/stopped`)?.succeeded).toBeGreaterThan(0);
    expect(await keysOf(at)).toEqual([]);
  });

  test("goes on through refused and cut connections", async () => {
    const content = randomBytes(11 * MIB);
    await armFault(store, { op: "UploadPart", times: 2, action: { kind: "error", code: "SlowDown" } });
    await armFault(store, { op: "CompleteMultipartUpload", times: 1, action: { kind: "drop-response" } });
    await does(["cp", "--part-size", "5MiB", "-", `${at}/rough`], content);
    await clearFaults(store);
    expect((await does(["cat", `${at}/rough`])).out.equals(content)).toBe(true);
  });
});
