import { keepRecordKey } from "../checkpoint/keys.ts";
import { Fault } from "../faults/fault.ts";
import type { RunName } from "../base/names.ts";
import { keepRecord, type KeepRecord } from "./keeping.ts";

/** Parses a retention record and checks it against its key. @throws Fault BAD_INPUT */
export function parseRecord(at: { prefix: string; run: RunName }, object: { key: string; text: string }): KeepRecord {
  const refuse = (detail: string) => new Fault("BAD_INPUT", { op: "keeping", subject: object.key, detail });
  let value: unknown;
  try {
    value = JSON.parse(object.text);
  } catch {
    throw refuse("it is not JSON");
  }
  const parsed = keepRecord.safeParse(value);
  if (!parsed.success) throw refuse(parsed.error.issues[0]?.message ?? "it says nothing about keeping");
  const { run, checkpointId, id, word } = parsed.data;
  if (run !== at.run || keepRecordKey(at.prefix, { run, checkpointId, id, kind: word.kind }) !== object.key) {
    throw refuse("it speaks of something else than its key");
  }
  return parsed.data;
}
