import { randomUUID } from "node:crypto";
import { lstat, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import { findCollision, whyPathRefused } from "#protocol/base/names.ts";
import type { InputObject, JobPlaceAnswer, JobPlacePart } from "#protocol/jobs/job-bytes.ts";
import { pathBelow, type JobInput } from "#protocol/jobs/job-places.ts";
import type { TakenJob } from "#protocol/jobs/node-jobs.ts";
import type { NodeStore } from "#protocol/wire/hello.ts";
import type { Agent } from "../../agent/agent-assemble.ts";
import { unlinkOwned } from "../../base/disk/change-disk.ts";
import { codeOf, diskFault } from "../../base/disk-fault.ts";
import { throwIfAborted } from "../../base/clock.ts";
import { downloadFiles } from "../../object-copy/download.ts";
import type { AskObject } from "../../object-copy/facts.ts";
import { assertReadable, readObjectHead } from "../../object-copy/requests/head.ts";
import type { ProgramUser } from "../../program/program-user.ts";
import { callStore, type Engine } from "../../transfer/engine.ts";
import { makePlace, type JobPlace } from "../job-place.ts";
import type { InputCache } from "./input-cache.ts";
import { openJobEngine, type LeasedJob } from "./job-engine.ts";

/** Most objects of one input. */
const MOST_OBJECTS = 200_000;
const MEMORY_BYTES = 64 * 1024 * 1024;

/** An object, where it lies on this machine, and the path at which the program finds it. */
interface Placed extends InputObject {
  cached: string;
  link: string;
}

interface Reading {
  agent: Pick<Agent, "hub" | "options" | "session" | "throttle" | "state">;
  job: LeasedJob & { name: string };
  place: Pick<JobPlace, "cwd"> & { spec: { inputs: readonly JobInput[] } };
  cache: InputCache;
  signal: AbortSignal;
  /** Called before objects are fetched, with how many of all objects these are. */
  onFetch(about: { objects: number; bytes: number; of: number }): void;
}

export interface Fetching extends Reading {
  job: TakenJob;
  place: JobPlace;
  user: ProgramUser | null;
}

/** Inputs of a job that this node has no lease of. */
interface FetchingAhead extends Reading {
  /** Most bytes to fetch; more are left to the attempt. */
  mostBytes: number;
  /** Part of the names of unfinished files, by which the next try goes on with them. */
  copyId: string;
}
/**
 * Fetches the inputs of a job that are not on this machine yet, verifies them, and links them into the folders of the job.
 * @throws Fault BAD_INPUT, HOSTILE_NAME when the job cannot have these inputs; NO_SPACE, CANCELLED, those of hub and store
 */
export async function fetchInputs(about: Fetching): Promise<void> {
  const { job, place, cache } = about;
  if (place.spec.inputs.length === 0) return;
  const found = await listInputs(about);
  const all = found.flatMap(({ objects }) => objects);
  const collision = findCollision(all.map(({ link }) => link));
  if (collision !== null)
    throw refuse(
      job,
      `two objects of its inputs have the same place: ${collision.map((one) => one.slice(place.cwd.length + 1)).join(" and ")}`,
    );
  await cache.use(
    job.id,
    all.map(({ cached }) => cached),
  );
  const { missing, bytes } = await findMissing(cache, all);
  about.onFetch({ objects: missing.size, bytes, of: all.length });
  await cache.makeRoom(bytes);
  const { connections } = about.agent.options;
  // Workers with a common folder may fetch the same object at the same time.
  const how = { connections, memoryBytes: MEMORY_BYTES, copyId: randomUUID() };
  for (const input of found) await fetchMissing(about, { ...input, missing, ...how });
  await linkAll(about, all);
}

/**
 * Fetches the inputs of the job that this node is told of next, with few connections, and links nothing. Fetches nothing when they
 * are larger than `mostBytes`. @throws Faults as `fetchInputs`
 */
export async function fetchAhead(about: FetchingAhead): Promise<void> {
  const { cache, mostBytes, copyId } = about;
  const found = await listInputs(about);
  const all = found.flatMap(({ objects }) => objects);
  const { missing, bytes } = await findMissing(cache, all);
  if (missing.size === 0 || bytes > mostBytes) return;
  about.onFetch({ objects: missing.size, bytes, of: all.length });
  await cache.prepare();
  await cache.makeRoom(bytes);
  for (const input of found)
    await fetchMissing(about, { ...input, missing, connections: 2, memoryBytes: MEMORY_BYTES / 4, copyId });
}

interface Found {
  store: NodeStore;
  part: JobPlacePart;
  objects: Placed[];
}

async function listInputs(about: Reading): Promise<Found[]> {
  const found: Found[] = [];
  for (const [index, input] of about.place.spec.inputs.entries()) {
    const part = { kind: "input" as const, index };
    const { store, objects } = await listInput(about, part);
    found.push({ store, part, objects: placeObjects(about, { input, store, objects }) });
  }
  return found;
}

async function findMissing(cache: InputCache, all: readonly Placed[]) {
  const missing = new Map<string, Placed>();
  for (const one of all) if (!(await cache.has(one.cached, one.sizeBytes))) missing.set(one.cached, one);
  return { missing, bytes: [...missing.values()].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) };
}

