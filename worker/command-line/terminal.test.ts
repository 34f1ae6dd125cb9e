import { expect, test } from "vitest";
import { terminalWishes } from "./config.ts";
import { createTerminal, type Streams } from "./terminal.ts";

function openScreen(size: { columns: number; rows: number }) {
  const talked: string[] = [];
  const streams: Streams = { out: () => undefined, talk: (text) => void talked.push(text), isTty: true, ...size };
  let now = 0;
  const terminal = createTerminal(streams, { json: false, plain: false, now: () => (now += 1_000) });
  const draw = (...lines: string[]) => {
    talked.length = 0;
    terminal.draw(
      () => lines,
      () => ({ type: "drawn" }),
    );
    return talked;
  };
  return { streams, draw };
}
const up = (rows: number) => `\u001b[${rows}A\u001b[0J`;

test("after the terminal became narrower all rows of the lines that it broke are erased", () => {
  const { streams, draw } = openScreen({ columns: 80, rows: 24 });
  expect(draw("a".repeat(70), "b")).toEqual([`${"a".repeat(70)}\nb\n`]);
  expect(draw("c")[0]).toBe(up(2));
  draw("a".repeat(70), "b");
  streams.columns = 30;
  expect(draw("c")[0]).toBe(up(4));
});

test("no more lines are drawn than the terminal has rows, and the rest is counted", () => {
  const { draw } = openScreen({ columns: 80, rows: 5 });
  expect(draw("1", "2", "3", "4")[0]).toBe("1\n2\n3\n4\n");
  expect(draw("1", "2", "3", "4", "5", "6").at(-1)).toBe("1\n2\n3\n… 3 more lines; the terminal is too low for them\n");
});

test("a dumb terminal and a build machine are not drawn on, and one without colors is", () => {
  const plain = (env: Record<string, string>) => terminalWishes(env, new Map()).plain;
  expect(plain({ TERM: "dumb" })).toBe(true);
  expect(plain({ CI: "true" })).toBe(true);
  expect(plain({ NO_COLOR: "1", TERM: "xterm" })).toBe(false);
});
