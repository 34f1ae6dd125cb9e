import { Fault } from "#protocol/faults/fault.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import { prefixForFolder } from "../command-line/address.ts";
import { countLeftOut, withoutLeftOut } from "../object-copy/listing/left-out.ts";
import { listPages } from "../object-copy/listing/list-objects.ts";
import { sortRows } from "../object-copy/listing/sort-rows.ts";
import { Spool } from "../object-copy/listing/spool.ts";
import { withStoreSession, type StoreSession } from "../store-session/store-session.ts";
import { deleteObject, deleteObjects } from "../object-copy/requests/delete-objects.ts";
import { keptVersionsClause } from "#protocol/base/kept-versions.ts";
import { keepsVersions } from "../object-copy/requests/bucket-versions.ts";
import { onceSorted, unreadableKey, type Failure } from "../object-copy/listing/entries.ts";
import type { ObjectEntry } from "../object-copy/listing/entry.ts";
import { objectForm } from "../object-copy/listing/entry-forms.ts";
import { readFilter } from "../object-copy/listing/filter.ts";
import { sayFailures, tellLeftOut } from "../object-copy/follow.ts";
import { findObject } from "../object-copy/requests/head.ts";
import {
  EXIT,
  onePlace,
  shownName,
  shownPlace,
  usage,
  type StorePlace,
  type CommandContext,
} from "../command-line/command-context.ts";
import { withScratch } from "../object-copy/listing/with-scratch.ts";

/**
 * Implements `tidemark rm`: deletes one object by its exact key, or with --recursive everything below a folder
 * (`s3://b/run` means `s3://b/run/`, never `run-2`). Asks no question: without --recursive it prints how much a folder
 * holds and deletes nothing. Faults: NO_SUCH_KEY, BAD_INPUT, those of the store.
 */
export async function remove(context: CommandContext): Promise<number> {
  const place = onePlace(context, "rm");
  return withStoreSession(context, { bucket: place.bucket, direction: "up" }, (storeSession) => {
    if (context.config.isOn("recursive")) return removeBelow(context, { storeSession, place });
    if (place.key === "" || place.key.endsWith("/")) return refuseFolder(context, { storeSession, place });
    return removeOne(context, { storeSession, place });
  });
}

interface About {
  storeSession: StoreSession;
  place: StorePlace;
}

async function refuseFolder(context: CommandContext, { storeSession, place }: About): Promise<never> {
  let [found, bytes] = [0, 0];
  for await (const { objects } of listPages(storeSession, { prefix: place.key, signal: context.signal })) {
    found += objects.length;
    bytes += sumOf(objects);
  }
  const count = `${countOf(found)} (${formatBytes(bytes)})`;
  throw usage(shownPlace(place), `it holds ${count}; to delete all of it add --recursive, to see them --dry-run too`);
}

function sumOf(objects: Iterable<{ sizeBytes: number }>): number {
  let bytes = 0;
  for (const { sizeBytes } of objects) bytes += sizeBytes;
  return bytes;
}

/** Matches keys that no URL can carry, because the URL would name another object. */
const DOTTED = /(?:^|\/)\.\.?(?:\/|$)/;

/** Finds an object by a listing, whose request names the key unchanged. @throws Faults of the listing */
async function findListed(
  { signal }: CommandContext,
  { storeSession, place: { key } }: About,
): Promise<{ sizeBytes: number } | null> {
  for await (const { objects } of listPages(storeSession, { prefix: key, firstKeys: 1, signal })) {
    const found = objects.find((object) => object.key === key);
    if (found !== undefined) return found;
  }
  return null;
}

/** Deletes one object by the request for many, whose body names it. @throws Faults of the store */
async function deleteTogether(storeSession: StoreSession, at: { key: string; signal: AbortSignal }): Promise<void> {
  const { key, signal } = at;
  const [failed] = await deleteObjects(storeSession, { objects: [{ key }], signal, onDeleted: () => undefined });
  if (failed !== undefined) throw failed.fault;
}

/** Returns `1 object` or `12 objects`. */
const countOf = (count: number): string => `${formatCount(count)} ${count === 1 ? "object" : "objects"}`;

