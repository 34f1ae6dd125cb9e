import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { endJobInput } from "#protocol/jobs/node-jobs.ts";
import { Fault, type FaultData } from "#protocol/faults/fault.ts";
import { createFakeHub } from "../testing/fake-hub.ts";
import type { AttemptReport } from "./job-calls.ts";
import { createUnreportedEnd } from "./unreported-end.ts";

let state: string;
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), "tidemark-end-"));
});
afterEach(async () => {
  await chmod(state, 0o700);
  await rm(state, { recursive: true, force: true });
});

const report: AttemptReport = {
  jobId: "6f9619ff-8b86-4d01-b42d-00c04fc964ff",
  attempt: 2,
  epoch: 3,
  exit: { kind: "exited", code: 0 },
  fromStep: null,
  toStep: 40,
  safeStep: 40,
};

function stage(code?: FaultData["code"]) {
  const sent: unknown[] = [];
  const refused: string[] = [];
  const answer = { code };
  const hub = createFakeHub({
    endJob: (input: never) => {
      if (answer.code !== undefined) throw new Fault(answer.code);
      sent.push(input);
      return { accepted: true };
    },
  });
  const messages = {
    ended: () => undefined,
    endRefused: (_: unknown, about: { fault: Fault }) => void refused.push(about.fault.code),
  };
  return { hub, sent, refused, answer, messages, end: createUnreportedEnd(state, messages) };
}

it("an end that cannot be written is sent from memory, once", async () => {
  const { hub, sent, messages } = stage();
  const nowhere = createUnreportedEnd(join(state, "gone"), messages);
  await expect(nowhere.keep(report)).rejects.toMatchObject({ code: "WRITE_FAILED" });
  await nowhere.send(hub);
  await nowhere.send(hub);
  expect(sent).toEqual([report]);
});

it("an end on disk is sent by the next start of the worker", async () => {
  const { hub, sent, end, messages } = stage();
  await end.keep(report);
  await createUnreportedEnd(state, messages).send(hub);
  expect(sent).toEqual([report]);
  expect(await readdir(state)).toEqual([]);
});

it("an end that the hub refuses for good is put aside, and a later one is sent", async () => {
  const { hub, sent, refused, answer, end } = stage("BAD_INPUT");
  await end.keep(report);
  await end.send(hub);
  expect(refused).toEqual(["BAD_INPUT"]);
  expect(JSON.parse(await readFile(join(state, "job-end-refused.json"), "utf8"))).toEqual(report);
  answer.code = undefined;
  await end.send(hub);
  expect(sent).toEqual([]);
  await end.keep({ ...report, attempt: 3 });
  await end.send(hub);
  expect(sent).toMatchObject([{ attempt: 3 }]);
});

it.each(["HUB_UNREACHABLE", "HUB_NOT_TIDEMARK", "NODE_REVOKED", "CANCELLED", "INTERNAL"] as const)(
  "it stays after %s, which is no answer about it",
  async (code) => {
    const { hub, sent, refused, answer, end } = stage(code);
    await end.keep(report);
    await expect(end.send(hub)).rejects.toMatchObject({ code });
    expect([refused, await readdir(state)]).toEqual([[], ["job-end.json"]]);
    answer.code = undefined;
    await end.send(hub);
    expect(sent).toEqual([report]);
  },
);

it.each<[string, Partial<AttemptReport>, object]>([
  ["a reason that is too long", { exit: { kind: "refused", why: "x".repeat(2_000) } }, { kind: "refused" }],
  ["a step that is no step", { toStep: -7 }, { kind: "exited", code: 0 }],
  ["the name of no signal", { exit: { kind: "killed", signal: "unknown" } }, { kind: "exited", code: 255 }],
  ["a code that is none", { exit: { kind: "exited", code: 4_711 } }, { kind: "interrupted" }],
])("%s does not keep the hub from reading it", async (_, part, exit) => {
  const { hub, sent, end } = stage();
  await end.keep({ ...report, ...part });
  await end.send(hub);
  expect(sent).toHaveLength(1);
  expect(sent[0]).toMatchObject({ attempt: 2, exit });
  expect(endJobInput.safeParse(sent[0]).success).toBe(true);
});

it("an end that is forgotten is not sent", async () => {
  const { hub, sent, end } = stage();
  await writeFile(join(state, "other.json"), "");
  await end.keep(report);
  await end.forget();
  await end.send(hub);
  expect([sent, await readdir(state)]).toEqual([[], ["other.json"]]);
});
