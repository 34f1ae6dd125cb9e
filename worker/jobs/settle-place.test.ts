import { lstat, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { runName } from "#protocol/base/names.ts";
import type { Agent } from "../agent/agent-assemble.ts";
import { identityOf } from "../base/file-identity.ts";
import { createFakeHub } from "../testing/fake-hub.ts";
import { openInputCache } from "./bytes/input-cache.ts";
import { settlePlace } from "./settle-place.ts";

const id = "6f9619ff-8b86-4d01-b42d-00c04fc964ff";
let folder: string;
let own: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-settle-"));
  own = join(folder, id);
  await mkdir(join(own, "ckpt/checkpoint-10"), { recursive: true });
  await writeFile(join(own, "ckpt/checkpoint-10/model.safetensors"), "weights");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** An agent whose ledger says that every checkpoint was stored, and whose hub says which are complete. */
const agentWith = (complete: string[]): Pick<Agent, "ledger" | "hub"> => ({
  ledger: { storedAs: (path: string) => path } as unknown as Agent["ledger"],
  hub: createFakeHub({ confirmComplete: () => ({ complete }) }),
});
const place = () => ({ own, watches: [{ folder: join(own, "ckpt"), run: runName.parse("llama"), takes: null }] });
/** No inputs and no saved outputs. */
const none = () => ({ cache: openInputCache(folder, null), saved: new Map() });
const checkpoint = () => join(own, "ckpt/checkpoint-10");

it("removes the folder of a job of which everything is in the bucket", async () => {
  expect(await settlePlace(agentWith([checkpoint()]), place(), none())).toBe(true);
  expect(await readdir(folder)).toEqual([]);
});

it("keeps it while the bucket does not have a checkpoint in it any more", async () => {
  expect(await settlePlace(agentWith([]), place(), none())).toBe(false);
  expect(await readdir(folder)).toEqual([id]);
});

it.each(["notes.txt", "ckpt/optimizer.log", "ckpt/.set-aside-checkpoint-5"])("keeps it with %s in it", async (name) => {
  await writeFile(join(own, name), "of the program");
  expect(await settlePlace(agentWith([checkpoint()]), place(), none())).toBe(false);
  expect(await readdir(folder)).toEqual([id]);
});

it("touches no folder that the job named", async () => {
  expect(await settlePlace(agentWith([checkpoint()]), { ...place(), own: null }, none())).toBe(true);
  expect(await readdir(folder)).toEqual([id]);
});

it("removes it with links to inputs and with saved outputs, and keeps it once an output was changed or a link leads elsewhere", async () => {
  const [result, link] = [join(own, "result.json"), join(own, "data")];
  await writeFile(result, "{}");
  await symlink(join(folder, ".inputs/objects/aa"), link);
  const saved = new Map([[result, identityOf(await lstat(result, { bigint: true }))]]);
  await writeFile(result, "{ }");
  expect(await settlePlace(agentWith([checkpoint()]), place(), { ...none(), saved })).toBe(false);
  saved.set(result, identityOf(await lstat(result, { bigint: true })));
  await symlink("/etc/hostname", join(own, "other"));
  expect(await settlePlace(agentWith([checkpoint()]), place(), { ...none(), saved })).toBe(false);
  await rm(join(own, "other"));
  expect(await settlePlace(agentWith([checkpoint()]), place(), { ...none(), saved })).toBe(true);
  expect(await readdir(folder)).toEqual([]);
});
