import { chmod, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runAsOtherUser } from "#worker/testing/as-other-user.ts";
import { findUntaken, apartOf, notEnteredFaults, untakenReason, untakenWords } from "./untaken.ts";
import { findCandidates } from "./walk-watched.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-untaken-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function write(...paths: string[]): Promise<void> {
  for (const [at, path] of paths.entries()) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), Buffer.alloc(4_096 - at));
  }
}

test("what has the name of a checkpoint in a hidden folder is told with that folder", async () => {
  await write("runs/.checkpoints/step_10/model.safetensors", "runs/.checkpoints/step_20.pt", ".aim/run.db");
  const untaken = await findUntaken({ folder }, []);
  expect(untaken).toMatchObject({
    files: 2,
    largest: [{ path: "runs/.checkpoints/step_10/model.safetensors" }, { path: "runs/.checkpoints/step_20.pt" }],
  });
  expect(apartOf(untaken)).toEqual({ kind: "hidden", folder: "runs/.checkpoints" });
  expect(untakenReason(untaken)).toContain("hidden");
  await write("runs/left.bin");
  await writeFile(join(folder, "runs/left.bin"), Buffer.alloc(9_000));
  expect(apartOf(await findUntaken({ folder }, []))).toBeNull();
});

test("what lies deeper than checkpoints are looked for is told with the folder to watch", async () => {
  await write("a/b/c/d/e/f/g/h/step_10/model.safetensors", "a/b/c/d/e/f/left.bin");
  const apart = { kind: "deep", folder: "a/b/c/d/e/f/g" };
  expect((await findUntaken({ folder }, [])).largest).toMatchObject([{ apart }, { path: "a/b/c/d/e/f/left.bin" }]);
  const found = await findCandidates({ folder: join(folder, "a/b/c/d/e/f/g") });
  expect(found).toMatchObject([{ step: 10 }]);
  // As deep as is looked into.
  await write("a/b/c/d/e/f/step_20/model.safetensors");
  expect(await findCandidates({ folder })).toMatchObject([{ step: 20 }]);
});

test("checkpoints behind a link to a folder are told with that link, but not what training reads there", async () => {
  const elsewhere = await mkdtemp(join(tmpdir(), "tidemark-elsewhere-"));
  try {
    await write("releases/0042/model.safetensors");
    await symlink("releases", join(folder, "current"));
    await symlink(elsewhere, join(folder, "data"));
    for (const name of ["llama/model.safetensors", "train.npz", "sub/step_10/model.safetensors"]) {
      await mkdir(dirname(join(elsewhere, name)), { recursive: true });
      await writeFile(join(elsewhere, name), Buffer.alloc(4_096));
    }
    // It would lead in a circle.
    await symlink(elsewhere, join(elsewhere, "again"));
    const taken = { path: join(folder, "releases/0042"), name: "0042", kind: "folder" } as const;
    const untaken = await findUntaken({ folder }, [taken]);
    const apart = { kind: "link", folder: "data" };
    expect(untaken).toMatchObject({ files: 1, largest: [{ path: "data/sub/step_10/model.safetensors", apart }] });
    expect(untakenReason(untaken)).toContain("linked folder");
  } finally {
    await rm(elsewhere, { recursive: true, force: true });
  }
});

test("what tools download, and what this worker keeps, is not told", async () => {
  await write(
    ".cache/torch/hub/checkpoints/resnet50.pth",
    ".ipynb_checkpoints/model.pt",
    ".set-aside-step_10/model.pt",
    ".step_10.restoring-0123456789ab/model.pt",
    ".tidemark-state/captures/1/model.pt",
    ".state/captures/1/model.pt",
    ".state/worker.lock",
  );
  expect((await findUntaken({ folder }, [])).files).toBe(0);
});

const long = new Date(2020, 0, 1);

test("of more folders than are looked through the newest are, and the others are counted with the first of them", async () => {
  const few = await findUntaken({ folder }, []);
  expect(notEnteredFaults(folder, few)).toEqual([]);
  for (let at = 0; at < 2_010; at++) {
    const path = join(folder, `data-${String(at).padStart(4, "0")}`);
    await mkdir(path);
    await utimes(path, long, new Date(2020, 0, 1, 0, 0, at));
  }
  await write("zz/left.bin", "aa/left.bin");
  await utimes(join(folder, "aa"), long, long);
  const untaken = await findUntaken({ folder }, []);
  // The two newest of 2,012 are entered for one file each, and the 12 oldest are not.
  expect(untaken.largest).toMatchObject([{ path: "zz/left.bin" }]);
  expect(untaken.notEntered).toMatchObject([{ why: "folders", path: "data-0010", others: 11 }]);
  expect(notEnteredFaults(folder, untaken)).toMatchObject([
    {
      context: { subject: folder, detail: expect.stringMatching(/data-0010 and 11 more.* in turn.*watch the folder/) },
    },
  ]);
  // The end of a program comes once, so many more are looked through.
  expect((await findUntaken({ folder }, [], { since: 1, isOver: true })).files).toBe(2);
});

test("a hidden file with the name of a checkpoint is told, once it is not about to be renamed", async () => {
  await write("runs/.ckpt_10.pt", "runs/._ckpt_10.pt", "runs/.ckpt_10.pt.tmp", "runs/.history", ".DS_Store");
  expect((await findUntaken({ folder }, [])).files).toBe(0);
  // The program has ended, so nothing renames it any more.
  const atEnd = await findUntaken({ folder }, [], { since: 1, isOver: true });
  await utimes(join(folder, "runs/.ckpt_10.pt"), long, long);
  const quiet = await findUntaken({ folder }, []);
  for (const untaken of [atEnd, quiet]) {
    expect(untaken).toMatchObject({ files: 1, largest: [{ path: "runs/.ckpt_10.pt" }] });
    expect(apartOf(untaken)).toEqual({ kind: "dot", folder: "runs" });
    expect(untakenReason(untaken)).toContain("hidden file");
  }
});

test("small files are counted in one clause, and told by name where that is of a checkpoint", async () => {
  for (const name of ["run_id", "rng.dat", "args.pkl", "train.log", "config.json"])
    await writeFile(join(folder, name), "x".repeat(20));
  const small = await findUntaken({ folder }, []);
  expect(small).toMatchObject({ files: 0, small: { files: 3 } });
  expect(untakenWords(small)).toMatch(/^3 files below 1 KiB \(the first: (run_id|rng\.dat|args\.pkl)\)$/);
  await writeFile(join(folder, "weights.safetensors"), "x");
  const named = await findUntaken({ folder }, []);
  expect(untakenWords(named)).toMatch(/^weights\.safetensors \(1 B\), and 3 files below 1 KiB/);
});

test("a folder that may not be read is named, and the others are looked into", async () => {
  await write("sub/step_10/model.safetensors", "left.bin");
  await chmod(join(folder, "sub"), 0);
  await chmod(folder, 0o755);
  const script = `
    const { findUntaken, notEnteredFaults } = await import(${JSON.stringify(import.meta.resolve("./untaken.ts"))});
    const untaken = await findUntaken({ folder: ${JSON.stringify(folder)} }, []);
    console.log(JSON.stringify([untaken, notEnteredFaults(${JSON.stringify(folder)}, untaken)[0].context]));`;
  try {
    expect(JSON.parse(runAsOtherUser(script))).toMatchObject([
      { files: 1, notEntered: [{ path: "sub", why: "unreadable", others: 0 }] },
      { subject: join(folder, "sub"), detail: expect.stringContaining("may not read this folder") },
    ]);
  } finally {
    await chmod(join(folder, "sub"), 0o755);
  }
});
