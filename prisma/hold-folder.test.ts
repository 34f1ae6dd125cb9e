import { mkdtempSync, rmSync } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import type { Fault } from "#protocol/faults/fault.ts";
import { holdFolder } from "./hold-folder.ts";

const dir = mkdtempSync(join(tmpdir(), "tidemark-hold-folder-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const folderOf = (name: string): string => mkdtempSync(join(dir, name));
const ignore = () => undefined;
const FAR = { host: "far-machine", bootId: "another start of another machine" };

/** Takes the folder from this machine as from one whose locks do not arrive here. */
async function holdFromAfar(folder: string, onTaken: (fault: Fault) => void = ignore): Promise<() => Promise<void>> {
  const release = await holdFolder(folder, { waitMs: 0, onTaken, machine: FAR });
  // Without its name nobody else meets the lock, as on a volume whose locks stay on one machine.
  await rename(join(folder, "hub.lock"), join(folder, "lock-of-the-far-machine"));
  return release;
}

test("who holds a folder is told to the next, until it is released", async () => {
  const folder = folderOf("one-");
  const release = await holdFolder(folder, { waitMs: 0, onTaken: ignore });
  await expect(holdFolder(folder, { waitMs: 0, onTaken: ignore })).rejects.toMatchObject({
    code: "FOLDER_IN_USE",
    message: expect.stringContaining(`process ${process.pid} on ${hostname()}, since `) as string,
  });
  await release();
  await (
    await holdFolder(folder, { waitMs: 0, onTaken: ignore })
  )();
});

test("a hub on another machine keeps the folder where file locks do not reach this one", async () => {
  const folder = folderOf("far-");
  const release = await holdFromAfar(folder);
  await expect(holdFolder(folder, { waitMs: 0, onTaken: ignore })).rejects.toMatchObject({
    code: "FOLDER_IN_USE",
    message: expect.stringContaining("on far-machine, since ") as string,
  });
  await release();
  await (
    await holdFolder(folder, { waitMs: 0, onTaken: ignore })
  )();
});

test("a holder on another machine that was killed gives way once it no longer counts", async () => {
  const folder = folderOf("dead-");
  const release = await holdFromAfar(folder);
  const left = await readFile(join(folder, "hub.holder"));
  await release();
  await writeFile(join(folder, "hub.holder"), left);
  const mine = await holdFolder(folder, { waitMs: 0, onTaken: ignore });
  expect(await readFile(join(folder, "hub.holder"), "utf8")).toContain(`"pid":${process.pid},"bootId"`);
  expect(await readFile(join(folder, "hub.holder"), "utf8")).not.toContain("far-machine");
  await mine();
});

test("of two that began at the same moment the one that lost the folder is told, with the other's name", async () => {
  const folder = folderOf("both-");
  const onTaken = vi.fn<(fault: Fault) => void>();
  const release = await holdFolder(folder, { waitMs: 0, onTaken });
  await rm(join(folder, "hub.holder"));
  await rename(join(folder, "hub.lock"), join(folder, "lock-of-the-first"));
  const other = await holdFromAfar(folder);
  await vi.waitFor(() => expect(onTaken).toHaveBeenCalledOnce(), { timeout: 60_000 });
  expect(onTaken.mock.calls[0]?.[0].message).toContain("on far-machine");
  await release();
  expect(await readFile(join(folder, "hub.holder"), "utf8")).toContain("far-machine");
  await other();
});
