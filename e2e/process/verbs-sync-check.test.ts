import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { inCi, installServer } from "../servers/install.ts";
import { startVersitygw } from "../servers/start-versitygw.ts";
import { armFault, clearFaults, readCounters } from "../stage/store-control.ts";
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

/** The other verbs, likewise. */

useVerbs();

describe("sync", () => {
  const puts = async () => {
    const { targets } = await readCounters(store, "PutObject");
    return targets.filter(({ key }) => key.startsWith(`t${round}/`)).reduce((sum, { requests }) => sum + requests, 0);
  };
  const sync = (args: string[]) => run(["sync", ...args]);

  test("copies what is missing or differs and leaves the rest alone, both ways", async () => {
    write("src/same", "same");
    write("src/longer", "1");
    write("src/edited", "old");
    await does(["sync", join(here, "src"), `${at}/s`]);
    const before = await puts();
    expect((await does(["sync", join(here, "src"), `${at}/s`])).text).toContain("nothing to do");
    expect(await puts()).toBe(before);
    write("src/longer", "22");
    // Same size, later date: the contents decide.
    utimesSync(write("src/edited", "new"), new Date(), new Date(Date.now() + 60_000));
    utimesSync(join(here, "src/same"), new Date(), new Date(Date.now() + 60_000));
    await does(["sync", join(here, "src"), `${at}/s`]);
    expect(await puts()).toBe(before + 2);
    await does(["sync", `${at}/s`, join(here, "back")]);
    expect(tree(join(here, "back"))).toEqual({ same: "same", longer: "22", edited: "new" });
    expect((await does(["sync", `${at}/s`, join(here, "back")])).text).toContain("nothing to do");
  });

  test("a file of many parts is recognised by the sums of its parts", async () => {
    const path = write("src/large", randomBytes(17 * MIB + 3));
    await does(["sync", "--part-size", "5MiB", join(here, "src"), `${at}/l`]);
    utimesSync(path, new Date(), new Date(Date.now() + 60_000));
    expect((await does(["sync", join(here, "src"), `${at}/l`])).text).toContain("nothing to do");
  });

  test("a change that kept size and date is found, because the file says when it was last changed", async () => {
    const path = write("src/a", "old");
    await does(["sync", join(here, "src"), `${at}/c`]);
    const { mtime } = statSync(path);
    writeFileSync(path, "new");
    utimesSync(path, mtime, mtime);
    await does(["sync", join(here, "src"), `${at}/c`]);
    expect((await does(["cat", `${at}/c/a`])).text).toBe("new");
  });

  test("removes nothing without --delete; with it only what SRC lacks and the filters take", async () => {
    write("src/a", "a");
    write("dst/a", "a");
    write("dst/extra/b", "b");
    write("dst/keep.log", "log");
    await does(["cp", join(here, "dst"), `${at}/d`]);
    await does(["sync", join(here, "src"), `${at}/d`]);
    expect(await keysOf(`${at}/d`)).toEqual(["d/a", "d/extra/b", "d/keep.log"]);
    const dry = await does(["sync", "-n", "--delete", "--exclude", "*.log", join(here, "src"), `${at}/d`]);
    expect(lines(dry)).toEqual(["delete  extra/b  (1 B)"]);
    await does(["sync", "--delete", "--exclude", "*.log", join(here, "src"), `${at}/d`]);
    expect(await keysOf(`${at}/d`)).toEqual(["d/a", "d/keep.log"]);
    await does(["sync", "--delete", `${at}/d`, join(here, "dst")]);
    expect(tree(join(here, "dst"))).toEqual({ a: "a", "keep.log": "log" });
    expect(existsSync(join(here, "dst/extra"))).toBe(false);
  });

  test("with --delete a folder of DST becomes a file, and a file a folder, where SRC has them so", async () => {
    write("src/model", "file");
    write("src/logs/a", "a");
    write("src/free", "free");
    await does(["cp", join(here, "src"), `${at}/turned`]);
    write("dst/model/old", "old");
    write("dst/logs", "old");
    write("dst/rest", "rest");
    const without = await sync([`${at}/turned`, join(here, "dst")]);
    expect(without.code).toBe(8);
    await does(["sync", "--delete", `${at}/turned`, join(here, "dst")]);
    expect(tree(join(here, "dst"))).toEqual({ free: "free", model: "file", "logs/a": "a" });
  });

  test("what a size filter leaves out of SRC is not removed from DST", async () => {
    write("src/grown", "12345");
    write("old/grown", "1");
    await does(["cp", join(here, "old"), `${at}/g`]);
    await does(["sync", "--delete", "--max-size", "2", join(here, "src"), `${at}/g`]);
    expect(await keysOf(`${at}/g`)).toEqual(["g/grown"]);
  });

  test("--delete is refused when SRC is empty, could not be read, or too much would go", async () => {
    for (const name of ["a", "b", "c"]) write(`dst/${name}`, name);
    await does(["cp", join(here, "dst"), `${at}/r`]);
    mkdirSync(join(here, "empty"));
    const empty = await sync(["--delete", join(here, "empty"), `${at}/r`]);
    expect(empty).toMatchObject({ code: 2 });
    expect(empty.talk).toContain("--delete-all");
    expect((await sync(["--delete", join(here, "absent"), `${at}/r`])).code).toBe(3);
    write("src/a", "a");
    const many = await sync(["--delete", "--max-delete", "1", join(here, "src"), `${at}/r`]);
    expect(many.talk).toContain("more than --max-delete 1");
    await armFault(store, { op: "ListObjectsV2", times: 50, action: { kind: "html", work: "skipped" } });
    const portal = await sync(["--delete", `${at}/none`, join(here, "dst")]);
    await clearFaults(store);
    expect(portal.code).not.toBe(0);
    expect(Object.keys(tree(join(here, "dst")))).toEqual(["a", "b", "c"]);
    expect(await keysOf(`${at}/r`)).toEqual(["r/a", "r/b", "r/c"]);
    await does(["sync", "--delete", "--delete-all", join(here, "empty"), `${at}/r`]);
    expect(await keysOf(`${at}/r`)).toEqual([]);
  });

  test("works between two places of a store, and refuses one inside the other", async () => {
    write("src/a", "a");
    write("src/b", "b");
    await does(["cp", join(here, "src"), `${at}/x`]);
    await does(["sync", `${at}/x`, `${at}/y`]);
    expect(await keysOf(`${at}/y`)).toEqual(["y/a", "y/b"]);
    expect((await does(["sync", `${at}/x`, `${at}/y`])).text).toContain("nothing to do");
    expect((await sync([`${at}/x`, `${at}/x/inner`])).talk).toContain("inside the other");
  });
});

