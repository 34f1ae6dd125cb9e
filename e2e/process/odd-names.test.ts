import { PutBucketVersioningCommand } from "@aws-sdk/client-s3";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { changeListings, clientOf, putOdd, serveOdd, type PassedAnswer } from "../stage/odd-objects.ts";
import { readCounters } from "../stage/store-control.ts";
import {
  at,
  does,
  here,
  keysOf,
  lines,
  round,
  run,
  start,
  store,
  tree,
  useVerbs,
  write,
  type Outcome,
} from "./verbs-stage.ts";

/** One name harms only itself: keys and files with names that real buckets and disks have. */

useVerbs();

const put = (...keys: string[]) => Promise.all(keys.map((key) => putOdd(store, `t${round}/${key}`)));
/** Matches the characters that a terminal would obey. */
const OBEYED = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;
const requestsOf = async (operation: string) =>
  (await readCounters(store, operation)).targets.reduce((sum, { requests }) => sum + requests, 0);

/** Runs a command against a store that changes its listings. */
async function runAgainst(args: string[], change: (text: string) => string): Promise<Outcome> {
  const odd = await serveOdd(store, changeListings(change));
  try {
    return await start(args, { ...store, endpoint: odd.endpoint }).ended;
  } finally {
    await odd.close();
  }
}

describe("keys that no file can have", () => {
  test("are counted and named, the others are fetched, and the code is 8", async () => {
    const bad = ["a//b", "/abs", `long/${"x".repeat(300)}`, "ctl/a\u0001b"];
    await put("fine", "deep/fine", ...bad);
    await putOdd(store, `t${round}/mark/`, { Body: "five5" });
    const copied = await run(["cp", "--json", `${at}/`, join(here, "got")]);
    expect(copied.code).toBe(8);
    expect(tree(join(here, "got"))).toEqual({ fine: "x", "deep/fine": "x" });
    const told = lines(copied).map((line) => JSON.parse(line));
    const failed = told.filter(({ type }) => type === "failed");
    const names = new Set(failed.map(({ name }) => name));
    expect(names).toEqual(new Set([...bad, "mark/"].map((key) => `t${round}/${key}`)));
    expect(new Set(failed.map(({ fault }) => fault.code))).toEqual(new Set(["HOSTILE_NAME"]));
    expect(told.at(-1)).toMatchObject({ type: "done", files: 2, filesFailed: 5 });
    const synced = await run(["sync", "--delete", `${at}/`, join(here, "got")]);
    expect(synced.code).toBe(8);
    expect(tree(join(here, "got"))).toEqual({ fine: "x", "deep/fine": "x" });
  });

  test("of 900 bytes, with a backslash, a colon, aux.c, a dot or a space at the end, or another case are ordinary", async () => {
    const keys = [
      "a\\b",
      "C:/x",
      "aux.c",
      "dot.",
      ".../x",
      "..a/b",
      "-rf",
      "a%2Fb",
      "q?x=1&y#z+w",
      "*[x]{y,z}",
      "space ",
      "README",
      "readme",
      "e\u0301",
      "\u00e9",
      `${"d/".repeat(449)}f`,
    ];
    await put(...keys);
    await does(["cp", `${at}/`, join(here, "got")]);
    expect(Object.keys(tree(join(here, "got"))).sort()).toEqual(keys.toSorted());
    await does(["cp", join(here, "got"), `${at}b/`]);
    expect((await keysOf(`${at}b`)).map((key) => key.slice(`t${round}b/`.length) || key).length).toBe(keys.length);
    expect((await does(["sync", "--delete", join(here, "got"), `${at}b/`])).text).toContain("nothing to do");
  });

  test("and a file beside the folder of its name: the folder's files are fetched, the file is named", async () => {
    await put("ff/model", "ff/model/config.json", "ff/model-2", "ff/x");
    const copied = await run(["cp", `${at}/ff`, join(here, "ff")]);
    expect(copied.code).toBe(8);
    expect(copied.talk).toContain(`failed  t${round}/ff/model: `);
    expect(tree(join(here, "ff"))).toEqual({ "model/config.json": "x", "model-2": "x", x: "x" });
  });

  test("and what lies where a file of this machine is in the way is named; the others are fetched", async () => {
    await put("w/model/config.json", "w/ok");
    write("w/model", "a file");
    const copied = await run(["cp", `${at}/w`, join(here, "w")]);
    expect(copied.code).toBe(8);
    expect(copied.talk).toContain(`failed  t${round}/w/model/config.json: `);
    expect(tree(join(here, "w"))).toEqual({ model: "a file", ok: "x" });
  });

  test("an empty object that stands for a folder is left out, and said", async () => {
    await put("m/model0/w.bin");
    await putOdd(store, `t${round}/m/model0`, { Body: "" });
    await putOdd(store, `t${round}/m/dir/`, { Body: "" });
    const copied = await does(["cp", `${at}/m`, join(here, "m")]);
    expect(tree(join(here, "m"))).toEqual({ "model0/w.bin": "x" });
    expect(copied.text).toContain(`verified, without 2 marks of folders (t${round}/m/dir/, t${round}/m/model0)`);
  });

  test("and an empty object that is named itself stands for its folder where there is one", async () => {
    await put("o/model0/w.bin");
    await putOdd(store, `t${round}/o/model0`, { Body: "" });
    await putOdd(store, `t${round}/o/alone`, { Body: "" });
    const named = `${at}/o/model0`;
    const copied = await does(["cp", named, join(here, "o")]);
    expect(tree(join(here, "o"))).toEqual({ "w.bin": "x" });
    expect(copied.text).toContain(`verified, without 1 mark of a folder (t${round}/o/model0)`);
    expect((await does(["cp", "-n", named, join(here, "n")])).text).toContain("model0/w.bin -> ");
    await does(["cp", named, `${at}/copy/`]);
    expect(await keysOf(`${at}/copy`)).toEqual(["copy/w.bin"]);
    await does(["cp", `${at}/o/alone`, join(here, "alone")]);
    expect(tree(here)).toEqual({ "o/w.bin": "x", alone: "" });
    for (const args of [
      ["cat", named],
      ["cp", named, "-"],
      ["inspect", named],
    ]) {
      const refused = await run(args);
      expect([refused.code, refused.text], args[0]).toEqual([2, ""]);
      expect(refused.talk).toContain("it is empty and stands for the folder");
    }
    expect((await does(["cat", `${at}/o/alone`])).out).toHaveLength(0);
  });
});

