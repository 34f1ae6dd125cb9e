import type { Input } from "./read-input.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { Config } from "./config.ts";
import { parseAddress, type Address } from "./address.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import type { Terminal } from "./terminal.ts";

/** What every verb is given. A verb resolves to the exit code; what ends it altogether is thrown as a Fault. */
export interface Verb {
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

/** See the list in protocol/faults/exit-codes.ts. */
export const EXIT = { ok: 0, failed: 1, differs: 6, partly: 8 } as const;

export const usage = (subject: string, detail: string): Fault =>
  new Fault("BAD_INPUT", { op: "usage", subject, detail });

/** @throws Fault BAD_INPUT unless there are exactly two operands. */
export function twoPlaces(verb: Verb, name: string): { from: Address; to: Address } {
  const [source, target, extra] = verb.operands;
  if (source === undefined || target === undefined || extra !== undefined) {
    throw usage(name, `it takes a source and a destination: tidemark ${name} SRC DST`);
  }
  return { from: parseAddress(source), to: parseAddress(target) };
}

/** @throws Fault BAD_INPUT unless there is exactly one operand, an address in a bucket. */
export function onePlace(verb: Verb, name: string): StorePlace {
  const [source, extra] = verb.operands;
  const shown = `tidemark ${name} s3://bucket/key`;
  if (source === undefined || extra !== undefined) throw usage(name, `it takes one address: ${shown}`);
  const place = parseAddress(source);
  if (place.kind === "local") throw usage(source, `it takes an address in a bucket: ${shown}`);
  return place;
}

/** @throws Fault BAD_INPUT when the address names a bucket or a folder. */
export function oneKey(verb: Verb, name: string): StorePlace {
  const place = onePlace(verb, name);
  if (place.key === "" || place.key.endsWith("/")) {
    throw usage(shownPlace(place), "it names no object; the key is missing: s3://bucket/key");
  }
  return place;
}

export const shownPlace = (place: Address): string =>
  place.kind === "local" ? place.path : `s3://${place.bucket}/${place.key}`;

/** Writes a name as a terminal may be shown it: control characters, and marks that turn the writing around, as escapes. */
export const shownName = visibleText;
