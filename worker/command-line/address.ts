import { statSync } from "node:fs";
import { basename } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";

/** One end of a copy: a path of this machine, or a key in a bucket. */
export type Address = { kind: "local"; path: string } | { kind: "store"; bucket: string; key: string };

/** Reads a local path or `s3://bucket/key`. @throws Fault BAD_INPUT for another scheme, or without a bucket. */
export function parseAddress(text: string): Address {
  const scheme = /^([a-z][a-z0-9+.-]+):\/\//i.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined) return { kind: "local", path: text };
  const refuse = (detail: string) => new Fault("BAD_INPUT", { op: "usage", subject: text, detail });
  if (scheme !== "s3") throw refuse("an address is a local path or s3://bucket/key");
  const match = /^s3:\/\/([^/]+)(?:\/(.*))?$/is.exec(text);
  const bucket = match?.[1];
  if (bucket === undefined) throw refuse("the bucket is missing: s3://bucket/key");
  return { kind: "store", bucket, key: match?.[2] ?? "" };
}

/** Returns whether an operand may name a run (`llama`, `llama@500`): it is no address and no file of this machine. */
export const mayNameRun = (text: string): boolean =>
  !/^[a-z][a-z0-9+.-]+:/i.test(text) && statSync(text, { throwIfNoEntry: false })?.isFile() !== true;

/** Returns the key for one local file: `s3://b/dir/` keeps the file's name, `s3://b/key` renames it. */
export const keyForFile = (to: { key: string }, path: string): string =>
  to.key === "" || to.key.endsWith("/") ? to.key + basename(path) : to.key;

/** Returns the prefix for a local folder, ending with `/` unless it is the whole bucket. */
export const prefixForFolder = (to: { key: string }): string =>
  to.key === "" || to.key.endsWith("/") ? to.key : `${to.key}/`;