test("a listing that names a key twice is read as if it named it once", async () => {
  await put("d/one", "d/two");
  const twice = (text: string) => text.replace(/(<Contents>.*<\/Contents>)/s, "$1$1");
  const copied = await runAgainst(["cp", "--json", `${at}/d`, join(here, "d")], twice);
  expect(copied.code).toBe(0);
  expect(JSON.parse(lines(copied).at(-1) ?? "")).toMatchObject({ files: 2, bytes: 2 });
  const first = (text: string) => text.replace(/(<Contents>.*?<\/Contents>)/s, "$1$1");
  const listed = await runAgainst(["ls", "--json", `${at}/d/`], first);
  expect(lines(listed).filter((line) => line.includes('"object"'))).toHaveLength(2);
});

test("a key that comes again on a later page counts once in ls, cp, sync and rm, and it is said", async () => {
  await put("r/a", "r/b", "r/c", "r/d");
  // Two pages: the second repeats the first key of the first page, and goes on with the others.
  let whole = "";
  const rowsOf = (...names: string[]) =>
    names.map((name) => new RegExp(`<Contents><Key>[^<]*${name}</Key>.*?</Contents>`).exec(whole)?.[0]).join("");
  const pages = (answer: PassedAnswer): PassedAnswer => {
    if (!answer.url.includes("list-type=2") || answer.url.includes("max-keys")) return answer;
    const isSecond = answer.url.includes("continuation-token");
    if (!isSecond) whole = answer.body.toString();
    const text = whole.replace(/<Contents>.*<\/Contents>/s, isSecond ? rowsOf("a", "c", "d") : rowsOf("a", "b"));
    const next = "<IsTruncated>true</IsTruncated><NextContinuationToken>2</NextContinuationToken>";
    const body = Buffer.from(isSecond ? text : text.replace("<IsTruncated>false</IsTruncated>", next));
    return { ...answer, status: 200, body };
  };
  const odd = await serveOdd(store, pages);
  const told = async (...args: string[]) => {
    const ended = await start([...args, "--json"], { ...store, endpoint: odd.endpoint }).ended;
    return { code: ended.code, ...JSON.parse(lines(ended).at(-1) ?? "{}") };
  };
  const leftOut = [{ kind: "repeated", count: 1, names: [`t${round}/r/a`] }];
  try {
    expect(await told("ls", "-r", `${at}/r/`)).toMatchObject({ objects: 4, bytes: 4, leftOut });
    expect(await told("cp", `${at}/r`, join(here, "r"))).toMatchObject({ code: 0, files: 4, bytes: 4, leftOut });
    expect(await told("sync", `${at}/r`, join(here, "s"))).toMatchObject({ code: 0, files: 4, bytes: 4, leftOut });
    expect(await told("rm", "-r", `${at}/r`)).toMatchObject({ code: 0, deleted: 4, bytes: 4, leftOut });
  } finally {
    await odd.close();
  }
});

