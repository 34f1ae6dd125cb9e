import { execFileSync, spawnSync } from "node:child_process";
import { getPriority } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { canRestorePriority, ioClassOf } from "./nice.ts";

const status = (capEff: string) => `Name:\tnode\nCapEff:\t${capEff}\nThreads:\t11\n`;
const limits = (soft: string) =>
  `Limit  Soft Limit  Hard Limit\nMax nice priority         ${soft}                    ${soft}\n`;
const reading = (capEff: string, nice: string) => (path: string) =>
  path.endsWith("status") ? status(capEff) : limits(nice);

test("may come back with the capability, or with a limit that allows it", () => {
  expect(canRestorePriority(reading("000001ffffffffff", "0"))).toBe(true);
  expect(canRestorePriority(reading("0000000000000000", "20"))).toBe(true);
  expect(canRestorePriority(reading("0000000000000000", "unlimited"))).toBe(true);
});

test("may not with what containers give by default, nor where nothing can be read", () => {
  // Docker's default set: without CAP_SYS_NICE.
  expect(canRestorePriority(reading("00000000a80425fb", "0"))).toBe(false);
  expect(canRestorePriority(() => "")).toBe(false);
});

test.each([
  ["none: prio 0\n", ["-c", "0"]],
  ["best-effort: prio 6\n", ["-c", "2", "-n", "6"]],
  ["idle\n", ["-c", "3"]],
  ["realtime: prio 2\n", ["-c", "1", "-n", "2"]],
  ["", ["-c", "0"]],
])("an I/O priority told as %j is set again by %j", (told, set) => {
  expect(ioClassOf(told)).toEqual(set);
});

/** As one process, because what it does to its priority it does to all of it. */
function story(...under: readonly string[]): Record<string, { nice: number[]; io: string }> {
  const step = JSON.stringify(pathToFileURL(join(import.meta.dirname, "nice.ts")).href);
  const program = `
    import { execFileSync } from "node:child_process";
    import { readFileSync, readdirSync } from "node:fs";
    import { readFile } from "node:fs/promises";
    import { lowerPriority, restorePriority } from ${step};
    const niceOf = (pid) => readdirSync("/proc/" + pid + "/task").map((thread) =>
      Number(readFileSync("/proc/" + pid + "/task/" + thread + "/stat", "utf8").split(") ")[1].split(" ")[16]));
    const io = (pid) => execFileSync("ionice", ["-p", String(pid)], { encoding: "utf8" }).trim();
    const mine = async () => {
      await Promise.all(Array.from({ length: 8 }, () => readFile("/proc/self/stat")));
      return { nice: niceOf(process.pid), io: io(process.pid) };
    };
    const childs = () => JSON.parse(execFileSync("sh", ["-c",
      'echo "{\\\\"nice\\\\":[$(cut -d" " -f19 /proc/self/stat)],\\\\"io\\\\":\\\\"$(ionice)\\\\"}"'], { encoding: "utf8" }));
    const seen = { before: await mine() };
    lowerPriority();
    seen.aside = await mine();
    lowerPriority();
    restorePriority();
    seen.back = await mine();
    seen.child = childs();
    process.stdout.write(JSON.stringify(seen));`;
  const [file, ...args] = [...under, process.execPath, "--input-type=module", "-e", program];
  return JSON.parse(execFileSync(file, args, { encoding: "utf8" }));
}

/** These tests themselves may have been started with `nice`. */
const OWN = getPriority();
const isWhole = process.platform === "linux" && spawnSync("ionice").error === undefined;

test.runIf(isWhole)("all of its threads step aside, also those that come later, at the processor and the disk", () => {
  const { before, aside } = story();
  expect(new Set(before?.nice)).toEqual(new Set([OWN]));
  expect(aside?.nice.length).toBeGreaterThan(5);
  expect(new Set(aside?.nice)).toEqual(new Set([Math.max(OWN, 5)]));
  expect(aside?.io).toBe("best-effort: prio 7");
});

test.runIf(isWhole && canRestorePriority())(
  "what it starts once it came back has the priorities that it began with",
  () => {
    const { before, back, child } = story();
    expect(back).toEqual({ ...back, nice: back?.nice.map(() => OWN), io: before?.io });
    expect(child).toEqual({ nice: [OWN], io: before?.io });
    const slowed = Math.min(OWN + 7, 19);
    const slow = story("nice", "-n", "7", "ionice", "-c", "2", "-n", "6");
    expect([slow["aside"]?.nice[0], slow["aside"]?.io]).toEqual([slowed, "best-effort: prio 7"]);
    expect(slow["child"]).toEqual({ nice: [slowed], io: "best-effort: prio 6" });
  },
);
