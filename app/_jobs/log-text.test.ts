import { expect, it } from "vitest";
import type { LogAnswer, LogPiece } from "#protocol/jobs/job-log.ts";
import { keptWords, logText, withEarlier, withLater } from "./log-text.ts";

const answer = (about: Partial<LogAnswer> & { pieces: LogPiece[] }): LogAnswer => ({
  attempt: 1,
  nextByte: 0,
  totalBytes: 0,
  keptBytes: 0,
  firstByte: 0,
  isRunning: false,
  whyNotKept: null,
  ...about,
});

it("shows what a terminal would show, and says where and how much was left out", () => {
  const log = withLater(
    undefined,
    answer({
      totalBytes: 2_000_011,
      pieces: [
        { fromByte: 0, text: "\u001b[31mone\u001b[0m" },
        { fromByte: 1_000_012, text: "10%\r20%\n" },
      ],
    }),
  );
  expect(logText(log).split("\n")).toEqual([
    "one",
    expect.stringMatching(/^\[.*left out\]$/),
    "20%",
    expect.stringMatching(/left out\]$/),
    "",
  ]);
});

it("new output is added behind, and what was answered before stays", () => {
  const first = withLater(
    undefined,
    answer({ nextByte: 4, isRunning: true, pieces: [{ fromByte: 0, text: "one\n" }] }),
  );
  const second = withLater(first, answer({ nextByte: 8, pieces: [{ fromByte: 4, text: "two\n" }], totalBytes: 8 }));
  expect([logText(second), second.nextByte]).toEqual(["one\ntwo\n", 8]);
  expect(withLater(second, answer({ pieces: [] })).nextByte).toBe(8);
});

it("earlier output is cut where the shown output begins", () => {
  const log = withLater(undefined, answer({ nextByte: 12, totalBytes: 12, pieces: [{ fromByte: 6, text: "two\nü" }] }));
  const whole = withEarlier(
    log,
    answer({
      pieces: [
        { fromByte: 0, text: "one\n" },
        { fromByte: 4, text: "étwo\n" },
      ],
    }),
  );
  expect(logText(whole)).toBe("one\nétwo\nü");
});

it("says how much is kept", () => {
  expect(keptWords({ totalBytes: 0, keptBytes: 0 })).toBeNull();
  expect(keptWords({ totalBytes: 12, keptBytes: 12 })).toMatch(/^all .* kept$/);
  expect(keptWords({ totalBytes: 2_000_000, keptBytes: 1_000_000 })).toMatch(/ of .* kept$/);
});