test("a key that is not valid UTF-8 is named, and the others are listed and fetched", async () => {
  await put("u/caf@", "u/fine");
  const latin = (text: string) => text.replaceAll(/caf(?:@|%40)/g, "caf%E9");
  const copied = await runAgainst(["cp", `${at}/u`, join(here, "u")], latin);
  expect(copied.code).toBe(8);
  expect(copied.talk).toContain("the key is not valid UTF-8");
  expect(tree(join(here, "u"))).toEqual({ fine: "x" });
  const listed = await runAgainst(["ls", `${at}/u/`], latin);
  expect([listed.code, listed.text.includes("fine")]).toEqual([8, true]);
});

test("nothing in a name reaches a terminal or a line of --json that it would obey", async () => {
  const evil = "\u001b]0;pwned\u0007\u001b[31m\u009b2J\u202egpj";
  await put(`esc/${evil}`, "esc/fine");
  mkdirSync(join(here, evil));
  writeFileSync(join(here, evil, "file"), "x");
  const said = [
    await run(["ls", `${at}/esc/`]),
    await run(["ls", "--json", `${at}/esc/`]),
    await run(["cp", `${at}/esc`, join(here, "esc")]),
    await run(["cp", "--json", `${at}/esc`, join(here, "esc")]),
    await run(["cp", join(here, evil), `${at}/up`]),
    await run(["cp", join(here, evil, "file"), `${at}/up/${evil}`]),
    await run(["cp", join(here, evil), `${at}/${evil}`]),
    await run(["sync", `${at}/esc`, join(here, evil, "to")]),
    await run(["check", `${at}/esc`, join(here, "esc")]),
    await run(["cat", `${at}/none${evil}`]),
    await run(["rm", "-n", "--recursive", `${at}/esc`]),
    await run(["rm", `${at}/esc/${evil}`]),
  ];
  for (const { text, talk } of said) expect(text + talk).not.toMatch(OBEYED);
  expect(said.map(({ code }) => code)).toEqual([0, 0, 8, 8, 0, 0, 0, 8, 6, 3, 0, 0]);
});

test("a key with . or .. as a segment is removed by its name, and never the one to which a URL would lead", async () => {
  await put("q/c");
  // No client sends such a key in a URL; DeleteObjects and listings name it as it is.
  const dotted = `t${round}/q/b/../c`;
  let isThere = true;
  const withDotted = (answer: PassedAnswer): PassedAnswer => {
    const body = answer.body.toString();
    if (answer.url.includes("list-type=2") && isThere && answer.url.includes("..")) {
      const row = `<Contents><Key>${dotted}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;e&quot;</ETag><Size>1</Size></Contents>`;
      return { ...answer, body: Buffer.from(body.replace("</ListBucketResult>", `${row}</ListBucketResult>`)) };
    }
    if (body.includes(`<Deleted><Key>${dotted}`)) isThere = false;
    return answer;
  };
  const odd = await serveOdd(store, withDotted);
  const remove = () => start(["rm", `${at}/q/b/../c`], { ...store, endpoint: odd.endpoint }).ended;
  try {
    expect(await remove()).toMatchObject({ code: 0, text: expect.stringContaining(`deleted  ${dotted}`) as string });
    expect(isThere).toBe(false);
    expect((await remove()).code).toBe(3);
    expect(await keysOf(`${at}/q`)).toEqual(["q/c"]);
  } finally {
    await odd.close();
  }
});

test("of many keys one with a control character is deleted by a request of its own, the others together", async () => {
  const keys = ["r/a\u0001b", "r/a\nb", "r/one", "r/two"];
  await put(...keys);
  const before = [await requestsOf("DeleteObjects"), await requestsOf("DeleteObject")];
  await does(["rm", "--recursive", `${at}/r`]);
  expect(await keysOf(`${at}/r`)).toEqual([]);
  expect([await requestsOf("DeleteObjects"), await requestsOf("DeleteObject")]).toEqual([
    (before[0] ?? 0) + 1,
    (before[1] ?? 0) + 2,
  ]);
  await put("s/keep", "s/x\u0002y", "s/z");
  write("src/keep", "x");
  await does(["sync", "--delete", join(here, "src"), `${at}/s`]);
  expect(await keysOf(`${at}/s`)).toEqual(["s/keep"]);
});