const refuse = ({ name }: Pick<TakenJob, "name">, detail: string): Fault =>
  new Fault("BAD_INPUT", { op: "fetch inputs", subject: name, detail });

async function listInput(
  { agent: { hub }, job, signal }: Reading,
  part: JobPlacePart,
): Promise<{ store: NodeStore; objects: InputObject[] }> {
  const { id: jobId, attempt, epoch } = job;
  const objects: InputObject[] = [];
  for (let from: string | null = null; ;) {
    throwIfAborted(signal);
    const asked = { jobId, attempt, epoch, part, from };
    const page: JobPlaceAnswer = await hub.ask("readJobPlace", (client, limit) =>
      client.node.readJobPlace.mutate(asked, { signal: AbortSignal.any([limit, signal]) }),
    );
    objects.push(...page.objects);
    if (objects.length > MOST_OBJECTS) throw refuse(job, `an input has more than ${MOST_OBJECTS} objects`);
    if (page.next === null) return { store: page.store, objects };
    from = page.next;
  }
}

/** Returns where the objects of an input lie. The names come from a bucket, so each is checked. @throws Fault BAD_INPUT, HOSTILE_NAME */
function placeObjects(
  { job, place, cache }: Reading,
  { input, store, objects }: { input: JobInput; store: NodeStore; objects: readonly InputObject[] },
): Placed[] {
  const { prefix, folder } = input;
  // Consoles create an empty object for a folder.
  const files = objects.filter(({ key, sizeBytes }) => !(key.endsWith("/") && sizeBytes === 0));
  if (files.length === 0) {
    const where = `${store.bucket}/${prefix}`;
    throw refuse(job, `nothing lies below ${where}, which is an input of it`);
  }
  return files.map((object) => {
    const path = pathBelow(prefix, object.key);
    const why = path === null ? "it is not in the input" : whyPathRefused(path);
    if (path === null || why !== null)
      throw new Fault("HOSTILE_NAME", { op: "fetch inputs", subject: object.key, detail: why ?? "it is not there" });
    return { ...object, cached: cache.pathOf(store.profileId, object), link: join(place.cwd, folder, path) };
  });
}

async function fetchMissing(
  { agent, job, cache, signal }: Reading,
  about: Found & {
    missing: ReadonlyMap<string, Placed>;
    connections: number | null;
    memoryBytes: number;
    copyId: string;
  },
): Promise<void> {
  const { store, part, objects, missing, connections, memoryBytes, copyId } = about;
  const wanted = objects.filter((one) => missing.get(one.cached) === one);
  if (wanted.length === 0) return;
  const open = openJobEngine(agent, job, { part, store, direction: "down", connections, memoryBytes });
  try {
    await downloadFiles(open.engine, {
      files: wanted,
      pathOf: ({ cached }) => cached,
      journalPath: join(agent.state, `input-${copyId}.jsonl`),
      copyId,
      partBytes: null,
      mostMd5Bytes: Number.MAX_SAFE_INTEGER,
      ask: askObject(open.engine, signal),
      signal,
      onStart: () => undefined,
      onLanded: (_, path) => cache.mark(path),
    });
  } finally {
    await open.close();
  }
}

/** Asks for facts about an object by HEAD. No hub signs the other requests for an input, so their facts are unknown. */
const askObject = (engine: Engine, signal: AbortSignal): AskObject => ({
  head: async (key) => {
    const call = { operation: { op: "head" as const, key }, signal };
    const head = await callStore(engine, call, (answer) => readObjectHead(answer, key));
    assertReadable(head, { op: "fetch inputs", key });
    const { sizeBytes, etag, modifiedAtMs, isOpaque } = head;
    return { sizeBytes, etag, modifiedAtMs, isOpaque, sum: null };
  },
  partBytes: async () => null,
  partSums: async () => null,
});

/** Links the objects into the folders of the job; links of an earlier attempt are replaced, and nothing else is. */
async function linkAll({ job, place, user }: Fetching, all: readonly Placed[]): Promise<void> {
  const folders = [...new Set(all.map(({ link }) => dirname(link)))].toSorted();
  for (const folder of folders) await makePlace({ ...place, cwd: folder, watches: [] }, user);
  for (const { link, cached } of all) {
    try {
      await symlink(cached, link).catch(async (error: unknown) => {
        if (codeOf(error) !== "EEXIST") throw error;
        if (!(await lstat(link)).isSymbolicLink())
          throw refuse(job, `${link.slice(place.cwd.length + 1)} is an input, and something else has its place`);
        await unlinkOwned("input-link", link);
        await symlink(cached, link);
      });
    } catch (error) {
      throw diskFault(error, { op: "work", subject: link, otherwise: "FOLDER_UNWRITABLE" });
    }
  }
}
