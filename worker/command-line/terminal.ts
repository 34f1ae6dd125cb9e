import { saidLines, visibleText, type Said } from "#protocol/base/visible-text.ts";

/**
 * Writes results to stdout and messages to stderr. On a terminal the progress block is redrawn at most ten times a second
 * and removed at the end. Elsewhere there is one line per milestone; with `--json` every line is one object. Output may
 * contain names that strangers chose, so control characters are always written as escapes here, line breaks too.
 */
export interface Terminal {
  readonly isLive: boolean;
  /** Writes a milestone; several lines only where `text` is a list of them. */
  say(text: Said, facts: { type: string } & Record<string, unknown>): void;
  /**
   * Draws the current progress in place of the last one. `lines` and `facts` are called only when their result is shown; `columns`: the
   * width of the terminal, 0 when unknown. Wider lines are cut off; lines that do not fit below are counted.
   */
  draw(lines: (columns: number) => readonly string[], facts: () => { type: string } & Record<string, unknown>): void;
  /** Writes the result of the command. */
  result(text: Said, facts: Record<string, unknown>): void;
  /** Removes the progress block. */
  close(): void;
}

export interface Streams {
  out(text: string): void;
  talk(text: string): void;
  isTty: boolean;
  columns: number;
  /** 0: unknown. */
  rows: number;
}

const REDRAW_MS = 100;
const JSON_MS = 1_000;

export function createTerminal(
  streams: Streams,
  options: { json: boolean; plain: boolean; now?: () => number },
): Terminal {
  const now = options.now ?? (() => performance.now());
  const isLive = streams.isTty && !options.json && !options.plain;
  /** Lengths of the lines on the screen. */
  let drawn: number[] = [];
  let drawnAt = -Infinity;

  const erase = () => {
    const { columns } = streams;
    // A terminal that became narrower has broken lines that were drawn before.
    const height = drawn.reduce((sum, length) => sum + (columns > 1 ? Math.max(1, Math.ceil(length / columns)) : 1), 0);
    if (height > 0) streams.talk(`\u001b[${height}A\u001b[0J`);
    drawn = [];
  };
  const object = (facts: Record<string, unknown>) => streams.out(`${visibleJson(facts)}\n`);
  return {
    isLive,
    say: (text, facts) => {
      if (options.json) {
        object({ at: new Date().toISOString(), ...facts });
        return;
      }
      erase();
      streams.talk(`${saidLines(text)}\n`);
    },
    draw: (lines, facts) => {
      if (!isLive && !options.json) return;
      if (now() - drawnAt < (options.json ? JSON_MS : REDRAW_MS)) return;
      drawnAt = now();
      if (options.json) {
        object({ at: new Date().toISOString(), ...facts() });
        return;
      }
      erase();
      const { columns, rows } = streams;
      const present = fit(lines(columns), rows).map((line) => clip(visibleText(line), columns));
      streams.talk(present.map((line) => `${line}\n`).join(""));
      drawn = present.map(({ length }) => length);
    },
    result: (text, facts) => {
      erase();
      if (options.json) object(facts);
      else streams.out(`${saidLines(text)}\n`);
    },
    close: erase,
  };
}

/** Returns facts as one line of printable text: JSON.stringify leaves some control characters unescaped. */
export const visibleJson = (facts: Record<string, unknown>): string => visibleText(JSON.stringify(facts));

const clip = (line: string, columns: number): string =>
  columns > 1 && line.length >= columns ? `${line.slice(0, columns - 2)}…` : line;

/** Keeps as many lines as the terminal has rows: the cursor cannot be moved above its first row to erase more. */
function fit(lines: readonly string[], rows: number): readonly string[] {
  const most = rows - 1;
  if (rows < 3 || lines.length <= most) return lines;
  return [...lines.slice(0, most - 1), `… ${lines.length - most + 1} more lines; the terminal is too low for them`];
}
