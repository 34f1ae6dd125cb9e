import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { at, dir, does, here, keysOf, lines, run, useVerbs, write, writesSoFar } from "./verbs-stage.ts";

/** Lists that are too long to be held in memory, of a store that does not sort. */

useVerbs(["--no-fsync", "--quirks", "unordered-listing"]);

const nameOf = (index: number): string => `d-${index % 13}/f-${index}.bin`;
/** One folder differs from another in case alone. */
const TWIN = "D-7/f-7.bin";
const names = [...Array.from({ length: 5_200 }, (_, index) => nameOf(index)), TWIN];
const FOLDERS = 14;
const COUNTED = names.length.toLocaleString("en-US");
const countOf = (folder: string): number => readdirSync(folder, { recursive: true, encoding: "utf8" }).length - FOLDERS;

test("thousands of files, also where names differ in case alone, are copied, laid beside each other, made the same and removed", async () => {
  const [from, back] = [join(here, "from"), join(here, "back")];
  for (const name of names) write(name, name, from);
  const up = await does(["cp", from, `${at}/up`]);
  expect(up.text).toContain(`${COUNTED} files`);
  expect((await keysOf(`${at}/up`)).toSorted()).toEqual(names.map((name) => `up/${name}`).toSorted());
  await does(["cp", `${at}/up`, back]);
  expect(countOf(back)).toBe(names.length);
  expect(existsSync(join(back, TWIN))).toBe(true);

  const before = await writesSoFar();
  expect((await does(["sync", from, `${at}/up`])).text).toContain("nothing to do");
  expect(await writesSoFar()).toBe(before);

  // One that is new, one that changed, one that is gone, at both ends and in the middle of the order.
  write("a-first", "new", from);
  write(nameOf(2_600), "changed, and longer", from);
  rmSync(join(from, nameOf(9)));
  const states = lines(await run(["check", "--json", from, `${at}/up`])).map((line) => JSON.parse(line));
  const differing = states.filter(({ type, state }) => type === "compared" && state !== "same");
  expect(differing.map(({ state, name }) => `${state} ${name}`).toSorted()).toEqual([
    `differs ${nameOf(2_600)}`,
    "onlySource a-first",
    `onlyTarget ${nameOf(9)}`,
  ]);
  const plan = await does(["sync", "--dry-run", "--delete", from, `${at}/up`]);
  expect(lines(plan).map((line) => line.split(/ +/).slice(0, 2).join(" "))).toEqual([
    "copy a-first",
    `copy ${nameOf(2_600)}`,
    `delete ${nameOf(9)}`,
  ]);
  await does(["sync", "--delete", from, `${at}/up`]);
  expect(await writesSoFar()).toBe(before + 3);
  expect((await does(["check", from, `${at}/up`])).talk).toContain(`${COUNTED} same`);

  // A file beside the folder of its name: an object store takes both, a disk does not.
  await does(["cp", join(from, TWIN), `${at}/up/D-7`]);
  const refused = await run(["sync", `${at}/up`, back]);
  expect(refused.code).toBe(8);
  expect(refused.talk).toContain("other objects lie in a folder of this name");

  await does(["rm", "--recursive", "--exclude", "a-first", `${at}/up`]);
  expect(await keysOf(`${at}/up`)).toEqual(["up/a-first"]);
  const left = existsSync(join(dir, "state/copies")) ? readdirSync(join(dir, "state/copies")) : [];
  expect(left).toEqual([]);
});
