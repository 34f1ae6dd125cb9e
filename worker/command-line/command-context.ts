import type { Input } from "./read-input.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { Config } from "./config.ts";
import { parseAddress, type Address } from "./address.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import type { Terminal } from "./terminal.ts";

/** Options, operands and streams of one call of a command, whose function resolves to the exit code or throws a Fault. */
export interface CommandContext {
  config: Config;
  operands: readonly string[];
  terminal: Terminal;
  signal: AbortSignal;
  home: string | null;
  /** Bytes for stdout; resolves when there is room for more. */
  output(chunk: Buffer): Promise<void>;
  /** stdin. */
  input(): Input;
}

export type StorePlace = Extract<Address, { kind: "store" }>;
export type LocalPlace = Extract<Address, { kind: "local" }>;

/** Exit codes of commands; protocol/faults/exit-codes.ts describes all of them. */
export const EXIT = { ok: 0, failed: 1, differs: 6, partly: 8 } as const;

export const usage = (subject: string, detail: string): Fault =>
  new Fault("BAD_INPUT", { op: "usage", subject, detail });

/** Returns source and destination. @throws Fault BAD_INPUT unless there are exactly two operands. */
export function twoPlaces(context: CommandContext, name: string): { from: Address; to: Address } {
  const [source, target, extra] = context.operands;
  if (source === undefined || target === undefined || extra !== undefined) {
    throw usage(name, `it takes a source and a destination: tidemark ${name} SRC DST`);
  }
  return { from: parseAddress(source), to: parseAddress(target) };
}

/** Returns the only operand. @throws Fault BAD_INPUT unless there is exactly one, an address in a bucket. */
export function onePlace(context: CommandContext, name: string): StorePlace {
  const [source, extra] = context.operands;
  const shown = `tidemark ${name} s3://bucket/key`;
  if (source === undefined || extra !== undefined) throw usage(name, `it takes one address: ${shown}`);
  const place = parseAddress(source);
  if (place.kind === "local") throw usage(source, `it takes an address in a bucket: ${shown}`);
  return place;
}

/** Returns the only operand, an object. @throws Fault BAD_INPUT when the address names a bucket or a folder. */
export function oneKey(context: CommandContext, name: string): StorePlace {
  const place = onePlace(context, name);
  if (place.key === "" || place.key.endsWith("/")) {
    throw usage(shownPlace(place), "it names no object; the key is missing: s3://bucket/key");
  }
  return place;
}

export const shownPlace = (place: Address): string =>
  place.kind === "local" ? place.path : `s3://${place.bucket}/${place.key}`;

/** Returns a name that is safe to print on a terminal: control characters and bidirectional marks become escapes. */
export const shownName = visibleText;
