import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { readProcess } from "../host/list-processes.ts";
import { choosePrograms, seeProcesses, type SeenProcess } from "./find-orphans.ts";
import { MARK } from "./program-record.ts";

const ID = "0b8f2a52-6b0e-4f7a-9c1d-000000000001";
const seen = (pid: number, about: Partial<SeenProcess> = {}): SeenProcess => ({
  pid,
  parent: 1,
  session: pid,
  startedAt: String(pid * 10),
  mark: null,
  ...about,
});
const pidsOf = (all: readonly SeenProcess[], about: Partial<Parameters<typeof choosePrograms>[1]> = {}) =>
  choosePrograms(all, { records: [], folders: [], self: 1, ...about })
    .map(({ pid }) => pid)
    .toSorted((a, b) => a - b);
const record = (pid: number, session: number | null = pid) => ({
  id: ID,
  process: { pid, startedAt: String(pid * 10), session },
});

test("the process of the record, its session, and what they started belong to the program", () => {
  const all = [
    seen(1),
    seen(50),
    seen(51, { session: 50 }),
    seen(52, { parent: 51 }),
    seen(53, { parent: 52 }),
    seen(60),
  ];
  expect(pidsOf(all, { records: [record(50)] })).toEqual([50, 51, 52, 53]);
});

test("a process that got the number of the program, and its session, do not", () => {
  const all = [seen(1), seen(50, { startedAt: "9999" }), seen(51, { session: 50 })];
  expect(pidsOf(all, { records: [record(50)] })).toEqual([]);
});

test("a session whose first process has ended still does", () => {
  expect(pidsOf([seen(1), seen(51, { session: 50 })], { records: [record(50)] })).toEqual([51]);
});

test("of a program that shares the session of its worker the session says nothing", () => {
  const all = [seen(1), seen(40), seen(50, { session: 40 }), seen(51, { session: 40 }), seen(52, { parent: 50 })];
  expect(pidsOf(all, { records: [record(50, null)] })).toEqual([50, 52]);
});

test("the mark is enough, also in groups and sessions of their own, and when nothing was written after the start", () => {
  const all = [
    seen(1),
    seen(70, { mark: { id: ID, folders: ["aa"] } }),
    seen(71, { mark: { id: "other", folders: ["bb"] } }),
  ];
  expect(pidsOf(all, { records: [{ id: ID, process: null }] })).toEqual([70]);
  expect(pidsOf(all, { folders: ["bb", "cc"] })).toEqual([71]);
  expect(pidsOf(all, { folders: ["cc"] })).toEqual([]);
});

test("this process and those that started it never do", () => {
  const mark = { id: ID, folders: ["aa"] };
  const all = [seen(1), seen(30, { mark }), seen(31, { mark, parent: 30 }), seen(32, { mark, parent: 30 })];
  expect(pidsOf(all, { folders: ["aa"], self: 31 })).toEqual([32]);
});

test("what came to this process, and what the record says of such, belong to it with what they started and their session", () => {
  const all = [seen(1), seen(70), seen(71, { parent: 70 }), seen(72, { session: 70 }), seen(80)];
  expect(pidsOf(all, { adopted: [70] })).toEqual([70, 71]);
  const others = [{ pid: 70, startedAt: "700", session: 70 }];
  const found = { records: [{ id: ID, process: null, others }] };
  expect(pidsOf(all, found)).toEqual([70, 71, 72]);
  // Its parent has ended, and so has the first of its session.
  expect(pidsOf([seen(1), seen(72, { session: 70 })], found)).toEqual([72]);
  // The number is somebody else's now, and so is the session.
  const another = [seen(1), seen(70, { startedAt: "9999" }), seen(72, { session: 70 })];
  expect(pidsOf(another, found)).toEqual([]);
});

test.runIf(process.platform === "linux")("marks are read of processes that are not older than a program", async () => {
  const id = "5f0c7b1e-6f0b-4b0e-9a4b-0d9c5a4f1c11";
  const child = spawn("sleep", ["600"], { env: { ...process.env, [MARK]: `${id}.key` } });
  try {
    await once(child, "spawn");
    const pid = child.pid ?? 0;
    const startedAt = BigInt(readProcess(pid)?.startedAt ?? 0);
    const markOf = (since: bigint | null) => seeProcesses(since?.toString()).find((one) => one.pid === pid)?.mark;
    await expect.poll(() => markOf(null)).toEqual({ id, folders: ["key"] });
    expect(markOf(startedAt)).toEqual({ id, folders: ["key"] });
    expect(markOf(startedAt + 1n)).toBe(null);
  } finally {
    child.kill("SIGKILL");
  }
});
