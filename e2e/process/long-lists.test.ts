import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { at, dir, does, here, keysOf, lines, run, useVerbs, write, writesSoFar } from "./verbs-stage.ts";

/** Lists that are too long to be held in memory, of a store that does not sort. */

useVerbs(["--no-fsync", "--quirks", "unordered-listing"]);

const COUNT = 5_200;
const nameOf = (index: number): string => `d-${index % 13}/f-${index}.bin`;
const names = Array.from({ length: COUNT }, (_, index) => nameOf(index));
const countOf = (folder: string): number => readdirSync(folder, { recursive: true, encoding: "utf8" }).length - 13;

test("thousands of files are copied, laid beside each other, made the same and removed", async () => {
  const [from, back] = [join(here, "from"), join(here, "back")];
  for (const name of names) write(name, name, from);
  const up = await does(["cp", from, `${at}/up`]);
  expect(up.text).toContain(`${COUNT.toLocaleString("en-US")} files`);
  expect((await keysOf(`${at}/up`)).toSorted()).toEqual(names.map((name) => `up/${name}`).toSorted());
  await does(["cp", `${at}/up`, back]);
  expect(countOf(back)).toBe(COUNT);

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
  await does(["check", from, `${at}/up`]);

  await does(["rm", "--recursive", "--exclude", "a-first", `${at}/up`]);
  expect(await keysOf(`${at}/up`)).toEqual(["up/a-first"]);
  const left = existsSync(join(dir, "state/copies")) ? readdirSync(join(dir, "state/copies")) : [];
  expect(left).toEqual([]);
});

test("names among thousands that differ in case alone go both ways, and a file beside the folder of its name is named", async () => {
  const from = join(here, "from");
  for (const name of [...names, "D-7/f-7.bin"]) write(name, "x", from);
  await does(["cp", from, `${at}/up`]);
  await does(["cp", `${at}/up`, join(here, "back")]);
  expect(existsSync(join(here, "back/D-7/f-7.bin"))).toBe(true);
  expect((await does(["check", from, `${at}/up`])).talk).toContain("5,201 same");
  await does(["cp", join(from, "D-7/f-7.bin"), `${at}/up/D-7`]);
  const refused = await run(["sync", `${at}/up`, join(here, "back")]);
  expect(refused.code).toBe(8);
  expect(refused.talk).toContain("other objects lie in a folder of this name");
});