describe("check", () => {
  test("says of each file whether it is the same, missing or different; the code is 6 when any differs", async () => {
    for (const name of ["same", "edited", "resized", "here"]) write(`src/${name}`, name);
    await does(["cp", join(here, "src"), `${at}/k`]);
    await does(["cp", "-", `${at}/k/there`], Buffer.from("there"));
    expect((await run(["check", join(here, "src"), `${at}/k`])).code).toBe(6);
    await does(["rm", `${at}/k/there`]);
    const same = await does(["check", join(here, "src"), `${at}/k`]);
    expect(lines(same).sort()).toEqual(["= edited", "= here", "= resized", "= same"]);
    await does(["cp", "-", `${at}/k/there`], Buffer.from("there"));
    await does(["rm", `${at}/k/here`]);
    write("src/edited", "EDITED");
    write("src/resized", "r");
    const found = await run(["check", join(here, "src"), `${at}/k`]);
    expect(found.code).toBe(6);
    expect(lines(found).sort()).toEqual(["* edited", "* resized", "< here", "= same", "> there"]);
    const json = lines(await run(["check", "--json", join(here, "src"), `${at}/k`])).map((line) => JSON.parse(line));
    expect(json.at(-1)).toMatchObject({ type: "done", same: 1, differs: 2, onlySource: 1, onlyTarget: 1 });
  });

  test("finds one flipped byte in a file of many parts, by the stored sums and by --download", async () => {
    const content = randomBytes(12 * MIB + 1);
    const path = write("src/large", content);
    await does(["cp", "--part-size", "5MiB", join(here, "src"), `${at}/f`]);
    await does(["check", "--download", join(here, "src"), `${at}/f`]);
    content[11 * MIB] = (content[11 * MIB] ?? 0) ^ 1;
    writeFileSync(path, content);
    expect((await run(["check", "--download", join(here, "src"), `${at}/f`])).text).toBe("* large\n");
    const sums = await run(["check", join(here, "src"), `${at}/f`]);
    expect(sums.code).toBe(6);
    expect(sums.text).toMatch(/^[*?] large\n$/);
    await does(["check", "--size-only", join(here, "src"), `${at}/f`]);
  });
});

describe("ls", () => {
  test("lists folders and objects with size and date, buckets without an address, and never calls a failure empty", async () => {
    write("src/a.bin", "12345");
    write("src/deep/b.bin", "b");
    await does(["cp", join(here, "src"), `${at}/ls`]);
    const flat = lines(await does(["ls", `${at}/ls/`]));
    expect(flat).toHaveLength(2);
    expect(flat.join("\n")).toMatch(/DIR {2}deep\/\n20\d\d-\d\d-\d\d \d\d:\d\d:\d\d +5 {2}a\.bin$/);
    expect(lines(await does(["ls", "-r", "--exclude", "deep/", `${at}/ls/`]))).toHaveLength(1);
    expect((await does(["ls"])).text).toContain(`s3://${store.bucket}`);
    const nothing = await run(["ls", `${at}/nothing`]);
    expect(nothing).toMatchObject({ code: 3, text: "" });
    await armFault(store, { op: "ListObjectsV2", times: 50, action: { kind: "html", work: "skipped" } });
    const failed = await run(["ls", `${at}/ls/`]);
    await clearFaults(store);
    expect(failed.code).toBe(5);
    expect(failed.talk).not.toContain("empty");
  });
});

