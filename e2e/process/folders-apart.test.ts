import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IMPLEMENTATIONS, stageOver, type Staged } from "../stage/stage-over.ts";
import { said, writer } from "../stage/write-files-program.ts";

/** Checkpoints in folders of a watched folder that are not looked into: nothing of them is kept, and nothing of them is silent. */
describe.each(IMPLEMENTATIONS)("with %s", (implementation) => {
  let staged: Staged;
  beforeAll(async () => {
    staged = await stageOver(implementation);
  });
  afterAll(() => staged.close());

  test.each([
    ["in a hidden folder", "hidden", ".checkpoints"],
    ["behind a link to a folder", "linked", "ckpts"],
    ["in a folder below many others", "deep", "a/b/c/d/e/f/g"],
  ])("checkpoints %s are told with the way to keep them, and kept where that folder is watched", async (...about) => {
    const [place, name, below] = about;
    const folder = staged.folderOf(name);
    const elsewhere = join(folder, "../elsewhere");
    for (const path of [folder, elsewhere]) mkdirSync(path, { recursive: true });
    if (name === "linked") symlinkSync(elsewhere, join(folder, below));
    const flags = ["--settle", "50ms", "--require-safe"];
    const program = writer(folder, { [`${below}/step_10/model.pt`]: "x".repeat(9_000) });
    const worker = await staged.startNode({ name, run: name, program, flags });
    expect(await worker.exited).toMatchObject({ code: 9 });
    expect(said(worker)).toContain(
      `${below}/step_10/model.pt (8.8 KiB) is ${place}, which is not looked into. Where it is a checkpoint, watch that folder itself: --watch ${folder}/${below}`,
    );
    const watch = join(folder, below);
    const second = await staged.startNode({ name: `${name}-2`, run: name, watch, program, flags });
    expect((await second.exited).code, said(second)).toBe(0);
    expect((await staged.completeOf(name))[0]).toMatchObject({ step: 10, isNewest: true });
  });
});
