import { readFileSync, readlinkSync } from "node:fs";
import { expect, test } from "vitest";
import { cleanStretches, dropProgramPages } from "./memory-trim.ts";

const PROGRAM = "/usr/local/bin/my tidemark";
const stretch = (head: string, { anonymousKb = 0, swapKb = 0 } = {}) =>
  `${head}\nSize: 4096 kB\nRss: 4096 kB\nAnonymous:         ${anonymousKb} kB\nSwap:              ${swapKb} kB\nVmFlags: rd mr`;

test("only parts of the program itself that nobody wrote to are given back", () => {
  const smaps = [
    stretch(`00400000-00800000 r--p 00000000 fe:00 17    ${PROGRAM}`),
    stretch(`00800000-00c00000 r-xp 00400000 fe:00 17    ${PROGRAM}`),
    // Written to when the program was made ready, and locked afterwards.
    stretch(`00c00000-01000000 r--p 00800000 fe:00 17    ${PROGRAM}`, { anonymousKb: 8 }),
    // All that was written to has been moved out of memory.
    stretch(`08000000-08400000 r--p 00800000 fe:00 17    ${PROGRAM}`, { swapKb: 8 }),
    stretch(`01000000-01400000 rw-p 00c00000 fe:00 17    ${PROGRAM}`),
    // Too small to be worth a question.
    stretch(`01400000-01401000 r-xp 01000000 fe:00 17    ${PROGRAM}`),
    stretch("7f0000000000-7f0000400000 r-xp 00000000 fe:00 18    /usr/lib/libc.so.6"),
    stretch("7f0000400000-7f0000800000 rw-p 00000000 00:00 0 "),
    stretch("7ffd00000000-7ffd00021000 r--p 00000000 00:00 0    [vvar]"),
  ].join("\n");
  expect(cleanStretches(smaps, PROGRAM)).toEqual([
    { address: 0x400000, bytes: 0x400000 },
    { address: 0x800000, bytes: 0x400000 },
  ]);
});

test.runIf(process.platform === "linux")("its pages leave the memory, and it goes on", () => {
  const residentFileKb = () => Number(/RssFile:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]);
  const before = residentFileKb();
  expect(
    cleanStretches(readFileSync("/proc/self/smaps", "latin1"), readlinkSync("/proc/self/exe", "latin1")),
  ).not.toEqual([]);
  dropProgramPages();
  expect(residentFileKb()).toBeLessThan(before - 5_000);
});