async function removeOne(context: CommandContext, { storeSession, place }: About): Promise<number> {
  const { signal, terminal } = context;
  const { key } = place;
  const isDotted = DOTTED.test(key);
  const found = isDotted
    ? await findListed(context, { storeSession, place })
    : await findObject(storeSession, { key, signal });
  if (found === null) throw new Fault("NO_SUCH_KEY", { op: "rm", subject: shownPlace(place) });
  if (context.config.isOn("dry-run")) {
    sayWould(context, { key, sizeBytes: found.sizeBytes });
    return EXIT.ok;
  }
  const [keeps] = await Promise.all([
    keepsVersions(storeSession, signal),
    isDotted ? deleteTogether(storeSession, { key, signal }) : deleteObject(storeSession, { key, signal }),
  ]);
  terminal.result(`deleted  ${shownName(key)}${keptVersionsClause(keeps)}`, {
    type: "deleted",
    key,
    keepsVersions: keeps,
  });
  return EXIT.ok;
}

const sayWould = ({ terminal }: CommandContext, object: { key: string; sizeBytes: number }): void =>
  terminal.result(`delete  ${shownName(object.key)}  (${formatBytes(object.sizeBytes)})`, {
    type: "would",
    action: "delete",
    key: object.key,
    bytes: object.sizeBytes,
  });

const removeBelow = (context: CommandContext, { storeSession, place }: About): Promise<number> =>
  withScratch(context, async (scratch) => {
    const { signal, terminal, config } = context;
    const filter = readFilter(config, Date.now());
    const prefix = prefixForFolder(place);
    const listedObjects = new Spool(objectForm, scratch);
    const failures: Failure[] = [];
    const leftOut = countLeftOut();
    let listed = 0;
    for await (const page of listPages(storeSession, { prefix, signal })) {
      listed += page.objects.length + page.unreadable.length;
      failures.push(...page.unreadable.map(unreadableKey));
      for (const name of page.repeated) leftOut.add("repeated", name);
      for (const object of page.objects) {
        const entry = { at: "store", relative: object.key.slice(prefix.length), ...object } as const;
        if (filter(entry)) listedObjects.add(entry);
      }
    }
    // The listing remembers only its newest names; the sorted list shows every repetition.
    const onTwin = ({ key }: ObjectEntry) => leftOut.add("repeated", key);
    const objects = onceSorted(sortRows(listedObjects, { form: objectForm, scratch }), { onTwin });
    if (objects.length === 0 && failures.length === 0) {
      const detail = listed === 0 ? {} : { detail: "the filters leave nothing of what is below it" };
      throw new Fault("NO_SUCH_KEY", { op: "rm", subject: shownPlace({ ...place, key: prefix }), ...detail });
    }
    const versions = objects.length === 0 ? Promise.resolve(null) : keepsVersions(storeSession, signal);
    if (config.isOn("dry-run")) {
      for (const object of objects) sayWould(context, object);
      tellLeftOut(context, leftOut.all);
      const keeps = await versions;
      const would = `Would delete ${countOf(objects.length)}, ${formatBytes(sumOf(objects))}`;
      terminal.say(`${would}${keptVersionsClause(keeps)}.`, { type: "planned", keepsVersions: keeps });
      return sayFailures(context, failures);
    }
    let [count, bytes] = [0, 0];
    const onDeleted = (deleted: readonly ObjectEntry[]) => {
      count += deleted.length;
      bytes += sumOf(deleted);
      terminal.draw(
        () => [`${formatCount(count)} of ${formatCount(objects.length)} deleted`],
        () => ({ type: "progress", deleted: count, of: objects.length }),
      );
    };
    failures.push(...(await deleteObjects(storeSession, { objects, signal, onDeleted })));
    const failed = sayFailures(context, failures);
    const keeps = await versions;
    const said = `deleted  ${countOf(count)}, ${formatBytes(bytes)}${withoutLeftOut(leftOut.all)}`;
    terminal.result(`${said}${keptVersionsClause(keeps)}`, {
      type: "done",
      deleted: count,
      bytes,
      filesFailed: failures.length,
      leftOut: leftOut.all,
      keepsVersions: keeps,
    });
    return failed;
  });