describe("cat", () => {
  test("writes an object, or a range of it, and nothing else", async () => {
    const content = randomBytes(9 * MIB + 5);
    const path = write("large", content);
    await does(["cp", path, `${at}/cat`]);
    expect((await does(["cat", `${at}/cat`])).out.equals(content)).toBe(true);
    const range = await does(["cat", "--offset", "4194300", "--count", "9", `${at}/cat`]);
    expect(range.out.equals(content.subarray(4_194_300, 4_194_309))).toBe(true);
    expect((await does(["cat", "--offset", String(content.length), `${at}/cat`])).out).toHaveLength(0);
    expect((await run(["cat", "--offset", "1G", `${at}/cat`])).code).toBe(2);
    expect(await run(["cat", `${at}/absent`])).toMatchObject({ code: 3, text: "" });
  });
});

describe("rm", () => {
  test("deletes one object, and below a folder only with --recursive", async () => {
    for (const name of ["run/a", "run/b.log", "run/deep/c", "run-2/d"]) write(`src/${name}`, name);
    await does(["cp", join(here, "src"), at]);
    await does(["rm", `${at}/run/a`]);
    expect((await run(["rm", `${at}/run/a`])).code).toBe(3);
    const refused = await run(["rm", `${at}/run/`]);
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.talk).toContain("2 objects");
    const before = await writesSoFar();
    expect(lines(await does(["rm", "-r", "--dry-run", `${at}/run`]))).toHaveLength(2);
    expect(await writesSoFar()).toBe(before);
    await does(["rm", "-r", "--exclude", "*.log", `${at}/run`]);
    expect(await keysOf(at)).toEqual(["run-2/d", "run/b.log"]);
    await does(["rm", "-r", `${at}/run`]);
    expect(await keysOf(at)).toEqual(["run-2/d"]);
  });

  test("a bare bucket is refused without --recursive and keeps everything", async () => {
    await does(["cp", "-", `${at}/keep`], Buffer.from("a"));
    const refused = await run(["rm", `s3://${store.bucket}`]);
    expect(refused.code).toBe(2);
    expect(refused.talk).toMatch(/it holds \d+ objects/);
    expect(await keysOf(at)).toEqual(["keep"]);
  });
});

describe("presign", () => {
  test("makes URLs that read and write without keys", async () => {
    const put = (await does(["presign", "--method", "PUT", `${at}/signed+%.txt`])).text.trim();
    expect((await fetch(put, { method: "PUT", body: "by url" })).status).toBe(200);
    const get = (await does(["presign", "--expires", "2m", `${at}/signed+%.txt`])).text.trim();
    expect(get).toContain("X-Amz-Expires=120");
    expect(await (await fetch(get)).text()).toBe("by url");
    expect((await fetch(get, { method: "PUT", body: "no" })).status).toBe(403);
  });
});

test("the same verbs work on a store written by others", async (context) => {
  const versitygw = await installServer("versitygw", { ci: inCi() });
  if ("missing" in versitygw) return context.skip(versitygw.missing);
  const server = await startVersitygw(versitygw.program);
  try {
    const there = `s3://${server.bucket}/smoke`;
    const one = async (args: string[], input?: Buffer) => {
      const { child, ended } = start(args, server);
      child.stdin.end(input);
      const outcome = await ended;
      expect(outcome, outcome.talk).toMatchObject({ code: 0 });
      return outcome;
    };
    const content = randomBytes(12 * MIB);
    write("src/large", content);
    write("src/deep/small", "small");
    await one(["sync", "--part-size", "5MiB", join(here, "src"), there]);
    await one(["check", "--download", join(here, "src"), there]);
    expect((await one(["sync", join(here, "src"), there])).text).toContain("nothing to do");
    await one(["cp", there, `s3://${server.bucket}/copy`]);
    await one(["cp", "--part-size", "5MiB", "-", `s3://${server.bucket}/copy/stdin`], content);
    const digest = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
    expect(digest((await one(["cat", `s3://${server.bucket}/copy/stdin`])).out)).toBe(digest(content));
    expect(lines(await one(["ls", "-r", `s3://${server.bucket}/`]))).toHaveLength(5);
    await one(["rm", "-r", `s3://${server.bucket}/copy`]);
    await one(["sync", there, join(here, "back")]);
    expect(digest(readFileSync(join(here, "back/large")))).toBe(digest(content));
  } finally {
    await server.stop();
  }
});
