import { lchown, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lookAt } from "./look.ts";
import { whyNotFollowed, type LinkRule } from "./link-rule.ts";

let dir: string;
let rule: LinkRule;
const at = (...names: string[]) => join(dir, ...names);
const own = process.getuid?.() ?? 0;
const OTHER = own + 1_000;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "tidemark-links-"));
  await mkdir(at("watched", "checkpoint-1"), { recursive: true });
  await mkdir(at("elsewhere"));
  await writeFile(at("elsewhere", "secret"), "secret");
  await writeFile(at("watched", "checkpoint-1", "model.safetensors"), "weights");
  rule = { root: at("watched"), followsAll: false };
});
afterEach(() => rm(dir, { recursive: true, force: true }));

describe("a link in a watched folder", () => {
  test("is followed to what the owner of the folder owns, wherever that is", async () => {
    await symlink(at("elsewhere", "secret"), at("watched", "link"));
    expect(await whyNotFollowed(at("watched", "link"), rule, own)).toBeNull();
  });

  test("out of the folder is not followed to what another user owns, unless it is asked for", async () => {
    await symlink(at("elsewhere", "secret"), at("watched", "link"));
    expect(await whyNotFollowed(at("watched", "link"), rule, OTHER)).toContain(`user ${OTHER}`);
    expect(await whyNotFollowed(at("watched", "link"), { ...rule, followsAll: true }, OTHER)).toBeNull();
  });

  test("within the folder is followed, by whatever way the folder is named", async () => {
    await symlink(at("watched", "checkpoint-1", "model.safetensors"), at("watched", "last"));
    await symlink(at("watched"), at("other-name"));
    expect(await whyNotFollowed(at("other-name", "last"), { ...rule, root: at("other-name") }, OTHER)).toBeNull();
  });

  test("to a folder whose name only begins as the watched one does leads out", async () => {
    await mkdir(at("watched-too"));
    await symlink(at("watched-too"), at("watched", "link"));
    expect(await whyNotFollowed(at("watched", "link"), rule, OTHER)).not.toBeNull();
  });
});

// A worker of root whose program is another user: what the attack needs.
describe.runIf(own === 0)("a checkpoint of another user's program, looked at by root", () => {
  const candidate = (name: string, kind: "folder" | "file" = "folder") => ({
    path: at("watched", name),
    kind,
    links: rule,
  });
  const refused = { code: "LINK_REFUSED" };
  beforeEach(async () => {
    for (const path of ["watched", "watched/checkpoint-1", "watched/checkpoint-1/model.safetensors"])
      await lchown(at(path), OTHER, OTHER);
  });

  test("with a link to a file of root is refused, and with one to a file of its own it is taken", async () => {
    await symlink(at("elsewhere", "secret"), at("watched", "checkpoint-1", "optimizer.pt"));
    await expect(lookAt(candidate("checkpoint-1"))).rejects.toMatchObject(refused);
    await lchown(at("elsewhere", "secret"), OTHER, OTHER);
    expect((await lookAt(candidate("checkpoint-1")))?.files).toHaveLength(2);
  });

  test("that is a link to a folder or a file of root itself is refused; one to a folder of its own is taken", async () => {
    await mkdir(at("scratch"));
    await writeFile(at("scratch", "model.safetensors"), "weights");
    await symlink(at("scratch"), at("watched", "checkpoint-2"));
    await symlink(at("elsewhere", "secret"), at("watched", "model-3.pt"));
    await expect(lookAt(candidate("checkpoint-2"))).rejects.toMatchObject(refused);
    await expect(lookAt(candidate("model-3.pt", "file"))).rejects.toMatchObject(refused);
    expect(await lookAt({ ...candidate("checkpoint-2"), links: { ...rule, followsAll: true } })).not.toBeNull();
    await lchown(at("scratch"), OTHER, OTHER);
    expect((await lookAt(candidate("checkpoint-2")))?.files).toHaveLength(1);
  });
});
