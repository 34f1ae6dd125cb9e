import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { fileTimes } from "#worker/base/file-times.ts";
import { readIdentity } from "#worker/base/identity.ts";
import { openSendJournal } from "./send-journal.ts";
import { openFileSource } from "./send-source.ts";
import { onRemoteDisk } from "#worker/testing/trial-remote-disk.ts";

onRemoteDisk();

let folder: string;
let path: string;
const PART = 5;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-unsteady-"));
  path = join(folder, "a");
  await writeFile(path, "12345678");
  await wobble(0);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Tells a time this many ms from that at which it was written. */
async function wobble(byMs: number): Promise<void> {
  const seconds = 1_790_000_000.345 + byMs / 1000;
  await utimes(path, seconds, seconds);
}

/** Resolves once the file's time was compared with another one that may be a wobble. */
function whenComparedFirst(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { mayBeWobble } = fileTimes;
  fileTimes.mayBeWobble = (...compared) => {
    resolve();
    return mayBeWobble(...compared);
  };
  return promise;
}

test("a file whose time goes back is sent, and then also while it goes forth", async () => {
  const identity = await readIdentity(path);
  await wobble(-900);
  const source = await openFileSource({ path, identity });
  await wobble(900);
  await source.assertUnchanged();
  await source.close();
});

test("a file whose time goes forth is looked at again, and sent when it comes back", async () => {
  const identity = await readIdentity(path);
  await wobble(900);
  const firstLook = whenComparedFirst();
  const opening = openFileSource({ path, identity });
  await firstLook;
  await wobble(0);
  await (await opening).close();
  expect(fileTimes.wobbles(identity)).toBe(true);
});

test("a file whose time goes forth and stays is not sent, with the flag named", async () => {
  const identity = await readIdentity(path);
  await wobble(900);
  await expect(openFileSource({ path, identity })).rejects.toThrow(/its time changed.*--unsteady-times/);
});

/** A later life of an upload of which the first part was sent. */
async function goOn(): Promise<number> {
  const file = { key: "k", path, identity: await readIdentity(path), partBytes: PART };
  const journal = await openSendJournal(join(folder, "journal"));
  const { memory } = await journal.file(file);
  const known = memory.parts.size;
  if (memory.uploadId === null) {
    await memory.begin({ uploadId: "u", checksum: "crc32" });
    await memory.acknowledge(1, { etag: '"e"', crc32: crc32Hex(Buffer.from("12345")) });
  }
  await journal.close();
  return known;
}

test("an upload goes on where only the time of its file wobbled: what was sent is compared with it", async () => {
  expect([await goOn(), await goOn()]).toEqual([0, 1]);
  await wobble(-900);
  expect(await goOn()).toBe(1);
});

test("an upload of a file whose time went back begins anew where other bytes are in it", async () => {
  expect(await goOn()).toBe(0);
  await writeFile(path, "12399678");
  await wobble(-900);
  expect(await goOn()).toBe(0);
});
