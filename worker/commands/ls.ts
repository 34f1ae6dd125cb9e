import { Fault } from "#protocol/faults/fault.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import type { HttpAnswer } from "#storage/s3/answers.ts";
import { faultOfAnswer } from "#storage/answers/faults.ts";
import { childrenOf, parseXml, textOf } from "#storage/answers/xml.ts";
import { countLeftOut, withoutLeftOut } from "../object-copy/listing/left-out.ts";
import { listPages } from "../object-copy/listing/list-objects.ts";
import { askStore } from "../object-copy/requests/ask-store.ts";
import { withStoreSession, type StoreSession } from "../store-session/store-session.ts";
import { unreadableKey, type Failure } from "../object-copy/listing/entries.ts";
import { readFilter } from "../object-copy/listing/filter.ts";
import { sayFailures } from "../object-copy/follow.ts";
import { visibleJson } from "../command-line/terminal.ts";
import {
  onePlace,
  shownName,
  shownPlace,
  type StorePlace,
  type CommandContext,
} from "../command-line/command-context.ts";

/**
 * Implements `tidemark ls`: lists buckets, or objects page by page as they arrive. A listing that fails midway ends
 * with its Fault, and only a complete listing is reported as empty. Faults: NO_SUCH_KEY when no key has the prefix,
 * those of the listing.
 */
export async function list(context: CommandContext): Promise<number> {
  if (context.operands.length === 0) {
    return withStoreSession(context, { bucket: "", direction: "down" }, (storeSession) =>
      listBuckets(context, storeSession),
    );
  }
  const place = onePlace(context, "ls");
  return withStoreSession(context, { bucket: place.bucket, direction: "down" }, (storeSession) =>
    listPlace(context, { storeSession, place }),
  );
}

interface Row {
  text: string;
  facts: Record<string, unknown>;
}

const writeRows = async (context: CommandContext, rows: readonly Row[]): Promise<void> => {
  if (rows.length === 0) return;
  const lines = rows.map(({ text, facts }) => (context.config.isOn("json") ? visibleJson(facts) : text));
  await context.output(Buffer.from(`${lines.join("\n")}\n`));
};

async function listPlace(
  context: CommandContext,
  about: { storeSession: StoreSession; place: StorePlace },
): Promise<number> {
  const { storeSession, place } = about;
  const { config, signal, terminal } = context;
  const filter = readFilter(config, Date.now());
  // Names are shown relative to the last folder of the prefix.
  const top = place.key.slice(0, place.key.lastIndexOf("/") + 1);
  const recursive = config.isOn("recursive");
  let [objects, sizeBytes, met] = [0, 0, 0];
  const failures: Failure[] = [];
  const leftOut = countLeftOut();
  const pages = listPages(storeSession, { prefix: place.key, signal, ...(recursive ? {} : { delimiter: "/" }) });
  for await (const page of pages) {
    met += page.objects.length + page.folders.length + page.unreadable.length;
    failures.push(...page.unreadable.map(unreadableKey));
    for (const name of page.repeated) leftOut.add("repeated", name);
    const taken = page.objects.filter(({ key, sizeBytes: size, modifiedAtMs }) =>
      filter({ relative: key.slice(top.length), sizeBytes: size, modifiedAtMs }),
    );
    objects += taken.length;
    sizeBytes += taken.reduce((sum, object) => sum + object.sizeBytes, 0);
    const folders = page.folders.map((prefix): Row => ({
      text: rowOf({ date: "", size: "DIR", name: prefix.slice(top.length) }),
      facts: { type: "folder", prefix },
    }));
    const rows = taken.map(({ key, sizeBytes: size, etag, modifiedAtMs }): Row => ({
      text: rowOf({ date: dateOf(modifiedAtMs), size: String(size), name: key.slice(top.length) }),
      facts: { type: "object", key, sizeBytes: size, modifiedAt: isoOf(modifiedAtMs), etag },
    }));
    await writeRows(context, [...folders, ...rows]);
  }
  if (met === 0 && place.key !== "") throw new Fault("NO_SUCH_KEY", { op: "ls", subject: shownPlace(place) });
  const count = `${formatCount(objects)} ${objects === 1 ? "object" : "objects"}, ${formatBytes(sizeBytes)}`;
  const facts = { type: "listed", objects, bytes: sizeBytes, leftOut: leftOut.all };
  terminal.say(met === 0 ? "The bucket is empty." : count + withoutLeftOut(leftOut.all), facts);
  return sayFailures(context, failures);
}

const isoOf = (epochMs: number | null): string | null => (epochMs === null ? null : new Date(epochMs).toISOString());
const dateOf = (epochMs: number | null): string => (isoOf(epochMs) ?? "").slice(0, 19).replace("T", " ");
const rowOf = (row: { date: string; size: string; name: string }): string =>
  `${row.date.padEnd(19)}  ${row.size.padStart(15)}  ${shownName(row.name)}`;

async function listBuckets(context: CommandContext, storeSession: StoreSession): Promise<number> {
  const { signal, terminal } = context;
  const buckets = await askStore(
    storeSession,
    { op: "ListBuckets", method: "GET", at: "service", signal },
    readBuckets,
  );
  await writeRows(
    context,
    buckets.map(({ name, createdAtMs }) => ({
      text: `${dateOf(createdAtMs).padEnd(19)}  s3://${shownName(name)}`,
      facts: { type: "bucket", name, createdAt: isoOf(createdAtMs) },
    })),
  );
  if (buckets.length === 0) terminal.say("There are no buckets.", { type: "listed", buckets: 0 });
  return 0;
}

function readBuckets(answer: HttpAnswer): { name: string; createdAtMs: number | null }[] {
  const parsed = answer.status === 200 ? parseXml(answer.body) : null;
  if (parsed === null || parsed.root !== "ListAllMyBucketsResult") throw faultOfAnswer({ op: "ListBuckets", answer });
  return childrenOf(parsed.element, "Buckets")
    .flatMap((list) => childrenOf(list, "Bucket"))
    .map((row) => {
      const name = textOf(row, "Name");
      if (name === undefined) {
        throw new Fault("UNEXPECTED_ANSWER", { op: "ListBuckets", detail: "a bucket without a name" });
      }
      const createdAtMs = Date.parse(textOf(row, "CreationDate") ?? "");
      return { name, createdAtMs: Number.isNaN(createdAtMs) ? null : createdAtMs };
    });
}
