import { visibleLines, visibleText } from "#protocol/base/visible-text.ts";

/**
 * stdout is the result, stderr is talk. On a terminal the progress block is redrawn at most ten times a second and
 * removed when it is over; elsewhere there is one line per milestone; with `--json` every line is one object. Names of strangers are in what is said: what a terminal would obey is written as an
 * escape here, whoever forgot it.
 */
export interface Terminal {
  readonly isLive: boolean;
  /** A milestone. */
  say(text: string, facts: { type: string } & Record<string, unknown>): void;
  /** The present, as lines to draw. Forgotten as soon as the next one comes; not even made where nobody sees it. */
  draw(lines: () => readonly string[], facts: () => { type: string } & Record<string, unknown>): void;
  /** What the command was asked for. */
  result(text: string, facts: Record<string, unknown>): void;
  /** Removes the progress block. */
  close(): void;
}

export interface Streams {
  out(text: string): void;
  talk(text: string): void;
  isTty: boolean;
  columns: number;
}

const REDRAW_MS = 100;
const JSON_MS = 1_000;

export function createTerminal(
  streams: Streams,
  wishes: { json: boolean; plain: boolean; now?: () => number },
): Terminal {
  const now = wishes.now ?? (() => performance.now());
  const isLive = streams.isTty && !wishes.json && !wishes.plain;
  let drawn = 0;
  let drawnAt = -Infinity;

  const erase = () => {
    if (drawn > 0) streams.talk(`\u001b[${drawn}A\u001b[0J`);
    drawn = 0;
  };
  const object = (facts: Record<string, unknown>) => streams.out(`${visibleJson(facts)}\n`);
  return {
    isLive,
    say: (text, facts) => {
      if (wishes.json) {
        object({ at: new Date().toISOString(), ...facts });
        return;
      }
      erase();
      streams.talk(`${visibleLines(text)}\n`);
    },
    draw: (lines, facts) => {
      if (!isLive && !wishes.json) return;
      if (now() - drawnAt < (wishes.json ? JSON_MS : REDRAW_MS)) return;
      drawnAt = now();
      if (wishes.json) {
        object({ at: new Date().toISOString(), ...facts() });
        return;
      }
      erase();
      const present = lines();
      streams.talk(present.map((line) => `${clip(visibleText(line), streams.columns)}\n`).join(""));
      drawn = present.length;
    },
    result: (text, facts) => {
      erase();
      if (wishes.json) object(facts);
      else streams.out(`${visibleLines(text)}\n`);
    },
    close: erase,
  };
}

/** Facts as one line, in which nothing but printable text stands: JSON leaves some control characters as they are. */
export const visibleJson = (facts: Record<string, unknown>): string => visibleText(JSON.stringify(facts));

const clip = (line: string, columns: number): string =>
  columns > 1 && line.length >= columns ? `${line.slice(0, columns - 2)}…` : line;
