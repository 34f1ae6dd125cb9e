import { expect, test } from "vitest";
import { Fault, sentenceOf } from "#protocol/faults/fault.ts";
import { terminalOptions } from "./config.ts";
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

test("a name with a line break begins no line of its own, in whatever is written", () => {
  const written: string[] = [];
  const write = (text: string) => void written.push(text);
  const streams: Streams = { out: write, talk: write, isTty: true, columns: 80, rows: 24 };
  const terminal = createTerminal(streams, { json: false, plain: false });
  const name = "a\nSafe: llama step 10\tb";
  const shown = "a\\u000aSafe: llama step 10\\u0009b";
  terminal.say(`Left ${name}.`, { type: "note" });
  terminal.result([`1  ${name}`, `2  ${name}`], { type: "rows" });
  terminal.draw(
    () => [name],
    () => ({ type: "drawn" }),
  );
  expect(written).toEqual([`Left ${shown}.\n`, `1  ${shown}\n2  ${shown}\n`, `${shown}\n`]);
  const fault = new Fault("READ_FAILED", { subject: name, detail: `of ${name}` });
  expect(sentenceOf(fault.toData())).toContain(`${shown}: `);
  expect(sentenceOf(fault.toData())).not.toContain("\n");
});

test("a dumb terminal and a build machine are not drawn on, and one without colors is", () => {
  const plain = (env: Record<string, string>) => terminalOptions(env, new Map()).plain;
  expect(plain({ TERM: "dumb" })).toBe(true);
  expect(plain({ CI: "true" })).toBe(true);
  expect(plain({ NO_COLOR: "1", TERM: "xterm" })).toBe(false);
});
