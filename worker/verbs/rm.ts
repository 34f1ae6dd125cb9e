import { Fault } from "#protocol/fault.ts";
import { formatBytes, formatCount } from "#protocol/units.ts";
import { prefixForFolder } from "../copy/address.ts";
import { listObjects } from "../copy/list-objects.ts";
import { withBench, type Bench } from "./bench.ts";
import { deleteObject, deleteObjects } from "./delete-objects.ts";
import { readFilter } from "./filter.ts";
import { sayFailures } from "./follow.ts";
import { findObject } from "./head.ts";
import { EXIT, onePlace, shownName, shownPlace, usage, type StorePlace, type Verb } from "./verb.ts";

/**
 * `tidemark rm`: one object by its exact key, or with --recursive everything below a folder (`s3://b/run` is
 * `s3://b/run/`, never `run-2`). It asks nothing, so without --recursive it says how much there is and deletes nothing.
 * Faults: NO_SUCH_KEY, BAD_INPUT, those of the store.
 */
export async function remove(verb: Verb): Promise<number> {
  const place = onePlace(verb, "rm");
  return withBench(verb, { bucket: place.bucket, direction: "up" }, (bench) => {
    if (verb.config.isOn("recursive")) return removeBelow(verb, { bench, place });
    if (place.key === "" || place.key.endsWith("/")) return refuseFolder(verb, { bench, place });
    return removeOne(verb, { bench, place });
  });
}

interface About {
  bench: Bench;
  place: StorePlace;
}

async function refuseFolder(verb: Verb, { bench, place }: About): Promise<never> {
  const found = await listObjects(bench, { prefix: place.key, signal: verb.signal });
  const bytes = found.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const count = `${formatCount(found.length)} objects (${formatBytes(bytes)})`;
  throw usage(shownPlace(place), `it holds ${count}; to delete them all add --recursive, to see them --dry-run too`);
}

async function removeOne(verb: Verb, { bench, place }: About): Promise<number> {
  const { signal, terminal } = verb;
  const { key } = place;
  const found = await findObject(bench, { key, signal });
  if (found === null) throw new Fault("NO_SUCH_KEY", { op: "rm", subject: shownPlace(place) });
  if (verb.config.isOn("dry-run")) {
    sayWould(verb, { key, sizeBytes: found.sizeBytes });
    return EXIT.ok;
  }
  await deleteObject(bench, { key, signal });
  terminal.result(`deleted  ${shownName(key)}`, { type: "deleted", key });
  return EXIT.ok;
}

const sayWould = ({ terminal }: Verb, object: { key: string; sizeBytes: number }): void =>
  terminal.result(`delete  ${shownName(object.key)}  (${formatBytes(object.sizeBytes)})`, {
    type: "would",
    action: "delete",
    key: object.key,
    bytes: object.sizeBytes,
  });

async function removeBelow(verb: Verb, { bench, place }: About): Promise<number> {
  const { signal, terminal, config } = verb;
  const filter = readFilter(config, Date.now());
  const prefix = prefixForFolder(place);
  const listed = await listObjects(bench, { prefix, signal });
  const objects = listed.filter(filter);
  if (objects.length === 0) {
    const detail = listed.length === 0 ? {} : { detail: "the filters leave nothing of what is below it" };
    throw new Fault("NO_SUCH_KEY", { op: "rm", subject: shownPlace({ ...place, key: prefix }), ...detail });
  }
  if (config.isOn("dry-run")) {
    for (const object of objects) sayWould(verb, object);
    return EXIT.ok;
  }
  const sizes = new Map(objects.map(({ key, sizeBytes }) => [key, sizeBytes]));
  let [count, bytes] = [0, 0];
  const failures = await deleteObjects(bench, {
    keys: [...sizes.keys()],
    signal,
    onDeleted: (keys) => {
      count += keys.length;
      bytes += keys.reduce((sum, key) => sum + (sizes.get(key) ?? 0), 0);
      terminal.draw([`${formatCount(count)} of ${formatCount(objects.length)} deleted`], () => ({
        type: "progress",
        deleted: count,
        of: objects.length,
      }));
    },
  });
  const failed = sayFailures(verb, failures);
  terminal.result(`deleted  ${formatCount(count)} objects, ${formatBytes(bytes)}`, {
    type: "done",
    deleted: count,
    bytes,
    filesFailed: failures.length,
  });
  return failed;
}
