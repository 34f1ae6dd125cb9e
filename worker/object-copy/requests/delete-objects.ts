import { createHash } from "node:crypto";
import { Fault, isFault, toFault } from "#protocol/faults/fault.ts";
import type { HttpAnswer } from "#storage/s3/answers.ts";
import { BY_CODE } from "#storage/answers/fault-codes.ts";
import { faultOfAnswer } from "#storage/answers/faults.ts";
import { childrenOf, escapeXml, parseXml, textOf } from "#storage/answers/xml.ts";
import { stretchesOf } from "#worker/base/rows.ts";
import { askStore } from "./ask-store.ts";
import type { StoreSession } from "#worker/store-session/store-session.ts";
import type { Failure } from "../listing/entries.ts";

/** S3's limit of keys per request. */
const BATCH = 1000;
const OP = "DeleteObjects";

/** Characters that XML 1.0 cannot express. One of them makes a store refuse the batch, or answer invalid XML. */
const NOT_IN_XML = /[\u0000-\u001f\ufffe\uffff]/;

/**
 * Deletes objects, a thousand per request. Keys that XML cannot express get separate requests. A missing object is no
 * failure. Returns the keys that the store refused to delete; `onDeleted` gets the others after each batch.
 * @throws Faults that concern more than one key, CANCELLED
 */
export async function deleteObjects<T extends { key: string }>(
  storeSession: StoreSession,
  about: { objects: Iterable<T>; signal: AbortSignal; onDeleted(objects: readonly T[]): void },
): Promise<Failure[]> {
  const failures: Failure[] = [];
  for (const objects of stretchesOf(about.objects, BATCH)) {
    const keys = objects.map(({ key }) => key);
    const [alone, together] = [keys.filter(isAlone), keys.filter((key) => !isAlone(key))];
    const { signal } = about;
    const failed = [
      ...(together.length === 0 ? [] : await deleteBatch(storeSession, { keys: together, signal })),
      ...(await deleteOneByOne(storeSession, { keys: alone, signal })),
    ];
    const names = new Set(failed.map(({ name }) => name));
    failures.push(...failed);
    about.onDeleted(objects.filter(({ key }) => !names.has(key)));
  }
  return failures;
}

const isAlone = (key: string): boolean => NOT_IN_XML.test(key);

async function deleteBatch(
  storeSession: StoreSession,
  about: { keys: readonly string[]; signal: AbortSignal },
): Promise<Failure[]> {
  const { keys, signal } = about;
  const objects = keys.map((key) => `<Object><Key>${escapeKey(key)}</Key></Object>`).join("");
  const body = Buffer.from(`<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${objects}</Delete>`);
  const headers = {
    "content-md5": createHash("md5").update(body).digest("base64"),
    "content-type": "application/xml",
  };
  const query = [["delete", ""]] as const;
  try {
    return await askStore(
      storeSession,
      { op: OP, method: "POST", at: "bucket", query, headers, body, signal },
      (answer) => readDeleted(answer, keys),
    );
  } catch (error) {
    if (!isFault(error) || error.code !== "UNSUPPORTED") throw error;
    return deleteOneByOne(storeSession, about);
  }
}

/** Escapes a key for XML, including C1 control characters. */
const escapeKey = (key: string): string =>
  escapeXml(key).replace(/[\u007f-\u009f]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** Reads the answer. A key that the answer does not mention counts as a failure. */
function readDeleted(answer: HttpAnswer, keys: readonly string[]): Failure[] {
  const parsed = answer.status === 200 ? parseXml(answer.body) : null;
  if (parsed === null || parsed.root !== "DeleteResult") throw faultOfAnswer({ op: OP, answer });
  const deleted = new Set(childrenOf(parsed.element, "Deleted").map((row) => textOf(row, "Key")));
  const refused = new Map(
    childrenOf(parsed.element, "Error").map((row) => [textOf(row, "Key"), textOf(row, "Code") ?? "no code"]),
  );
  return keys.flatMap((key): Failure[] => {
    if (deleted.has(key)) return [];
    const s3Code = refused.get(key);
    if (s3Code === "NoSuchKey") return [];
    const known = s3Code !== undefined && Object.hasOwn(BY_CODE, s3Code) ? BY_CODE[s3Code] : undefined;
    const detail = s3Code ?? "the store does not say whether it deleted it";
    return [{ name: key, fault: new Fault(known ?? "UNEXPECTED_ANSWER", { op: OP, subject: key, detail }) }];
  });
}

async function deleteOneByOne(
  storeSession: StoreSession,
  about: { keys: readonly string[]; signal: AbortSignal },
): Promise<Failure[]> {
  const failures: Failure[] = [];
  for (const key of about.keys) {
    try {
      await deleteObject(storeSession, { key, signal: about.signal });
    } catch (error) {
      const fault = toFault(error);
      if (fault.code === "CANCELLED") throw fault;
      failures.push({ name: key, fault });
    }
  }
  return failures;
}

/** Deletes one object; a missing one is no failure. @throws Faults of the store */
export function deleteObject(storeSession: StoreSession, at: { key: string; signal: AbortSignal }): Promise<void> {
  const { key, signal } = at;
  const op = "DeleteObject";
  return askStore(storeSession, { op, method: "DELETE", at: { key }, signal }, (answer) => {
    if (answer.status === 204 || (answer.status === 200 && answer.body.length === 0)) return;
    const fault = faultOfAnswer({ op, subject: key, answer });
    if (fault.code !== "NO_SUCH_KEY") throw fault;
  });
}