test("sync --delete names a key of DST that is not valid UTF-8, with code 8; it stays, the rest of what is too much is removed", async () => {
  await put("v8/caf@", "v8/fine", "v8/extra");
  write("src/fine", "x");
  await does(["sync", join(here, "src"), `${at}/v8`]);
  const latin = (text: string) => text.replaceAll(/caf(?:@|%40)/g, "caf%E9");
  const synced = await runAgainst(["sync", "--delete", "--json", join(here, "src"), `${at}/v8`], latin);
  expect(synced.code, synced.talk).toBe(8);
  const told = lines(synced).map((line) => JSON.parse(line));
  expect(told.find(({ type }) => type === "failed")).toMatchObject({ fault: { code: "HOSTILE_NAME" } });
  expect(told.at(-1)).toMatchObject({ type: "removed", deleted: 1 });
  expect(await keysOf(`${at}/v8`)).toEqual(["v8/caf@", "v8/fine"]);
  const again = await runAgainst(["sync", "--delete", join(here, "src"), `${at}/v8`], latin);
  expect([again.code, again.text]).toEqual([8, expect.stringContaining("nothing to do, 1 files (1 B), 1 failed")]);
  const keeps = await runAgainst(["sync", join(here, "src"), `${at}/v8`], latin);
  expect([keeps.code, keeps.text]).toEqual([0, expect.stringContaining("nothing to do")]);
});

test("a file whose name is not valid UTF-8, and one with a control character, are named; the others are sent", async () => {
  write("src/fine", "x");
  write("src/be\u0007ll", "x");
  writeFileSync(Buffer.concat([Buffer.from(join(here, "src/caf")), Buffer.from([0xe9])]), "x");
  expect(readdirSync(join(here, "src"))).toHaveLength(3);
  const copied = await run(["cp", join(here, "src"), `${at}/up`]);
  expect(copied.code).toBe(8);
  expect(copied.text).toContain("2 failed");
  expect(await keysOf(`${at}/up`)).toEqual(["up/fine"]);
});

test("a deletion in a bucket that keeps old versions says that nothing is freed, after one request about it", async () => {
  const client = clientOf(store);
  await put("v/1", "v/2", "v/3", "w/extra", "x");
  const plain = await run(["rm", "--json", `${at}/x`]);
  expect(JSON.parse(lines(plain).at(-1) ?? "")).toMatchObject({ type: "deleted", keepsVersions: false });
  const VersioningConfiguration = { Status: "Enabled" } as const;
  await client.send(new PutBucketVersioningCommand({ Bucket: store.bucket, VersioningConfiguration }));
  client.destroy();
  const kept = "the bucket keeps them as old versions, so nothing is freed until a rule of the bucket";
  expect((await run(["rm", "-n", "-r", `${at}/v`])).talk).toContain(kept);
  expect((await run(["rm", `${at}/v/3`])).text).toContain(kept);
  const before = await requestsOf("GetBucketVersioning");
  const removed = await run(["rm", "-r", "--json", `${at}/v`]);
  expect(JSON.parse(lines(removed).at(-1) ?? "")).toMatchObject({ type: "done", deleted: 2, keepsVersions: true });
  expect(await requestsOf("GetBucketVersioning")).toBe(before + 1);
  write("src/new", "x");
  expect((await run(["sync", "--delete", join(here, "src"), `${at}/w`])).text).toContain(kept);
  // A store that refuses the question: the deletion happens, and nothing is said.
  await put("v/4");
  const refuses = (answer: PassedAnswer): PassedAnswer =>
    answer.url.includes("versioning=")
      ? { ...answer, status: 403, body: Buffer.from("<Error><Code>AccessDenied</Code></Error>") }
      : answer;
  const odd = await serveOdd(store, refuses);
  try {
    const denied = await start(["rm", "-r", "--json", `${at}/v`], { ...store, endpoint: odd.endpoint }).ended;
    expect(denied.code).toBe(0);
    expect(JSON.parse(lines(denied).at(-1) ?? "")).toMatchObject({ deleted: 1, keepsVersions: null });
  } finally {
    await odd.close();
  }
});
