import { expect, it } from "vitest";
import { MOST_LOG_PART_BYTES } from "#protocol/jobs/job-log.ts";
import { MOST_LIVE_LOG_BYTES } from "#protocol/wire/reports.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { createFakeClock } from "../../testing/fake-clock.ts";
import { createLogUploader, PART_EVERY_MS, type LogPart } from "./upload-log.ts";

const MIB = 1024 * 1024;

function keep({ mostBytes = 8 * MIB, fails = 0 } = {}) {
  const clock = createFakeClock();
  const stored: { from: number; text: string; total: number }[] = [];
  const troubles: unknown[] = [];
  let failing = fails;
  const uploader = createLogUploader({
    mostBytes: () => mostBytes,
    clock,
    store: async ({ fromByte, text, totalBytes }: LogPart) => {
      if (failing-- > 0) throw new Fault("LINK_DOWN");
      stored.push({ from: fromByte, text: text.toString(), total: totalBytes });
    },
    onTrouble: (error) => troubles.push(error),
  });
  void uploader.run();
  return { clock, uploader, stored, troubles, say: (text: string | Buffer) => uploader.add(Buffer.from(text)) };
}
/** Text of this many bytes that differs by its beginning. */
const block = (name: string, bytes: number): string => name + "x".repeat(bytes - name.length);

it("stores new output soon, then now and then, each time all of the part that is not full", async () => {
  const { clock, uploader, stored, say } = keep();
  say("one\n");
  await clock.pass(2_000);
  expect(stored).toEqual([{ from: 0, text: "one\n", total: 4 }]);
  say("two\n");
  await clock.pass(PART_EVERY_MS);
  await clock.pass(3 * PART_EVERY_MS);
  expect(stored.slice(1)).toEqual([{ from: 0, text: "one\ntwo\n", total: 8 }]);
  say("end");
  await uploader.end(1_000);
  expect(stored.slice(2)).toEqual([{ from: 0, text: "one\ntwo\nend", total: 11 }]);
});

it("a full part is stored at once while the first half of what is kept is not full, and later only now and then", async () => {
  const { clock, stored, say } = keep({ mostBytes: 4 * MOST_LOG_PART_BYTES });
  await clock.pass(2_000);
  say(block("a", MOST_LOG_PART_BYTES + 10));
  await clock.pass(0);
  expect(stored.map(({ from, text }) => [from, text.length])).toEqual([[0, MOST_LOG_PART_BYTES]]);
  say(block("b", 4 * MOST_LOG_PART_BYTES));
  await clock.pass(1_000);
  expect(stored).toHaveLength(1);
  await clock.pass(PART_EVERY_MS);
  expect(stored).toHaveLength(2);
});

it("of a program that prints without end only a bounded part is in memory, and the newest output is stored", async () => {
  const { uploader, stored, say } = keep();
  const lines = 8_000;
  for (let at = 0; at < lines; at++) say(block(`line ${at} `, 1_023) + "\n");
  await uploader.end(1_000);
  const [first] = stored;
  const held = stored.reduce((sum, { text }) => sum + text.length, 0);
  expect(held).toBeLessThanOrEqual(2 * MOST_LOG_PART_BYTES + 1_024);
  expect(first?.from).toBeGreaterThan(lines * 1_024 - 2 * MOST_LOG_PART_BYTES - 1_025);
  expect(stored.at(-1)).toMatchObject({ total: lines * 1_024 });
  expect(stored.at(-1)?.text).toContain(`line ${lines - 1} `);
});

it("characters are never cut, neither between chunks nor between parts", async () => {
  const { uploader, stored, say } = keep();
  const euro = Buffer.from("€");
  say(euro.subarray(0, 1));
  say(euro.subarray(1));
  say("€".repeat(MOST_LOG_PART_BYTES / 3 + 1));
  await uploader.end(1_000);
  expect(stored.map(({ text }) => text).join("")).toBe("€".repeat(Math.floor(MOST_LOG_PART_BYTES / 3) + 2));
  expect(stored.every(({ text }) => !text.includes("\ufffd"))).toBe(true);
});

it("a part that cannot be stored is stored the next time, and the trouble is told", async () => {
  const { clock, stored, troubles, say } = keep({ fails: 1 });
  say("one");
  await clock.pass(2_000);
  expect([stored.length, troubles.length]).toEqual([0, 1]);
  await clock.pass(PART_EVERY_MS);
  expect(stored).toEqual([{ from: 0, text: "one", total: 3 }]);
});

it("a store that does not answer holds nothing up at the end", async () => {
  const clock = createFakeClock();
  const uploader = createLogUploader({
    mostBytes: () => MIB,
    clock,
    store: () => new Promise(() => undefined),
    onTrouble: () => undefined,
  });
  uploader.add(Buffer.from("never stored"));
  const ended = uploader.end(3_000).then(() => "ended");
  await clock.pass(3_000);
  expect(await ended).toBe("ended");
});

it("stores nothing when the policy keeps nothing, and tells what is new all the same", async () => {
  const { uploader, stored, say } = keep({ mostBytes: 0 });
  say("one\ntwo\n");
  expect(uploader.textFrom(4)).toEqual({ fromByte: 4, text: "two\n" });
  expect(uploader.textFrom(8)).toBeNull();
  say("€".repeat(MOST_LIVE_LOG_BYTES));
  const said = uploader.textFrom(0);
  expect(said?.text.length).toBeLessThanOrEqual(MOST_LIVE_LOG_BYTES);
  expect((said?.fromByte ?? 0) + Buffer.byteLength(said?.text ?? "")).toBe(8 + 3 * MOST_LIVE_LOG_BYTES);
  expect(said?.text).not.toContain("\ufffd");
  await uploader.end(1_000);
  expect(stored).toEqual([]);
});
