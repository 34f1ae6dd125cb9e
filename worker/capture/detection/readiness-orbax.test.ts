import { execFileSync } from "node:child_process";
import { cp, mkdtemp, rm, stat, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findCandidates } from "./walk-watched.ts";
import { lookAt } from "./look.ts";
import { readReadiness } from "./readiness.ts";

/**
 * Checkpoints that Orbax wrote, whole, killed in the middle, with each of their files missing, and with each cut
 * (`clients/python/make_orbax_fixtures.py`; `versions.json` in the archive says which versions).
 */
const ARCHIVE = join(import.meta.dirname, "../../../e2e/stage/fixtures/orbax-checkpoints.tar.gz");

let unpacked: string;
let watched: string;
beforeAll(async () => {
  unpacked = await mkdtemp(join(tmpdir(), "tidemark-orbax-"));
  watched = join(unpacked, "watched");
  execFileSync("tar", ["-xzf", ARCHIVE, "-C", unpacked]);
});
afterAll(() => rm(unpacked, { recursive: true, force: true }));
beforeEach(() => rm(watched, { recursive: true, force: true }));

async function putBack(writer: string): Promise<void> {
  await rm(watched, { recursive: true, force: true });
  await cp(join(unpacked, writer), watched, { recursive: true });
}

/** As the agent sees it. `whole`: nothing says that it is finished, but all that a restart needs is there. */
async function judge(name: string): Promise<string> {
  const candidate = (await findCandidates({ folder: watched })).find((one) => one.name === name);
  const look = candidate === undefined ? null : await lookAt(candidate);
  if (candidate === undefined || look === null) return "no candidate";
  if (look.temporary !== null) return "being written";
  const readiness = await readReadiness(candidate, look);
  if (readiness.says === "unfinished") return `unfinished: ${readiness.why}`;
  return readiness.says === "unsaid" && readiness.isWhole ? "whole" : readiness.says;
}

const filesOf = async (name: string) => {
  const look = await lookAt({ path: join(watched, name), kind: "folder" });
  return (look?.files ?? []).map(({ relative, path }) => ({ relative, path }));
};

const NEWER = [
  "standard/2",
  "dtypes/2",
  "spread/step_2",
  "pytree/step_2",
  "ocdbt-zarr3/step_2",
  "zarr/step_2",
  "zarr3/step_2",
  "manager/4",
  "manager/6",
  "manager-named/ckpt_00000003",
  "commit-file/2",
  "older-commit-file/2",
].map((path) => ({ path, says: "finished" }));
/** They write nothing last but the folder's name. */
const OLDER = ["older-pytree/step_2", "older-manager/4", "older-manager/6"].map((path) => ({ path, says: "whole" }));

/** What Orbax does without, or makes anew: what it has merged into one index, and words beside the arrays. */
const UNNAMED =
  /(^|\/)(_sharding|array_metadatas\/process_\d+|ocdbt\.process_\d+\/.*|data\/metadata|metrics\/metrics|(data|metrics|state)\/commit_success\.txt)$/;

describe.each([...NEWER, ...OLDER])("$path", ({ path, says }) => {
  const [writer = "", name = ""] = path.split("/");

  test("whole, it is judged as what it is, and has its step by its name", async () => {
    await putBack(writer);
    const [candidate] = (await findCandidates({ folder: watched })).filter((one) => one.name === name);
    expect(candidate?.step).toBe(Number(/\d+$/.exec(name)?.[0]));
    expect(await judge(name)).toBe(says);
  });

  test("what its index names is missed", async () => {
    await putBack(writer);
    const missed: string[] = [];
    for (const { relative, path: file } of await filesOf(name)) {
      await putBack(writer);
      await rm(file);
      const verdict = await judge(name);
      if (verdict.startsWith("unfinished: ")) missed.push(relative);
      else if (relative === "commit_success.txt") expect(verdict).toBe("whole");
      else if (relative === "_CHECKPOINT_METADATA") expect(verdict).toBe(says === "whole" ? "unsaid" : says);
      else expect([UNNAMED.test(relative), verdict], `${relative} is missing`).toEqual([true, says]);
    }
    // The tree, its index or what describes each array, and at least one file of data.
    expect(missed.filter((one) => /(^|\/)_METADATA$/.test(one))).toHaveLength(1);
    expect(missed.filter((one) => /(^|\/)(manifest\.ocdbt|\.zarray|zarr\.json)$/.test(one)).length).toBeGreaterThan(0);
    const data = /(^|\/)d\/[0-9a-f]{32}$|\/(\d+(\.\d+)*|c(\/\d+)*)$/;
    expect(missed.filter((one) => data.test(one)).length).toBeGreaterThan(0);
  });

  test("what its index names is not taken when it was cut", async () => {
    await putBack(writer);
    for (const { relative, path: file } of await filesOf(name)) {
      const { size } = await stat(file);
      const isNamed = /(^|\/)(_METADATA|_CHECKPOINT_METADATA|manifest\.ocdbt|d\/[0-9a-f]{32})$/.test(relative);
      if (!isNamed || /ocdbt\.process_/.test(relative)) continue;
      for (const bytes of [size - 1, Math.floor(size / 2), 8, 0]) {
        await putBack(writer);
        await truncate(file, bytes);
        expect(await judge(name), `${relative} has ${bytes} of ${size} bytes`).toMatch(/^unfinished: /);
      }
    }
  });
});

describe("one that was killed", () => {
  test.each(["killed-early", "killed-late"])(
    "%s: under the name that Orbax writes under it is no checkpoint",
    async (writer) => {
      await putBack(writer);
      expect((await findCandidates({ folder: watched })).map(({ name }) => name)).toEqual(["2"]);
      expect(await judge("2")).toBe("finished");
    },
  );

  test.each(["commit-file-killed-early", "commit-file-killed-late"])(
    "%s: under its own name it is not finished, whatever its items say",
    async (writer) => {
      await putBack(writer);
      expect(await judge("2")).toBe("finished");
      expect(await judge("3")).toBe("unfinished: commit_success.txt is missing");
    },
  );
});
